"""Pictures to bags, on pixels made here; PyWavelets, scikit-image and scikit-learn say what is right."""

import io
import struct
import sys
import threading
import zlib

import numpy as np
import pytest
import pywt
from PIL import Image
from skimage.color import rgb2ycbcr
from skimage.measure import regionprops
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import skmil
from skmil.sources import Boxes, ImageBags, Regions, SourceError
from skmil.sources._blocks import block_features, inertia, segments
from skmil.sources.base import _memory

ALL = ("luminance", "chroma", "texture", "position", "size", "shape")


@pytest.fixture(autouse=True)
def fresh():
    _memory.kept.clear()
    _memory.used = 0


def photograph(seed=0, height=64, width=96):
    """Smooth colours with some noise."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (4, 6, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=float)
    return np.clip(smooth + rng.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8)


def encoded(pixels, kind="PNG", **options):
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


# The features.


def test_colours_agree_with_scikit_image():
    pixels = photograph()
    studio = rgb2ycbcr(pixels).reshape(16, 4, 24, 4, 3).mean(axis=(1, 3))  # 16 to 235 and 16 to 240
    ours = block_features(pixels)
    assert np.allclose(ours[:, :, 0], (studio[:, :, 0] - 16) * 255 / 219, atol=0.02)
    assert np.allclose(ours[:, :, 2], (studio[:, :, 1] - 128) * 255 / 224 + 128, atol=0.02)
    assert np.allclose(ours[:, :, 1], (studio[:, :, 2] - 128) * 255 / 224 + 128, atol=0.02)


def test_textures_agree_with_pywavelets():
    pixels = photograph(1)
    ours, Y = block_features(pixels), pixels @ [0.299, 0.587, 0.114]
    for i, j in [(0, 0), (3, 7), (15, 23)]:
        block = Y[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        _, (lh, hl, hh) = pywt.dwt2(block, "db2", mode="periodization")
        assert np.allclose(ours[i, j, 3:], [np.sqrt((band**2).mean()) for band in (hl, lh, hh)])


def test_stripes_light_up_their_own_band():
    upright = np.zeros((8, 8, 3), dtype=np.uint8)
    upright[:, ::2] = 255
    hl, lh, hh = block_features(upright)[0, 0, 3:]
    assert hl > 100 and lh < 1e-9 and hh < 1e-9
    assert np.allclose(block_features(upright.transpose(1, 0, 2))[0, 0, 3:], [lh, hl, hh], atol=1e-9)


def test_segments_are_a_k_means_solution():
    grid = block_features(photograph(2, 256, 384))
    X, labels = grid.reshape(-1, 6), segments(grid, 16, 0.0, 0.0).ravel()
    assert len(np.unique(labels)) == 16
    means = np.array([X[labels == k].mean(axis=0) for k in range(16)])
    again = KMeans(16, init=means, n_init=1, max_iter=1, tol=0).fit(X)
    assert (again.labels_ == labels).mean() > 0.99
    ours = ((X - means[labels]) ** 2).sum()
    assert ours < 1.1 * min(KMeans(16, n_init=1, random_state=s).fit(X).inertia_ for s in range(5))


def test_segments_stop_when_more_do_not_help():
    X = block_features(photograph(3))
    counts = [segments(X, 16, 0.0, drop).max() + 1 for drop in (0.0, 0.05, 0.2, 5.0)]
    assert counts[0] == 16 and sorted(counts, reverse=True) == counts and counts[-1] == 3
    assert segments(X, 16, 1e9, 0.0).max() == 0 and segments(X, 5, 0.0, 0.0).max() == 4
    sizes = np.bincount(segments(X, 16, 0.0, 0.0).ravel())
    assert (np.diff(sizes) <= 0).all()


def test_inertia_agrees_with_scikit_image_and_a_disc_is_the_least():
    i, j = np.nonzero(np.hypot(*(np.mgrid[:81, :81] - 40)) < 38)
    assert np.allclose(inertia(i, j), 1.0, atol=0.01)
    mask = np.zeros((20, 20), dtype=int)
    mask[2:9, 5:18] = 1
    i, j = np.nonzero(mask)
    moments = regionprops(mask)[0].moments_central
    assert np.isclose(inertia(i, j)[1], (moments[2, 0] + moments[0, 2]) / len(i) ** 2 * 2 * np.pi)
    assert (inertia(i, j) > 1).all()


def test_an_instance_is_the_mean_of_its_blocks():
    pixels = photograph(4)
    source = ImageBags(features=ALL).fit([pixels])
    table, regions = source.transform([pixels])[0], source.parts(pixels)
    assert isinstance(regions, Regions) and len(regions) == len(table) > 2
    assert np.array_equal(regions.picture, pixels)
    blocks, labels = block_features(pixels), regions.labels[::4, ::4]
    for k, row in enumerate(table):
        i, j = np.nonzero(labels == k)
        assert np.allclose(row[:6], blocks[i, j].mean(axis=0))
        assert np.allclose(row[6:8], [(i.mean() + 0.5) / 16, (j.mean() + 0.5) / 24])
        assert np.isclose(row[8], len(i) / 384) and np.allclose(row[9:], inertia(i, j))
    assert np.isclose(table[:, 8].sum(), 1)


def test_the_five_features_of_the_box_kernels():
    bags = ImageBags(features=("chroma", "texture")).fit_transform([photograph()])
    assert bags.feature_names.tolist() == ["Cr", "Cb", "HL", "LH", "HH"]
    assert bags == ImageBags(features="chroma, texture").fit_transform([photograph()])


# Tiles.


def test_tiles_cover_the_picture_and_are_means_of_blocks():
    pixels = photograph(5, 70, 101)
    source = ImageBags(cut="tiles", tile=32, overlap=0.5, features=ALL[:5]).fit([pixels])
    table, tiles = source.transform([pixels])[0], source.parts(pixels)
    assert isinstance(tiles, Boxes) and len(tiles) == len(table)
    covered = np.zeros(pixels.shape[:2], dtype=int)
    blocks = block_features(pixels)
    for row, (t, x, b, r) in zip(table, tiles.boxes, strict=True):
        covered[t:b, x:r] += 1
        assert (b - t, r - x) == (32, 32)
        assert np.allclose(row[:6], blocks[t // 4 : b // 4, x // 4 : r // 4].reshape(-1, 6).mean(axis=0))
    assert (covered[:68, :100] > 0).all() and covered[32, 48] == 4


def test_a_function_of_the_users_sees_tiles():
    pixels = photograph(6)
    source = ImageBags(cut="tiles", tile=32, overlap=0.0, features=lambda t: t.mean(axis=(1, 2)))
    bags = source.fit_transform([pixels])
    assert bags.feature_names.tolist() == ["f1", "f2", "f3"]
    boxes = source.parts(pixels).boxes
    assert np.allclose(bags[0], [pixels[t:b, x:r].mean(axis=(0, 1)) for t, x, b, r in boxes])
    assert source.transform([pixels[:8, :8]]).sizes.tolist() == [1]


def test_a_function_that_gives_no_row_per_tile_is_told_so():
    with pytest.raises(ValueError, match=r"shape \(3,\) for 1 tiles; expected one row each"):
        ImageBags(cut="tiles", features=lambda t: t.mean(axis=(0, 1, 2))).fit([photograph()])


def test_a_transformer_is_fitted_on_training_pictures_only():
    train, test = [photograph(s) for s in range(3)], photograph(9)
    source = ImageBags(cut="tiles", tile=16, features=PCA(3, random_state=0))
    first = clone(source).fit(train)
    mean = first.features_.mean_.copy()
    first.transform([test])
    assert np.array_equal(first.features_.mean_, mean)
    assert not np.allclose(clone(source).fit([*train, test]).features_.mean_, mean)
    assert not hasattr(source.features, "mean_")


def test_a_frozen_transformer_stays_as_it_is():
    rows = np.random.default_rng(0).random((20, 16 * 16 * 3))
    fitted = PCA(2, random_state=0).fit(rows)
    source = clone(ImageBags(cut="tiles", tile=16, features=FrozenEstimator(fitted))).fit([photograph()])
    bags = source.transform([photograph()])
    t, x, b, r = source.parts(photograph()).boxes[0]
    row = photograph()[t:b, x:r].reshape(1, -1) / 255
    assert np.allclose(bags[0][:1], fitted.transform(row))


def test_two_transformers_do_not_share_what_is_kept():
    pictures = [photograph(s) for s in range(4)]
    source = ImageBags(cut="tiles", tile=16, features=PCA(2, random_state=0))
    one = clone(source).fit(pictures[:2]).transform(pictures[3:])
    two = clone(source).fit(pictures[1:3]).transform(pictures[3:])
    assert not np.allclose(one.instances, two.instances)


# Pictures of all kinds.


def bag(content, **options):
    return ImageBags(**options).fit_transform([content])[0]


def test_files_bytes_arrays_and_images_are_the_same_picture(tmp_path):
    pixels = photograph()
    path = tmp_path / "picture.png"
    path.write_bytes(encoded(pixels))
    image = Image.open(path)
    image.load()
    forms = [pixels, path, str(path), path.read_bytes(), Image.fromarray(pixels), image, pixels / 255]
    bags = ImageBags().fit_transform(forms)
    assert all(np.array_equal(b, bags[0]) for b in bags)
    assert bags.ids.tolist()[1:3] == [str(path)] * 2 and bags.ids[5] == str(path)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_are_turned_as_the_camera_was_held(orientation):
    pixels = photograph()
    exif = Image.Exif()
    exif[0x0112] = orientation
    back = {1: None, 2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}
    back |= {6: "ROTATE_90", 7: "TRANSVERSE", 8: "ROTATE_270"}
    image = Image.fromarray(pixels)
    if back[orientation]:
        image = image.transpose(getattr(Image.Transpose, back[orientation]))
    seen = ImageBags().fit([0]).parts(encoded(image, exif=exif)).picture
    assert np.array_equal(seen, pixels)


def test_greyscale_palette_and_single_bit():
    grey = np.asarray(Image.fromarray(photograph()).convert("L"))
    table = bag(encoded(grey))
    assert np.allclose(table[:, 1:3], 128) and np.array_equal(table, bag(grey[:, :, None]))
    palette = Image.fromarray(photograph()).convert("P")
    assert np.array_equal(bag(encoded(palette)), bag(np.asarray(palette.convert("RGB"))))
    assert np.array_equal(bag(grey > 100), bag(((grey > 100) * 255).astype(np.uint8)))
    assert np.array_equal(bag(encoded(Image.fromarray(grey > 100))), bag(grey > 100))


def test_transparent_pixels_are_white():
    pixels = photograph()
    alpha = np.dstack([pixels, np.full(pixels.shape[:2], 255, dtype=np.uint8)])
    alpha[:32, :, 3] = 0
    flat = pixels.copy()
    flat[:32] = 255
    assert np.array_equal(bag(encoded(alpha)), bag(flat))
    assert np.array_equal(bag(alpha), bag(flat))
    gif = Image.new("P", (8, 8))
    assert np.allclose(bag(encoded(gif, "GIF", transparency=0))[0, 0], 255)


def test_sixteen_bits_are_scaled_not_cut():
    grey = np.asarray(Image.fromarray(photograph()).convert("L"))
    deep = grey.astype(np.uint16) * 257
    assert np.array_equal(bag(deep), bag(grey))
    assert np.array_equal(bag(encoded(deep)), bag(grey))
    assert np.array_equal(bag(encoded(deep, "TIFF")), bag(grey))
    assert np.array_equal(bag(Image.fromarray(grey).convert("I")), bag(grey))


def test_an_animation_is_its_first_frame():
    frames = [Image.fromarray(photograph(s)).convert("P") for s in range(3)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert np.array_equal(bag(data), bag(np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))))


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (3, 5), (4, 4), (7, 2)])
def test_tiny_pictures(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    for source in (ImageBags(features=ALL), ImageBags(cut="tiles", tile=16)):
        source.fit([pixels])
        assert len(source.parts(pixels)) == source.transform([pixels]).sizes[0] >= 1


def test_one_colour_is_one_segment():
    assert np.allclose(bag(np.full((64, 64, 3), 7, dtype=np.uint8)), [[7, 128, 128, 0, 0, 0]])


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_huge_pictures_are_reduced_first(kind):
    data = encoded(Image.fromarray(photograph()).resize((4000, 3000)), kind)
    source = ImageBags(side=200).fit([0])
    assert source.parts(data).picture.shape == (150, 200, 3)


def test_more_pixels_than_allowed_are_refused_before_decoding():
    with pytest.raises(SourceError, match=r"20000 x 20000 pixels, more than max_pixels=134217728; raise"):
        bag(header(20_000, 20_000))
    with pytest.raises(SourceError, match="96 x 64 pixels, more than max_pixels=100"):
        bag(photograph(), max_pixels=100)
    limit = Image.MAX_IMAGE_PIXELS
    assert limit is not None


def header(width, height):
    """The beginning of a PNG that claims a size."""
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + body
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return start + struct.pack(">I", 1000) + b"IDAT" + bytes(1000)


BROKEN = {
    "truncated.jpg": encoded(photograph(), "JPEG")[:400],
    "truncated.png": encoded(photograph())[:900],
    "text.jpg": b"this is no picture",
    "empty.png": b"",
    "zip.gif": b"PK\x03\x04" + bytes(50),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_broken_pictures_are_all_named_at_once(tmp_path, n_jobs):
    paths = []
    for s, (name, data) in enumerate(BROKEN.items()):
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"good{s}.png").write_bytes(encoded(photograph(s)))
        paths += [tmp_path / name, tmp_path / f"good{s}.png"]
    with pytest.raises(SourceError, match="5 of 10 things") as error:
        ImageBags(n_jobs=n_jobs).fit_transform(paths)
    assert [f.index for f in error.value.failures] == [0, 2, 4, 6, 8]
    assert all(name in str(error.value) for name in BROKEN)
    assert "BytesIO" not in str(error.value)
    with pytest.warns(UserWarning, match="5 of 10"):
        bags = ImageBags(on_error="skip", n_jobs=n_jobs).fit_transform(paths)
    assert bags == ImageBags().fit_transform(paths[1::2])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (np.zeros((3, 3, 2)), "expected 1, 3 or 4 channels"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        (np.full((8, 8), 2.0), "from 2.0 to 2.0; expected 0 to 1"),
        (np.full((8, 8), np.nan), "expected 0 to 1"),
        (np.full((8, 8), -1), "from -1 to -1; expected 0 to 255"),
        (np.array([["a", "b"]]), "expected numbers"),
        ({"a": 1}, "it is dict"),
    ],
)
def test_what_is_no_picture_says_why(content, reason):
    with pytest.raises(SourceError, match=reason):
        ImageBags().fit_transform([photograph(), content])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cut": "circles"}, "'cut' parameter of ImageBags must be"),
        ({"features": ("colour",)}, "give some of luminance"),
        ({"features": ()}, "give some of luminance"),
        ({"features": ("size", "size")}, "each once"),
        ({"cut": "tiles", "features": ("shape",)}, "tiles all have one shape"),
        ({"features": len}, "set cut='tiles'"),
        ({"tile": 10}, "multiple of 4"),
        ({"overlap": 1.0}, r"'overlap' parameter .* range \[0\.0, 1\.0\)"),
        ({"max_segments": 0}, r"'max_segments' parameter .* range \[1, inf\)"),
        ({"side": 2}, r"'side' parameter .* range \[4, inf\)"),
        ({"drop": -1}, r"'drop' parameter .* range \[0\.0, inf\)"),
    ],
)
def test_parameters_are_checked(options, what):
    with pytest.raises(ValueError, match=what):
        ImageBags(**options).fit([photograph()])


# In use.


def test_threads_change_nothing_and_hold_few_pictures(monkeypatch):
    pictures = [photograph(s) for s in range(12)]
    open_now, most, lock = [0], [0], threading.Lock()
    original = ImageBags._segments

    def counted(self, pixels):
        with lock:
            open_now[0] += 1
            most[0] = max(most[0], open_now[0])
        try:
            return original(self, pixels)
        finally:
            with lock:
                open_now[0] -= 1

    monkeypatch.setattr(ImageBags, "_segments", counted)
    one = ImageBags(n_jobs=1).fit_transform(pictures)
    _memory.kept.clear()
    assert ImageBags(n_jobs=3).fit_transform(pictures) == one and most[0] <= 3


def test_a_pipeline_is_cross_validated_on_paths(tmp_path):
    paths, y = [], []
    for s in range(16):
        pixels = photograph(s)
        if s % 2:
            pixels[8:40, 8:60] = (250, 120, 10)
        paths.append(tmp_path / f"{s}.jpg")
        paths[-1].write_bytes(encoded(pixels, "JPEG", quality=95))
        y.append(s % 2)
    model = make_pipeline(ImageBags(), skmil.method("MI-Kernel"))
    assert cross_val_score(model, paths, y, cv=4).mean() > 0.8
    assert cross_val_score(model, np.array([str(p) for p in paths]), y, cv=4).mean() > 0.8
    model = make_pipeline(ImageBags(), skmil.method("auto"))
    assert cross_val_score(model, paths, y, cv=2).mean() > 0.6


def test_pillow_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install skmil\[images\]"):
        ImageBags().fit([np.zeros((8, 8))])
