"""Shared boxes as sparse features: the box-counting kernels of Tao et al. (2008) made linear."""

import numpy as np
from scipy import sparse

from skmil._cluster import map_bags
from skmil._engines.sparse_products import columns_of, inner
from skmil._jit import njit
from skmil._lazy import sample
from skmil._parameters import COUNT, SEED, one_of, real
from skmil._random import random_key
from skmil._threads import slices
from skmil.bags import Bags, as_bags
from skmil.embeddings.base import BagEmbedding
from skmil.kernels.box import BoxKernel
from skmil.preprocessing import BagGrid

BLOCK = 256  # bags mapped at a time


class BoxEmbedding(BagEmbedding):
    r"""A bag becomes the boxes it hits, out of boxes drawn once around the training instances.

    .. math:: \phi_j(P) \propto 1[P_{b_j} \ne \emptyset] / \sqrt{N(b_j)}, \qquad
              \langle \phi(P), \phi(Q) \rangle \approx k_\wedge(P, Q) / \max k_\wedge

    where N(b) is the number of training instances in b. With ``kind="min"`` a box has one feature for
    "at least i points", i = 1, 2, ..., and the inner product estimates :math:`k_{\min}`. A linear machine
    on these features is a box kernel machine whose cost is linear in the number of bags; the boxes are
    drawn in ``fit``, so bags may be mapped in any number of blocks. Of all boxes (``around="volume"``) it
    is good for up to about ten features: in more, nearly all boxes lie around a few far instances, or no
    two bags share one. There boxes from a subset serve: small ones, bounded in a few features, around any
    instance.

    Cost: O(n_boxes * n_features) words of 64 points each; the result is a CSR matrix.

    Parameters
    ----------
    kind : "and" or "min"
    n_boxes : int
    grid : "auto", BagGrid or None
        As in ``BoxKernel``.
    around : "volume" or "instances"
    max_side : float, optional
    max_features : int, optional
        Which boxes are drawn, as in ``BoxKernel``.
    max_instances : int
        Boxes are drawn around a random sample of the training instances where there are more, and
        their weights count the sample.
    random_state : int, RandomState or None

    Attributes
    ----------
    boxes_ : array (n_boxes, 2 n_features)
        Thresholds of the boxes.
    weights_ : array (n_boxes,)
        1 / N(b).
    levels_ : array (n_boxes,)
        Features of each box: 1, or the most points that a training bag has in it.
    lower_, upper_ : arrays (n_boxes, n_features)
        Corners of the boxes in the units of the features that reach this step; infinite where free.

    Examples
    --------
    >>> from skmil.embeddings import BoxEmbedding
    >>> Z = BoxEmbedding(n_boxes=50, random_state=0).fit_transform([[[0.0], [2.0]], [[1.0]], [[9.0]]])
    >>> Z.shape, float((Z @ Z.T).max().round(6))
    ((3, 50), 1.0)
    """

    _parameter_constraints: dict = {
        "kind": [one_of("and", "min")],
        "n_boxes": [COUNT],
        "grid": [one_of("auto"), BagGrid, None],
        "around": [one_of("volume", "instances")],
        "max_side": [real(0, 1, "right"), None],
        "max_features": [COUNT, None],
        "max_instances": [COUNT],
        "random_state": SEED,
    }

    _streams = True

    def __init__(
        self,
        kind="and",
        n_boxes=1000,
        grid="auto",
        around="volume",
        max_side=None,
        max_features=None,
        max_instances=2**16,
        random_state=None,
    ):
        self.kind = kind
        self.n_boxes = n_boxes
        self.grid = grid
        self.around = around
        self.max_side = max_side
        self.max_features = max_features
        self.max_instances = max_instances
        self.random_state = random_state

    def _fit(self, bags, y):
        self.kernel_ = BoxKernel(
            self.kind,
            "shared",
            grid=self.grid,
            n_boxes=self.n_boxes,
            around=self.around,
            max_side=self.max_side,
            max_features=self.max_features,
            random_state=self.random_state,
        ).fit(self._sampled(bags))
        del self.kernel_.bags_
        self.lower_, self.upper_ = self.kernel_.space_.corners(self.kernel_.boxes_)
        self.boxes_, self.weights_ = self.kernel_.boxes_, self.kernel_.weights_
        self.levels_ = np.ones(self.n_boxes, int)
        if self.kind == "min":
            most = map_bags(self._largest, bags)
            self.levels_ = most.max(axis=0)
        self.starts_ = np.concatenate([[0], np.cumsum(self.levels_)])
        # The kernel's own scale: the largest <phi(P), phi(P)> is 1.
        self.factor_ = np.exp(0.5 * (self.kernel_.volume_ - self.kernel_.scale_))

    def _transform(self, bags):
        parts = [self._rows(self._inside(bags[s])) for s in slices(len(bags), BLOCK)]
        return sparse.vstack(parts).tocsr()

    def products(self, bags, Q) -> np.ndarray:
        """``inner(transform(bags), Q)``, for bags that were checked; the rows of the bags are not built."""
        columns = columns_of(Q)
        if columns is None:
            return inner(self._transform(bags), Q)
        if Q.shape[1] != self.starts_[-1]:
            raise ValueError(f"the rows have {Q.shape[1]} columns and the features {self.starts_[-1]}")
        lit = self.levels_, self.starts_, self._values()
        parts = [_products(self._inside(bags[s]), *lit, columns) for s in slices(len(bags), BLOCK)]
        return np.concatenate(parts)

    def _values(self) -> np.ndarray:
        """What a feature of each box is where it is lit."""
        return np.sqrt(self.weights_) * self.factor_

    def _sampled(self, bags) -> Bags:
        """The training bags, or what a sample of their instances leaves of them."""
        N = int(bags.sizes.sum())
        if N <= self.max_instances:
            return as_bags(bags)
        rows = sample(random_key(self.random_state), N, self.max_instances)
        owner = np.searchsorted(np.cumsum(bags.sizes), rows, side="right")
        return Bags.from_table(bags.rows(rows), owner)

    def _largest(self, bags) -> np.ndarray:
        """Most points that a bag has in each box, as one row."""
        counts = [self._inside(bags[s]).max(axis=1) for s in slices(len(bags), BLOCK)]
        return np.max(counts, axis=0)[None]

    def _inside(self, bags) -> np.ndarray:
        return self.kernel_._inside(bags.to_dense())

    def _rows(self, counts: np.ndarray):
        """CSR rows: box j with c points lights its first min(c, levels) features."""
        filled = np.minimum(counts.T, self.levels_)
        bag, box = np.nonzero(filled)
        reps = filled[bag, box]
        ends = np.cumsum(reps)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - reps, reps)
        columns = np.repeat(self.starts_[box], reps) + within
        values = np.repeat(self._values()[box], reps)
        shape = (counts.shape[1], self.starts_[-1])
        return sparse.csr_matrix((values, (np.repeat(bag, reps), columns)), shape=shape)


@njit
def _products(counts, levels, firsts, lit, columns):
    """Products of the features of bags with the rows that ``columns`` holds."""
    starts, rows, values, n_rows = columns
    out = np.zeros((counts.shape[1], n_rows))
    for j in range(len(levels)):
        for i in range(len(out)):
            row, first = out[i], firsts[j]
            # Neighbouring features lie side by side.
            for e in range(starts[first], starts[first + min(counts[j, i], levels[j])]):
                row[rows[e]] += lit[j] * values[e]
    return out
