"""Scaling and discretising bags; both are fitted on the pooled instances of the training bags."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from skmil import _state as state
from skmil._lazy import GROUP
from skmil._moments import few, filled, first_pass, second_pass
from skmil._parameters import ANY, COUNT, POSITIVE, naming, one_of
from skmil._schema import check_bags, check_lengths
from skmil._threads import one_blas_thread, slices
from skmil.bags import Bags, as_bags

MOST_STEPS = 2.0**53  # whole numbers up to here are float64 numbers


class _BagTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Bags in, bags out; a store in, the same store out, whose blocks are transformed as they are read."""

    _streams = True
    _keeps_float32 = True

    def __init_subclass__(cls, **options):
        # Nor does a global ``set_config(transform_output=...)`` turn bags into a table.
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    def fit(self, X, y=None):
        """Learn from the instances of the training bags."""
        self._fit(check_bags(self, X, reset=True))
        return self

    def transform(self, X) -> Bags:
        """The same bags with other feature values."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        return self._transform(bags) if isinstance(bags, Bags) else bags.through(self)

    def set_output(self, *, transform=None):
        """Bags stay bags: there is no other container to choose."""
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BagScaler(_BagTransformer):
    """Shift and scale each feature by statistics of all training instances, or each instance by its length.

    Parameters
    ----------
    method : "standard", "minmax", "robust", "unit" or "none"
        Mean and standard deviation; minimum and range; median and interquartile range; each instance
        to length 1, as suits texts; no change, for a search that may find features best as they are.
        A constant feature becomes 0 in the first three. Sparse features are only scaled, never
        shifted, so they stay sparse.
    equal_bags : bool
        Let each bag count the same in the statistics, however many instances it has.
    skip_sparse : bool or "zeros"
        Leave sparse features as they are: the weights of terms, say, mean something. "zeros" does so too
        where more than nine in ten values of dense features are zero, as of texts that come as plain
        arrays. Instances are still brought to length 1 where ``method`` says so.

    Attributes
    ----------
    center_, scale_ : arrays (n_features,)

    Examples
    --------
    >>> from skmil.preprocessing import BagScaler
    >>> BagScaler(method="minmax").fit_transform([[[0.0], [4.0]], [[1.0]]])[1]
    array([[0.25]])
    """

    _parameter_constraints: dict = {
        "method": [one_of("standard", "minmax", "robust", "unit", "none")],
        "equal_bags": ["boolean"],
        "skip_sparse": ["boolean", one_of("zeros")],
    }

    def __init__(self, method="standard", equal_bags=False, skip_sparse=False):
        self.method = method
        self.equal_bags = equal_bags
        self.skip_sparse = skip_sparse

    def _fit(self, bags):
        self.center_, self.scale_ = np.zeros(bags.n_features), np.ones(bags.n_features)
        if self.method in ("none", "unit") or (bags.is_sparse and self.skip_sparse):
            return
        weights = np.repeat(1.0 / bags.sizes, bags.sizes) if self.equal_bags else None
        total, low, high, nonzero = first_pass(bags, weights)
        if self.skip_sparse == "zeros" and few(nonzero, bags):
            return
        if bags.is_sparse:
            self.scale_ = _sparse_scale(bags, weights, self.method, np.maximum(np.abs(low), np.abs(high)))
        elif self.method == "minmax":
            self.center_, self.scale_ = low, high - low
        else:
            robust = self.method == "robust"
            statistics = _robust(bags, weights) if robust else _standard(bags, weights, total)
            self.center_, self.scale_ = statistics
        # Numbers that are equal but for rounding have a spread that is only rounding: to divide by it would
        # blow up a new bag that differs.
        constant = high - low <= 10 * np.finfo(bags.dtype).eps * np.maximum(np.abs(low), np.abs(high))
        self.scale_ = np.where(constant | (self.scale_ <= 0), 1.0, self.scale_)
        if not bags.is_sparse:
            self.center_ = np.where(constant, low, self.center_)

    def _transform(self, bags):
        if bags.is_sparse:
            X = bags.instances.astype(np.float64, copy=False)
            X = normalize(X) if self.method == "unit" else X.multiply(1.0 / self.scale_).tocsr()
            return bags.with_instances(X.astype(bags.dtype, copy=False))
        out = np.empty(bags.instances.shape, bags.dtype)
        for s in slices(len(out), GROUP):  # float32 without a float64 copy of everything
            X = (bags.instances[s] - self.center_) / self.scale_
            out[s] = normalize(X) if self.method == "unit" else X
        return bags.with_instances(out)


class BagGrid(_BagTransformer):
    r"""Discretise each feature to :math:`\{0, ..., s_k\}`, the space of the box-counting kernels.

    A value is multiplied by ``factor`` and rounded, the smallest training value becomes 1; 0 stands for
    everything below the training range and :math:`s_k` for everything above, so that a new bag always
    has a place.

    Parameters
    ----------
    factor : float or array (n_features,)
        Usually a power of ten: how many digits count, of all features or of each.
    levels : int, optional
        Instead of ``factor``: stretch every feature to this many steps between its extremes.

    Attributes
    ----------
    low_ : array of float
        Rounded smallest training value.
    factor_ : array of float
    s_ : array of int
        Largest value of each feature after discretisation.

    Examples
    --------
    >>> from skmil.preprocessing import BagGrid
    >>> grid = BagGrid(factor=10).fit([[[0.12], [0.31]]])
    >>> grid.s_, grid.transform([[[-5.0], [0.2], [9.0]]])[0].ravel()
    (array([4]), array([0., 2., 4.]))
    """

    _parameter_constraints: dict = {
        "factor": [POSITIVE, "array-like"],
        "levels": [COUNT, None],
    }

    def __init__(self, factor=1.0, levels=None):
        self.factor = factor
        self.levels = levels

    def _fit(self, bags):
        _, low, high, _ = first_pass(bags)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            if self.levels is not None:
                spread = high - low
                self.factor_ = self.levels / np.where(spread > 0, spread, 1.0)
            else:
                self.factor_ = self._factors(len(low))
            self.low_ = np.rint(low * self.factor_)
            steps = np.rint(high * self.factor_) - self.low_
        self._check_steps(steps, low, high)
        self.s_ = steps.astype(np.int64) + 2

    def _factors(self, d: int) -> np.ndarray:
        with naming("factor"):
            factor = np.asarray(self.factor, dtype=float)
        if factor.ndim and factor.shape != (d,):
            raise ValueError(
                f"factor has the shape {factor.shape}; give one number, or one for each of the {d} features"
            )
        if not ((factor > 0) & (factor < np.inf)).all():
            raise ValueError(f"factor is {self.factor!r}; give positive numbers")
        return np.full(d, factor)

    def _check_state(self) -> None:
        d = len(state.finite(self, "factor_", (None,)))
        state.finite(self, "low_", (d,))
        state.places(self, "s_", (d,), int(MOST_STEPS) + 3)

    def _check_steps(self, steps, low, high) -> None:
        """Refuse a feature with more steps than float64 has whole numbers."""
        with np.errstate(over="ignore"):
            fits = (steps < MOST_STEPS) & np.isfinite(high - low)
        if not fits.all():
            k = int(np.argmin(fits))
            raise ValueError(
                f"feature {k} runs from {low[k]:.3g} to {high[k]:.3g}, more steps of 1 / "
                f"{self.factor_[k]:.3g} than can be told apart; give levels, a smaller factor, or scale it"
            )

    def inverse_transform(self, X) -> Bags:
        """The middle of each cell in the units of the features; the first and the last lie just outside."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False).to_dense()
        return bags.with_instances((bags.instances + self.low_ - 1) / self.factor_)

    def edges(self, lower, upper) -> tuple[np.ndarray, np.ndarray]:
        """Where boxes of cells, given by their corners, begin and end in the units of the features.

        A box that reaches the first or the last cell is unbounded there.
        """
        below, above = (
            (c + self.low_ - 1 + half) / self.factor_ for c, half in ((lower, -0.5), (upper, 0.5))
        )
        return np.where(lower <= 0, -np.inf, below), np.where(upper >= self.s_, np.inf, above)

    def _transform(self, bags):
        with np.errstate(over="ignore"):  # infinitely far outside is outside
            X = np.rint(bags.to_dense().instances.astype(np.float64) * self.factor_) - self.low_ + 1
        return bags.with_instances(np.clip(X, 0, self.s_))


class ForInstances(_BagTransformer):
    """Any scikit-learn transformer of tables, lifted to bags: fitted on all training instances.

    Parameters
    ----------
    transformer : a transformer with ``fit`` and ``transform``, such as a scaler, PCA, imputer or selector
        A clone is fitted; it sees the label of its bag with each instance.

    Attributes
    ----------
    transformer_ : the fitted clone

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from skmil.preprocessing import ForInstances
    >>> ForInstances(PCA(1)).fit_transform([[[0.0, 0.0], [1.0, 1.0]], [[2.0, 2.0]]])
    Bags(2 bags, 3 instances, 1 feature; sizes 1 to 2, median 1.5)
    """

    _takes_missing = True  # the transformer itself says what it cannot take
    _streams = _keeps_float32 = False

    _parameter_constraints: dict = {
        "transformer": [HasMethods(["fit", "transform"])],
    }

    def __init__(self, transformer):
        self.transformer = transformer

    def fit(self, X, y=None):
        """Fit a clone of the transformer on the instances of all bags."""
        bags = check_bags(self, X, reset=True)
        labels = None if y is None else np.repeat(check_lengths(y, bags), bags.sizes)
        self.transformer_ = clone(self.transformer)
        with one_blas_thread():  # same bits on any number of threads
            self.transformer_.fit(self._table(bags), labels)
        return self

    def get_feature_names_out(self, input_features=None):
        """Names that the transformer gives to its output, where it names them."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        return self.transformer_.get_feature_names_out(names)

    def _transform(self, bags):
        table = self.transformer_.transform(self._table(bags))
        return bags.with_instances(table, self._names(bags, table.shape[1]))

    def _table(self, bags):
        """The instances, as a copy: some transformers work in place."""
        return bags.instances.copy()

    def _names(self, bags, n: int):
        if bags.feature_names is None or not hasattr(self.transformer_, "get_feature_names_out"):
            return None
        names = self.get_feature_names_out(bags.feature_names)
        return names if len(names) == n else None


class BagImputer(ForInstances):
    """Fill in missing values (NaN) by a statistic of the training instances.

    Parameters
    ----------
    strategy : "median", "mean", "most_frequent" or "constant"
        Of each feature over all training instances; ``fill_value`` for "constant".
    fill_value : float
    add_indicator : bool
        Add a feature for each one that had missing values in training, 1 where it was missing.

    Attributes
    ----------
    transformer_ : the fitted ``sklearn.impute.SimpleImputer``

    Examples
    --------
    >>> from skmil.preprocessing import BagImputer
    >>> BagImputer().fit_transform([[[1.0], [float("nan")]], [[3.0]]])[0].ravel()
    array([1., 2.])
    """

    _parameter_constraints: dict = {
        "strategy": [one_of("median", "mean", "most_frequent", "constant")],
        "fill_value": [ANY],
        "add_indicator": ["boolean"],
    }

    def __init__(self, strategy="median", fill_value=0.0, add_indicator=False):
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator

    @property
    def transformer(self):
        """The imputer of tables."""
        return SimpleImputer(
            strategy=self.strategy,
            fill_value=self.fill_value,
            add_indicator=self.add_indicator,
            keep_empty_features=True,  # as many features as before
        )


def _standard(bags, weights, total):
    size = bags.sizes.sum() if weights is None else weights.sum()
    mean = total / size
    return mean, np.sqrt(second_pass(bags, weights, mean) / size)


def _robust(bags, weights):
    """Quantiles need all values at once."""
    X, q = as_bags(bags).instances, [0.25, 0.5, 0.75]
    if weights is None:
        low, middle, high = np.quantile(X, q, axis=0)
    else:
        w = np.broadcast_to(weights[:, None], X.shape)
        low, middle, high = np.quantile(X, q, axis=0, weights=w, method="inverted_cdf")
    return middle, high - low


def _sparse_scale(bags, weights, method, largest):
    if method != "standard":
        return largest
    N = int(bags.sizes.sum())
    w = np.full(N, 1.0 / N) if weights is None else weights / weights.sum()
    mean = first_pass(bags, w)[0]
    # In two passes, or the deviation of large numbers drowns: first the entries that are there, then zeros.
    there = second_pass(bags, w, mean)
    share, count = filled(bags, w)
    zeros = np.where(count == N, 0.0, np.maximum(1.0 - share, 0.0))
    return np.sqrt(there + zeros * mean**2)
