"""Bags the size of the Speaker set, made up: short-time features of recorded speech."""

import numpy as np
from sklearn.utils import Bunch

from skmil._random import random_key
from skmil.bags import Bags
from skmil.datasets.loaders import as_result


def make_speaker_like(
    n_bags=430,
    n_instances=583_600,
    n_features=20,
    positive=190,
    share=0.3,
    random_state=None,
    *,
    return_X_y=False,
):
    """Recordings as bags of frames; one speaker is heard in the positive ones.

    A frame is one of 32 sounds, a Gaussian each, moved by what is particular to its speaker. A
    negative bag holds one of 40 other speakers; in a positive bag the frames of the speaker that is
    looked for make up ``share``, among those of another one.

    Parameters
    ----------
    n_bags, n_instances, n_features : int
        Size; 93 MB by default, which is that of the set of Xu, Ting & Zhou (KDD 2019).
    positive : int
        Number of positive bags.
    share : float
        Of the frames of a positive bag, those that make it positive.
    random_state : int, Generator or None
    return_X_y : bool
        Return ``(X, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data``, ``target`` (0 and 1) and ``instance_target`` (1: the speaker looked for)

    Examples
    --------
    >>> from skmil.datasets import make_speaker_like
    >>> bags, y = make_speaker_like(6, 60, positive=2, random_state=0, return_X_y=True)
    >>> bags.shape, bags.offsets[-1], y.sum()
    ((6, 20), np.int64(60), np.int64(2))
    """
    if not 0 <= positive <= n_bags <= n_instances:
        raise ValueError(
            f"positive is {positive}, n_bags {n_bags} and n_instances {n_instances}; "
            "give them in ascending order"
        )
    rng = np.random.default_rng(int(random_key(random_state)))
    y = rng.permutation(np.arange(n_bags) < positive).astype(int)
    sizes = _sizes(rng, n_bags, n_instances)
    sounds = rng.normal(scale=2.0, size=(32, n_features))
    voices = rng.normal(scale=0.8, size=(41, 32, n_features))  # the first is looked for
    X = rng.normal(size=(n_instances, n_features))
    sound = rng.integers(32, size=n_instances)
    speaker = np.repeat(rng.integers(1, 41, size=n_bags), sizes)
    speaker[(rng.random(n_instances) < share) & (np.repeat(y, sizes) == 1)] = 0
    X += sounds[sound]
    X += voices[speaker, sound]
    data = Bags(X, np.concatenate([[0], np.cumsum(sizes)]))
    return as_result(Bunch(data=data, target=y, instance_target=(speaker == 0).astype(int)), return_X_y)


def _sizes(rng, n_bags, n_instances):
    """Unequal sizes of at least one that add up to ``n_instances``."""
    p = rng.lognormal(sigma=0.5, size=n_bags)
    return 1 + rng.multinomial(n_instances - n_bags, p / p.sum())
