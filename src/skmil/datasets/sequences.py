"""Protein families whose label is where a property lies: what pairwise coordinates are for."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

BACKGROUND = "AGNDQESTHKRPY"  # residues that are not hydrophobic: the ancestor and the insertions
HYDROPHOBIC = "ILVF"
MOTIF = "WCGPC"
BEFORE = 10  # residues of the ancestor before the motif


def make_sequences(
    n_sequences=40,
    length=90,
    identity=0.8,
    insertion=60,
    patch=6,
    random_state=None,
    *,
    return_X_y=False,
):
    """Sequences of one family with a hydrophobic patch at one of two places of their common ancestor.

    All descend from one ancestor, with the motif WCGPC near its start. A positive sequence has its patch at
    the first site, a third of the way from the motif to the end, a negative one at the second, two thirds
    of the way. Insertions before the motif, between it and the first site and at the end, and single
    deletions, move the sites so far that a position, counted from either end or from the motif, hardly
    tells them apart; an alignment with a relative does.

    Parameters
    ----------
    n_sequences : int
        Half of them positive.
    length : int
        Residues of the ancestor.
    identity : float
        Share of its residues that a descendant keeps.
    insertion : int
        Most residues inserted between motif and first site, and at the end; a third of it before the motif.
    patch : int
        Residues of the patch.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(sequences, y)`` instead of everything.

    Returns
    -------
    Bunch with ``data`` (list of str), ``target`` (0 or 1), ``patches`` (n, 2: first residue of the patch
    and the one after the last) and ``ancestor``

    Examples
    --------
    >>> from skmil.datasets import make_sequences
    >>> made = make_sequences(4, random_state=0)
    >>> made.target.tolist(), ["WCGPC" in s for s in made.data]
    ([0, 1, 1, 0], [True, True, True, True])
    """
    if n_sequences < 1 or patch < 1 or length < 40 + 4 * patch or not 0 < identity <= 1 or insertion < 0:
        raise ValueError(
            f"n_sequences is {n_sequences}, length {length}, identity {identity}, insertion {insertion}, "
            f"patch {patch}; give a length of at least 40 residues and four patches, an identity up to 1"
        )
    rng = check_random_state(random_state)
    ancestor = _draw(rng, BACKGROUND, length)
    ancestor[BEFORE : BEFORE + len(MOTIF)] = list(MOTIF)
    target = (np.arange(n_sequences) < n_sequences // 2).astype(int)
    rng.shuffle(target)
    grown = [_descend(rng, ancestor, y, identity, insertion, patch) for y in target]
    data, starts = [s for s, _ in grown], np.array([start for _, start in grown])
    if return_X_y:
        return data, target
    patches = np.column_stack([starts, starts + patch])
    return Bunch(data=data, target=target, patches=patches, ancestor="".join(ancestor))


def _descend(rng, ancestor, label: int, identity: float, insertion: int, patch: int) -> tuple[str, int]:
    """One descendant, and where its patch begins."""
    n, tail = len(ancestor), BEFORE + len(MOTIF)
    changed = np.where(rng.random_sample(n) < identity, ancestor, _draw(rng, BACKGROUND, n))
    changed[BEFORE:tail] = ancestor[BEFORE:tail]
    first, second = tail + (n - tail) // 3, tail + 2 * (n - tail) // 3
    site = first if label else second
    changed[site : site + patch] = _draw(rng, HYDROPHOBIC, patch)
    residues = [str(c) for c in changed]
    # Deletions lie before the first site, where nothing is planted.
    for k in rng.choice(np.arange(tail, first), size=min(2, first - tail), replace=False):
        residues[k] = ""
    # Inserted runs lie in the middle of conserved stretches, so that both flanks align.
    for at, most in (((tail + first) // 2, insertion), (n - 3, insertion), (BEFORE // 2, insertion // 3)):
        residues[at] += "".join(_draw(rng, BACKGROUND, rng.randint(most + 1)))
    return "".join(residues), len("".join(residues[:site]))


def _draw(rng, letters: str, n: int) -> np.ndarray:
    return rng.choice(list(letters), size=n)
