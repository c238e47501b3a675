"""Pictures of any kind to 8-bit RGB of a bounded size; what cannot be read says why."""

import io
import threading

import numpy as np

from skmil.sources.things import BadThing

_opening = threading.Lock()
_TURN = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}
_TURN |= {6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"}


def pillow():
    """Pillow's ``Image``, or what to install."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("ImageBags needs Pillow: pip install skmil[images]") from None
    return Image


def rgb(content, side: int, max_pixels: int) -> np.ndarray:
    """A picture as (h, w, 3) uint8, its longer side at most ``side``.

    Parameters
    ----------
    content : bytes of a file, Pillow image, or array (h, w), (h, w, 1 | 3 | 4)
    side : pictures with a longer side are reduced
    max_pixels : pictures with more are refused, before they are decoded
    """
    Image = pillow()
    if isinstance(content, (bytes, bytearray, memoryview)):
        image = _open(bytes(content))
    elif isinstance(content, Image.Image):
        image = content
    else:
        image = None
    shape = _array_shape(content) if image is None else image.size[::-1]
    if shape[0] * shape[1] > max_pixels:
        raise BadThing(
            f"it has {shape[1]} x {shape[0]} pixels, more than max_pixels={max_pixels}; "
            "raise max_pixels to read it"
        )
    if image is None:
        return np.asarray(_reduce(_from_array(content), side))
    try:
        return _decode(image, side)
    except BadThing:
        raise
    except Exception as error:  # decoders raise whatever a damaged file makes them raise
        raise BadThing(f"its pixels cannot be read ({_line(error)})") from error


def _open(data: bytes):
    """Read the header; the limit is ours, so Pillow's own is lifted while it looks."""
    Image = pillow()
    with _opening:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(io.BytesIO(data))
        except Exception as error:  # as above
            raise BadThing(f"it is no picture that Pillow knows ({_line(error)})") from error
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _decode(image, side: int) -> np.ndarray:
    """First frame, flat, reduced, turned as its camera was held."""
    turn = _orientation(image)
    if max(image.size) > side:
        image.draft("RGB", _target(image.size, side))  # JPEG decodes at an eighth for nothing
    image.load()
    image = _reduce(_flat(image), side)
    if turn in _TURN:
        image = image.transpose(getattr(pillow().Transpose, _TURN[turn]))
    return np.asarray(image)


def _orientation(image) -> int:
    try:
        return int(image.getexif().get(0x0112, 1))
    except Exception:  # a picture with damaged notes about itself is still a picture
        return 1


def _flat(image):
    """8-bit RGB: 16 bit scaled down, transparent pixels on white."""
    Image = pillow()
    if image.mode.startswith(("I", "F")):
        values = np.asarray(image)
        # Mode I has 32 bits and holds what a PNG has in 16, or 8 bits that someone converted.
        sixteen = ";16" in image.mode or image.format == "PNG" or (image.mode == "I" and values.max() > 255)
        return _from_array(values, sixteen)
    if "A" in image.mode or "a" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def _reduce(image, side: int):
    if max(image.size) <= side:
        return image
    return image.resize(_target(image.size, side), pillow().Resampling.BICUBIC, reducing_gap=2.0)


def _target(size, side: int) -> tuple[int, int]:
    scale = side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _array_shape(content) -> tuple[int, ...]:
    shape = np.shape(content)
    if not isinstance(content, np.ndarray) or len(shape) not in (2, 3) or 0 in shape:
        what = f"an array of shape {shape}" if isinstance(content, np.ndarray) else type(content).__name__
        raise BadThing(f"it is {what}; expected a path, a Pillow image or an array (h, w) or (h, w, 3)")
    if len(shape) == 3 and shape[2] not in (1, 3, 4):
        raise BadThing(f"it is an array of shape {shape}; expected 1, 3 or 4 channels at the end")
    return shape


def _from_array(values: np.ndarray, sixteen: bool = False):
    """An array as a flat Pillow image; whole numbers go to 255, or 65535 in 16 bit; floats to 1."""
    Image = pillow()
    pixels = _to_bytes(values, sixteen or values.dtype == np.uint16)
    pixels = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return _flat(Image.fromarray(np.ascontiguousarray(pixels)))


def _to_bytes(values: np.ndarray, sixteen: bool) -> np.ndarray:
    if values.dtype == np.uint8:
        return values
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind not in "iuf":
        raise BadThing(f"its values are {values.dtype}; expected numbers")
    most = 1 if kind == "f" else 65535 if sixteen else 255
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= most):  # NaN fails here, too
        raise BadThing(
            f"its {values.dtype} values go from {low} to {high}; expected 0 to {most}, rescale them"
        )
    return np.rint(values * (255.0 / most)).astype(np.uint8)


def _line(error: Exception) -> str:
    # Pillow names the buffer it was given, which says nothing and differs from run to run.
    text = str(error).split("<_io.BytesIO")[0].strip()
    return " ".join(text.split())[:200] or type(error).__name__
