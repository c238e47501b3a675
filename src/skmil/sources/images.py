"""Pictures -> Bags: segments of like blocks (Zhang et al. 2002, after SIMPLIcity), or overlapping tiles."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import HasMethods

from skmil._parameters import COUNT, NOT_NEGATIVE, one_of, real, whole
from skmil.sources._blocks import BLOCK, block_features, inertia, segments
from skmil.sources._pictures import pillow, rgb
from skmil.sources.base import BagSource, Extract, _read
from skmil.sources.parts import Boxes, Regions
from skmil.sources.pool import ordered
from skmil.sources.things import Thing

_MEANS = {"luminance": slice(0, 1), "chroma": slice(1, 3), "texture": slice(3, 6)}
_GROUPS = {
    "luminance": ["Y"],
    "chroma": ["Cr", "Cb"],
    "texture": ["HL", "LH", "HH"],
    "position": ["row", "column"],
    "size": ["size"],
    "shape": ["inertia 1", "inertia 2", "inertia 3"],
}
_SAMPLE = 10_000  # tiles that a transformer is fitted on, spread evenly over the training pictures


class ImageBags(BagSource):
    r"""Pictures to bags: an instance is a segment of the picture, or a tile.

    A picture is cut into blocks of 4 x 4 pixels. A block has six features: the means of Y, Cr and Cb, and
    the energies of the bands HL, LH and HH of one level of Daubechies' wavelet of four coefficients of its
    luminance. k-means over the blocks of one picture makes segments; their number k grows from 2 until the
    mean squared distance D(k) is below ``distortion``, its drop D(k-1) - D(k) is below ``drop`` times the
    mean drop at k = 2, 3, or ``max_segments`` are there. An instance is the mean of the blocks of a
    segment; segments come in order of falling size. Nothing is learned from training pictures, unless
    ``features`` is a transformer.

    Parameters
    ----------
    cut : "segments" or "tiles"
    features : names, function or transformer
        Some of "luminance" (Y), "chroma" (Cr, Cb), "texture" (HL, LH, HH), "position" (of the centre, 0 to
        1), "size" (share of the picture) and "shape" (normalised inertia of orders 1 to 3, segments only),
        as a tuple or as one text with commas. ``("chroma", "texture")`` are the five features of the box
        kernels. With ``cut="tiles"`` also a function that takes tiles (n, tile, tile, 3), uint8, and
        returns n rows, such as a neural network; or a scikit-learn transformer, which is fitted on tiles of
        the training pictures as rows of numbers from 0 to 1; ``FrozenEstimator(transformer)`` is used as
        it is.
    max_segments : int
    distortion, drop : float
        When there are segments enough.
    tile : int
        Side of a tile in pixels, a multiple of 4; a smaller picture is continued at its edges.
    overlap : float
        Share of its side that a tile has in common with the next; 0.5 makes each point lie in four tiles.
    side : int
        Pictures with a longer side are reduced to this one first.
    max_pixels : int
        Pictures with more are refused before they are decoded.
    on_error : "raise" or "skip"
        Whether pictures that cannot be read are an error, which lists all, or are left out with a warning.
    n_jobs : int, optional
        Threads; as many as the rest of the library uses where ``None``.
    cache : folder, optional
        Where to keep what was extracted, by content; in memory, for this process, where ``None``.

    Attributes
    ----------
    failures_ : list of Failure
        Pictures that the last call left out.

    Examples
    --------
    >>> import numpy as np
    >>> from skmil.sources import ImageBags
    >>> half = np.zeros((32, 32, 3), dtype=np.uint8)
    >>> half[:, 20:] = (255, 0, 0)
    >>> source = ImageBags(features="chroma,size")
    >>> source.fit_transform([half])[0].round(3)
    array([[128.   , 128.   ,   0.625],
           [255.5  ,  84.972,   0.375]])
    >>> source.parts(half).labels[0, ::8]
    array([0, 0, 0, 1])
    """

    _parameter_constraints: dict = {
        **BagSource._parameter_constraints,
        "cut": [one_of("segments", "tiles")],
        "features": [str, tuple, list, callable, HasMethods("transform")],
        "max_segments": [COUNT],
        "distortion": [NOT_NEGATIVE],
        "drop": [NOT_NEGATIVE],
        "tile": [whole(BLOCK)],
        "overlap": [real(0, 1, "left")],
        "side": [whole(BLOCK)],
        "max_pixels": [COUNT],
    }

    def __init__(
        self,
        cut="segments",
        features=("luminance", "chroma", "texture"),
        max_segments=16,
        distortion=20.0,
        drop=0.1,
        tile=64,
        overlap=0.5,
        side=384,
        max_pixels=2**27,
        on_error="raise",
        n_jobs=None,
        cache=None,
    ):
        self.cut = cut
        self.features = features
        self.max_segments = max_segments
        self.distortion = distortion
        self.drop = drop
        self.tile = tile
        self.overlap = overlap
        self.side = side
        self.max_pixels = max_pixels
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.cache = cache

    def _check(self):
        pillow()
        if self.tile % BLOCK:
            raise ValueError(f"tile is {self.tile}; give a multiple of {BLOCK}, the side of a block")
        names = self._names()
        if names is None:
            if self.cut == "segments":
                raise ValueError("features is a function or transformer, which sees tiles; set cut='tiles'")
            return
        unknown = [n for n in names if n not in _GROUPS]
        if unknown or not names or len(set(names)) < len(names):
            raise ValueError(f"features are {names!r}; give some of {', '.join(_GROUPS)}, each once")
        if "shape" in names and self.cut == "tiles":
            raise ValueError(
                "tiles all have one shape; leave 'shape' out of features or set cut='segments'"
            )

    def _names(self) -> tuple[str, ...] | None:
        """Names of the groups of features; ``None`` where the user's own function makes them."""
        if isinstance(self.features, str):
            return tuple(n.strip() for n in self.features.split(",") if n.strip())
        return tuple(self.features) if isinstance(self.features, (tuple, list)) else None

    def _feature_names(self):
        names = self._names()
        if names is not None:
            return [f for n in names for f in _GROUPS[n]]
        return [f"f{k + 1}" for k in range(self.n_tile_features_)]

    def _key_parameters(self):
        return super()._key_parameters() | {"features_": getattr(self, "features_", None)}

    def _versions(self):
        import PIL

        return [PIL.__version__, "1"]

    def _content_bytes(self, content):
        Image = pillow()
        if not isinstance(content, Image.Image):
            return super()._content_bytes(content)
        notes = (content.mode, content.size, content.getpalette(), content.info.get("transparency"))
        return f"{notes} {content.getexif().get(0x0112)}".encode() + content.tobytes()

    def _name(self, content):
        return str(getattr(content, "filename", "") or "") or None

    def _prepare(self, things):
        """Fit the user's transformer on tiles of the training pictures, and count what it makes."""
        if self._names() is not None:
            return
        self.features_ = self.features
        if hasattr(self.features, "fit") and not isinstance(self.features, FrozenEstimator):
            self.features_ = clone(self.features).fit(_as_rows(self._sample(things)))
        blank = np.full((1, self.tile, self.tile, 3), 128, dtype=np.uint8)
        self.n_tile_features_ = self._of_tiles(blank).shape[1]

    def _sample(self, things: list[Thing]) -> np.ndarray:
        """Some tiles of each picture; pictures that cannot be read are reported by what follows."""
        each = max(1, _SAMPLE // len(things))

        def some(thing):
            try:
                tiles = self._tiles(self._pixels(_read(thing)))[0]
            except ImportError:
                raise
            except Exception:
                return np.empty((0, self.tile, self.tile, 3), dtype=np.uint8)
            return tiles[np.linspace(0, len(tiles) - 1, min(each, len(tiles))).astype(int)]

        found = np.concatenate(list(ordered(some, things[:_SAMPLE], self._n(len(things)))))
        if len(found) == 0:
            self._extracts(things)
        return found

    def _extract(self, content, thing):
        pixels = self._pixels(content)
        if self.cut == "segments":
            return self._segments(pixels)
        if self._names() is not None:
            return self._block_tiles(pixels)
        tiles, boxes = self._tiles(pixels)
        return Extract(self._of_tiles(tiles), Boxes(pixels, boxes))

    def _pixels(self, content) -> np.ndarray:
        """RGB with at least one block."""
        pixels = rgb(content, self.side, self.max_pixels)
        return _continued(pixels, BLOCK if self.cut == "segments" else self.tile)

    def _segments(self, pixels) -> Extract:
        grid = block_features(pixels)
        rows, columns, d = grid.shape
        map_ = segments(grid, self.max_segments, self.distortion, self.drop)
        blocks, labels = grid.reshape(-1, d), map_.ravel()
        groups = [np.nonzero(labels == k)[0] for k in range(labels.max() + 1)]
        table = [self._describe(blocks[g], *np.divmod(g, columns), rows, columns) for g in groups]
        return Extract(np.array(table), lambda: Regions(pixels, _over_pixels(map_, pixels)))

    def _describe(self, blocks, i, j, rows: int, columns: int) -> np.ndarray:
        """One instance from the blocks of a segment and where they are."""
        means = blocks.mean(axis=0)
        found: dict[str, Any] = {name: means[part] for name, part in _MEANS.items()}
        found["position"] = [(i.mean() + 0.5) / rows, (j.mean() + 0.5) / columns]
        found["size"] = [len(i) / (rows * columns)]
        names = self._names() or ()
        if "shape" in names:
            found["shape"] = inertia(i, j)
        return np.concatenate([found[name] for name in names])

    def _block_tiles(self, pixels) -> Extract:
        blocks, boxes = block_features(pixels), self._boxes(pixels)
        rows, columns = blocks.shape[:2]
        table = []
        for top, left, bottom, right in boxes // BLOCK:
            i, j = np.mgrid[top:bottom, left:right].reshape(2, -1)
            table.append(self._describe(blocks[i, j], i, j, rows, columns))
        return Extract(np.array(table), lambda: Boxes(pixels, boxes))

    def _tiles(self, pixels) -> tuple[np.ndarray, np.ndarray]:
        boxes = self._boxes(pixels)
        return np.stack([pixels[t:b, x:r] for t, x, b, r in boxes]), boxes

    def _boxes(self, pixels) -> np.ndarray:
        """Top, left, bottom, right of all tiles, row by row; the last of a row touches the edge."""
        step = max(BLOCK, round(self.tile * (1 - self.overlap) / BLOCK) * BLOCK)
        tops, lefts = (_starts(n, self.tile, step) for n in pixels.shape[:2])
        return np.array([(t, x, t + self.tile, x + self.tile) for t in tops for x in lefts])

    def _of_tiles(self, tiles: np.ndarray) -> np.ndarray:
        """What the user's function or transformer makes of tiles."""
        own = self.features_
        made = own.transform(_as_rows(tiles)) if hasattr(own, "transform") else own(tiles)
        table = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
        if table.ndim != 2 or len(table) != len(tiles):
            raise ValueError(
                f"features gave shape {table.shape} for {len(tiles)} tiles; expected one row each"
            )
        return table


def _starts(length: int, tile: int, step: int) -> list[int]:
    """Where tiles begin, on the grid of blocks."""
    last = (length - tile) // BLOCK * BLOCK
    return sorted({*range(0, last + 1, step), last})


def _continued(pixels: np.ndarray, least: int) -> np.ndarray:
    """The picture with its last row and column repeated until both sides are long enough."""
    missing = [max(0, least - n) for n in pixels.shape[:2]]
    return (
        np.pad(pixels, [(0, missing[0]), (0, missing[1]), (0, 0)], mode="edge") if any(missing) else pixels
    )


def _over_pixels(labels: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Labels of blocks for all pixels; those beyond the last whole block belong to it."""
    i, j = (
        np.minimum(np.arange(n) // BLOCK, m - 1) for n, m in zip(pixels.shape, labels.shape, strict=False)
    )
    return labels[np.ix_(i, j)]


def _as_rows(tiles: np.ndarray) -> np.ndarray:
    return tiles.reshape(len(tiles), -1) / 255.0
