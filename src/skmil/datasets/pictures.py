"""Pictures of the tasks of Tao et al. (2008), Table 7, painted pixel by pixel.

Sunsets with the sun in view or hidden, fields with and without sky, mountains, waterfalls and flowers: no
two alike in colours, composition, light and noise.
"""

from collections.abc import Callable

import numpy as np
from sklearn.utils import Bunch, check_random_state

OTHERS = ("waterfall", "mountain", "field", "flower")
# What positive pictures show, and negative ones with their shares.
TASKS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "sunset": ({"sunset": 0.5, "sunset without sun": 0.5}, dict.fromkeys(OTHERS, 0.25)),
    "sunset 2": ({"sunset without sun": 1.0}, {"sunset": 0.4} | dict.fromkeys(OTHERS, 0.15)),
    "conjunctive": (
        {"field without sky": 1.0},
        {"field": 0.4} | dict.fromkeys(("flower", "mountain", "sunset", "waterfall"), 0.15),
    ),
}
PETALS = ((0.9, 0.2, 0.25), (0.95, 0.85, 0.3), (0.92, 0.9, 0.92), (0.7, 0.4, 0.8), (0.95, 0.55, 0.7))
Painter = Callable[[np.random.RandomState, int, int], np.ndarray]


def make_pictures(
    task="sunset", n_pictures=100, shape=(128, 192), positive=0.5, random_state=None, *, return_X_y=False
):
    """Pictures of a task as real pixels.

    Parameters
    ----------
    task : "sunset", "sunset 2" or "conjunctive"
        Positive is a sunset; a sunset whose sun is hidden; a field without sky. The last two ask for
        something to be absent.
    n_pictures : int
    shape : (int, int)
        Height and width in pixels; Corel's photographs have (256, 384).
    positive : float
        Share of positive pictures.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(pictures, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data`` (list of arrays (h, w, 3), uint8), ``target`` (0 or 1) and ``shows`` (what is
    painted)

    Examples
    --------
    >>> from skmil.datasets import make_pictures
    >>> made = make_pictures("conjunctive", 6, shape=(32, 48), random_state=0)
    >>> made.data[0].shape, made.target.tolist()
    ((32, 48, 3), [0, 1, 1, 0, 1, 0])
    >>> [str(s) for s in made.shows[made.target == 1]]
    ['field without sky', 'field without sky', 'field without sky']
    """
    if task not in TASKS:
        raise ValueError(f"task is {task!r}; use {', '.join(map(repr, TASKS))}")
    if n_pictures < 1 or min(shape) < 16 or not 0 <= positive <= 1:
        raise ValueError(
            f"n_pictures is {n_pictures}, shape {shape}, positive {positive}; give at least one picture "
            "of 16 x 16 pixels and a share from 0 to 1"
        )
    rng = check_random_state(random_state)
    target = (np.arange(n_pictures) < round(positive * n_pictures)).astype(int)
    rng.shuffle(target)
    shows = np.array([_draw_kind(rng, TASKS[task][1 - y]) for y in target])
    seeds = rng.randint(2**31 - 1, size=n_pictures)  # so that pictures do not depend on each other
    pictures = [paint(kind, shape, seed) for kind, seed in zip(shows, seeds, strict=True)]
    if return_X_y:
        return pictures, target
    return Bunch(data=pictures, target=target, shows=shows)


def paint(kind: str, shape, random_state=None) -> np.ndarray:
    """One picture (h, w, 3), uint8, of a kind that ``TASKS`` names."""
    rng = check_random_state(random_state)
    h, w = shape
    light = _PAINTERS[kind](rng, h, w)
    grey = light.mean(axis=2, keepdims=True)
    light = _blend(grey, light, rng.uniform(0.45, 1.1))  # haze
    warm = rng.normal(0, 0.1)
    light *= rng.uniform(0.75, 1.15) * np.exp([warm, 0.0, -warm])  # exposure and the colour of the light
    light += rng.normal(0, rng.uniform(0.005, 0.02), light.shape)
    return np.rint(255 * np.clip(light, 0, 1)).astype(np.uint8)


def _draw_kind(rng, shares: dict[str, float]) -> str:
    return str(rng.choice(list(shares), p=np.array(list(shares.values())) / sum(shares.values())))


def _sunset(rng, h, w, sun=True) -> np.ndarray:
    horizon = rng.uniform(0.55, 0.85) * h
    high = _colour(rng, (0.35, 0.16, 0.28), (0.55, 0.22, 0.16), (0.25, 0.2, 0.38))
    low = _colour(rng, (0.95, 0.5, 0.15), (0.9, 0.38, 0.18), (0.98, 0.6, 0.25))
    y, x = np.mgrid[:h, :w]
    light = _blend(high, low, (np.clip(y / horizon, 0, 1) ** rng.uniform(0.8, 2.0))[..., None])
    clouds = np.clip(_noise(rng, h, w, h / 8, w / 3) - rng.uniform(-0.2, 0.6), 0, 1)[..., None]
    light = _blend(light, light * 0.55 + _colour(rng, (0.12, 0.03, 0.06), (0.05, 0.03, 0.1)), 0.8 * clouds)
    where = np.array([horizon * rng.uniform(0.35, 0.85), w * rng.uniform(0.2, 0.8)])
    far = np.hypot(y - where[0], x - where[1])[..., None]
    glow = _colour(rng, (1.0, 0.75, 0.35), (1.0, 0.65, 0.3))
    light = _blend(light, glow, rng.uniform(0.3, 0.7) * np.exp(-((far / (0.25 * h)) ** 2)))
    if sun:
        disc = np.clip(rng.uniform(0.08, 0.15) * h - far, 0, 1)
        light = _blend(light, _colour(rng, (1.0, 0.96, 0.62), (1.0, 0.93, 0.5)), disc)
    return _ground(rng, light, horizon)


def _ground(rng, light, horizon) -> np.ndarray:
    """Dark hills, or water that mirrors the sky, below the horizon."""
    h, w, _ = light.shape
    water = rng.rand() < 0.5
    edge = horizon + 0.06 * h * _noise(rng, 1, w, 1, w / 3)[0] * (not water)
    below = np.clip(np.arange(h)[:, None] - edge, 0, 1)[..., None]
    if water:
        mirror = light[np.clip(2 * int(horizon) - np.arange(h), 0, int(horizon) - 1)]
        dark = 0.55 * mirror * (1 + 0.25 * _noise(rng, h, w, 2, w / 8)[..., None])
    else:
        dark = 0.08 * _colour(rng, (1, 0.7, 0.6)) * (1 + 0.4 * _noise(rng, h, w, 4, 4)[..., None])
    return _blend(light, dark, below)


def _field(rng, h, w, sky=True) -> np.ndarray:
    horizon = h * rng.uniform(0.25, 0.6) if sky else -rng.uniform(0.1, 1.0) * h
    y, _ = np.mgrid[:h, :w]
    depth = np.clip((y - horizon) / h, 0.02, None)  # rows of plants come closer together far away
    crop = _colour(rng, (0.45, 0.55, 0.15), (0.62, 0.58, 0.22), (0.35, 0.5, 0.18), (0.7, 0.6, 0.25))
    rows = np.sin(rng.uniform(20, 50) * np.log(depth) + 2 * _noise(rng, h, w, h / 4, w / 4))
    texture = 0.1 * rows + 0.16 * _noise(rng, h, w, 2.5, 5) + 0.12 * _noise(rng, h, w, h / 5, w / 2)
    light = crop * (1 + texture[..., None])
    patch = np.clip(4 * (_noise(rng, h, w, h / 4, w / 2) - rng.uniform(0.3, 1.0)), 0, 1)[..., None]
    light = _blend(light, light * _colour(rng, (1.2, 1.0, 0.7), (0.7, 0.85, 0.8)), patch)
    if not sky:
        return light
    edge = horizon + 0.02 * h * _noise(rng, 1, w, 1, w / 5)
    return _blend(_sky(rng, h, w), light, np.clip(y - edge, 0, 1)[..., None])


def _sky(rng, h, w) -> np.ndarray:
    """Blue or grey, brighter below, with or without clouds."""
    top = _colour(rng, (0.3, 0.5, 0.85), (0.45, 0.62, 0.9), (0.62, 0.68, 0.76), (0.35, 0.55, 0.8))
    down = np.linspace(0, 1, h)[:, None, None] * np.ones((1, w, 1))
    light = _blend(top, 0.35 * top + 0.6, 0.7 * down)
    clouds = np.clip(_noise(rng, h, w, h / 6, w / 4) - rng.uniform(0, 1.5), 0, 1)[..., None]
    return _blend(light, np.array([0.93, 0.94, 0.96]), clouds)


def _mountain(rng, h, w) -> np.ndarray:
    y, _ = np.mgrid[:h, :w]
    light = _sky(rng, h, w)
    rock = _colour(rng, (0.45, 0.42, 0.42), (0.38, 0.42, 0.5), (0.5, 0.42, 0.34))
    ridge = 0.14 * _noise(rng, 1, w, 1, w / 3)[0] + 0.02 * _noise(rng, 1, w, 1, 6)[0]
    peak = h * (rng.uniform(0.3, 0.5) + ridge)
    rough = _noise(rng, h, w, 5, 5) + 0.7 * _noise(rng, h, w, h / 6, w / 10)
    stone = rock * (1 + 0.22 * rough[..., None])
    snow = np.clip(6 * (peak + rng.uniform(-0.05, 0.25) * h + 0.06 * h * rough - y) / h, 0, 1)[..., None]
    stone = _blend(stone, np.array([0.92, 0.93, 0.97]) * (1 + 0.05 * rough[..., None]), snow)
    light = _blend(light, stone, np.clip(y - peak, 0, 1)[..., None])
    wood = h * (rng.uniform(0.7, 1.0) + 0.05 * _noise(rng, 1, w, 1, w / 6)[0])
    trees = 1 + 0.4 * _noise(rng, h, w, 3, 2)[..., None]
    forest = _colour(rng, (0.12, 0.22, 0.12), (0.3, 0.4, 0.16)) * trees
    return _blend(light, forest, np.clip(y - wood, 0, 1)[..., None])


def _waterfall(rng, h, w) -> np.ndarray:
    y, x = np.mgrid[:h, :w]
    rock = _colour(rng, (0.28, 0.26, 0.22), (0.2, 0.24, 0.2), (0.35, 0.3, 0.26))
    light = rock * (1 + 0.5 * _noise(rng, h, w, 6, 6)[..., None])
    moss = np.clip(3 * _noise(rng, h, w, h / 4, w / 5), 0, 1)[..., None]
    plants = _colour(rng, (0.16, 0.3, 0.12)) * (1 + 0.4 * _noise(rng, h, w, 3, 3)[..., None])
    light = _blend(light, plants, moss)
    pool = h * rng.uniform(0.75, 0.95)
    wide = w * rng.uniform(0.04, 0.15) * (0.7 + 0.5 * y / h)
    middle = w * rng.uniform(0.25, 0.75) + 0.03 * w * _noise(rng, h, 1, h / 2, 1)
    fall = np.clip((wide - np.abs(x - middle)) / 4, 0, 1)[..., None]
    water = 0.85 * (1 + 0.16 * _noise(rng, h, w, h / 3, 2)[..., None]) * np.array([0.95, 0.98, 1.0])
    light = _blend(light, water, fall)
    waves = 1 + 0.2 * _noise(rng, h, w, 2, w / 10)[..., None]
    deep = _colour(rng, (0.25, 0.38, 0.38), (0.2, 0.3, 0.32)) * waves
    light = _blend(light, deep, np.clip(y - pool, 0, 1)[..., None])
    if rng.rand() < 0.3:
        top = h * (rng.uniform(0.08, 0.2) + 0.04 * _noise(rng, 1, w, 1, w / 5)[0])
        light = _blend(light, _sky(rng, h, w), np.clip(top - y, 0, 1)[..., None])
    return light


def _flower(rng, h, w) -> np.ndarray:
    y, x = np.mgrid[:h, :w]
    leaf = _colour(rng, (0.18, 0.36, 0.14), (0.28, 0.42, 0.2), (0.12, 0.25, 0.12))
    shadows = 0.5 * _noise(rng, h, w, h / 6, w / 12) + 0.1 * _noise(rng, h, w, 3, 3)
    light = leaf * (1 + shadows[..., None])
    petal = _colour(rng, *PETALS)
    for _ in range(rng.randint(1, 12)):
        at, radius = rng.uniform(0, 1, 2) * (h, w), h * rng.uniform(0.08, 0.3)
        angle, far = np.arctan2(y - at[0], x - at[1]), np.hypot(y - at[0], x - at[1])
        edge = radius * (0.75 + 0.25 * np.cos(rng.randint(4, 9) * angle + rng.uniform(0, 6)))
        shade = petal * (0.75 + 0.3 * far / radius)[..., None]
        light = _blend(light, shade, np.clip((edge - far) / 2, 0, 1)[..., None])
        heart = np.clip((0.22 * radius - far) / 2, 0, 1)[..., None]
        light = _blend(light, np.array([0.75, 0.6, 0.15]), heart)
    return light


def _noise(rng, h: int, w: int, high: float, wide: float) -> np.ndarray:
    """Noise of unit variance with lumps of about this height and width, and finer ones on top."""
    total = np.zeros((h, w))
    for octave in range(3):
        down, across = _smooth(h, max(high / 2**octave, 1.0)), _smooth(w, max(wide / 2**octave, 1.0))
        total += 0.6**octave * (down @ rng.normal(size=(down.shape[1], across.shape[1]))) @ across.T
    return total / (total.std() + 1e-12)


def _smooth(n: int, cell: float) -> np.ndarray:
    """Matrix that draws n values through points that are ``cell`` apart, without corners."""
    at = np.arange(n) / cell
    k, rows = at.astype(int), np.arange(n)
    share = (at - k) ** 2 * (3 - 2 * (at - k))
    matrix = np.zeros((n, k[-1] + 2))
    matrix[rows, k], matrix[rows, k + 1] = 1 - share, share
    return matrix


def _colour(rng, *choices) -> np.ndarray:
    """One of some colours, a little changed."""
    return (
        np.array(choices[rng.randint(len(choices))]) * rng.uniform(0.85, 1.15) * rng.uniform(0.94, 1.06, 3)
    )


def _blend(under, over, share) -> np.ndarray:
    return under * (1 - share) + over * share


def _without_sun(rng, h, w) -> np.ndarray:
    return _sunset(rng, h, w, sun=False)


def _without_sky(rng, h, w) -> np.ndarray:
    return _field(rng, h, w, sky=False)


_PAINTERS: dict[str, Painter] = {
    "sunset": _sunset,
    "sunset without sun": _without_sun,
    "field": _field,
    "field without sky": _without_sky,
    "mountain": _mountain,
    "waterfall": _waterfall,
    "flower": _flower,
}
