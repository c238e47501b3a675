"""Winnow on boxes drawn at random (after Tao et al. 2008 and GMIL-1): concepts of many features."""

from skmil._parameters import COUNT, real
from skmil.kernels.box import BoxKernel
from skmil.learners.gmil import GMIL1


class BoxWinnow(GMIL1):
    r"""GMIL-1's Winnow on boxes from a subset instead of on groups of all boxes.

    The number of groups of GMIL-1 grows out of hand beyond a handful of features; boxes around training
    instances, bounded in a few features each, do not. With :math:`a_j(P) = 1` iff box :math:`b_j` holds an
    instance of P, and :math:`v_j` the weight of the box (1 / the training instances in it, scaled to sum to
    1), a bag is positive iff

    .. math:: \sum_j v_j \left( w_j a_j(P) + \bar w_j (1 - a_j(P)) \right) \ge \theta.

    Boxes whose :math:`w_j` grew are attraction boxes, those whose :math:`\bar w_j` did are repulsion boxes;
    ``skmil.inspection.box_concept`` lists them in the units of the features.

    Parameters
    ----------
    n_boxes : int
    max_side : float, optional
    max_features : int, optional
        Which boxes are drawn, as in ``BoxKernel`` with ``around="instances"``.
    alpha, theta, max_iter, grid, class_weight : as in ``GMIL1``
    random_state : int, RandomState or None
        Of the boxes.

    Attributes
    ----------
    lower_, upper_ : arrays (n_boxes, d)
        Corners of the boxes, on the grid.
    size_ : array (n_boxes,)
        The weights :math:`v_j`.
    hit_, missed_ : arrays (n_boxes,)
        Log weights of both attributes.
    mistakes_ : array (``n_iter_``,)
        Mistakes in each round through the training bags.
    n_iter_ : int

    Examples
    --------
    >>> from skmil.datasets import make_assumption
    >>> from skmil.learners import BoxWinnow
    >>> sets = make_assumption("double", random_state=0)
    >>> model = BoxWinnow(random_state=0).fit(sets.train.data, sets.train.target)
    >>> model.score(sets.test.data, sets.test.target) > 0.9
    True
    """

    _parameter_constraints: dict = {
        **{k: v for k, v in GMIL1._parameter_constraints.items() if k != "n_clusters"},
        "n_boxes": [COUNT],
        "max_side": [real(0, 1, "right"), None],
        "max_features": [COUNT, None],
    }

    def __init__(
        self,
        n_boxes=3000,
        max_side=0.5,
        max_features=4,
        alpha=1.1,
        theta=1.0,
        max_iter=200,
        grid="auto",
        class_weight=None,
        random_state=None,
    ):
        self.n_boxes = n_boxes
        self.max_side = max_side
        self.max_features = max_features
        self.alpha = alpha
        self.theta = theta
        self.max_iter = max_iter
        self.grid = grid
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit(self, bags, y, w):
        kernel = BoxKernel(
            method="shared",
            grid=self.grid,
            n_boxes=self.n_boxes,
            around="instances",
            max_side=self.max_side,
            max_features=self.max_features,
            random_state=self.random_state,
        ).fit(bags)
        self.grid_ = kernel.grid_
        self.lower_, self.upper_ = kernel.space_.cells(kernel.boxes_)
        self.size_ = kernel.weights_ / kernel.weights_.sum()
        self._winnow(self._attributes(bags), y, w)
