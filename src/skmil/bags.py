"""Bags: the container of this library, valid once it exists."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from skmil._checks import (
    as_index,
    bag_labels,
    bag_name,
    check_instances,
    check_lengths,
    check_list,
    check_names,
    check_offsets,
    check_parts,
    feature_columns,
    frame_table,
    group_rows,
    is_frame,
    is_list_of_rows,
    raise_not_finite,
    read_only,
    refuse_text,
    shares_memory,
)
from skmil._html import bags_html
from skmil._jit import Flat
from skmil._lazy import LazyBags, cut
from skmil._state import attribute


class Bags:
    """Bags of instances, stored as one table and the places where it is cut.

    Parameters
    ----------
    instances : ndarray (N, d) or CSR matrix
        All instances, bag after bag.
    offsets : array of n + 1 integers
        Bag i is ``instances[offsets[i]:offsets[i + 1]]``.
    ids : sequence of n, optional
        Names of the bags; their positions where not given.
    feature_names : sequence of d strings, optional
    missing : bool
        Let NaN stand for a missing value, for a ``BagImputer`` to fill in; everything else refuses it.

    Notes
    -----
    A ``Bags`` is valid once it exists and is never modified: its arrays are read-only views, made
    without copying whatever already has the right type. scikit-learn's splitters, searches and
    pipelines index it directly.

    Examples
    --------
    >>> from skmil import Bags
    >>> bags = Bags.from_list([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 3 instances, 2 features; sizes 1 to 2, median 1.5)
    >>> bags[1]
    array([[4., 5.]])
    >>> len(bags[[0]]), bags.sizes.tolist(), bags.ids.tolist()
    (1, [2, 1], ['a', 'b'])
    """

    _shared = False  # whether someone else may write to the arrays
    origin: np.ndarray | None = None  # of distances: the parts of a Gram matrix have that of the whole

    def __init__(self, instances, offsets, ids=None, feature_names=None, missing=False):
        self.offsets = check_offsets(offsets)
        self._ids = check_names(ids, len(self), "ids", "bags")
        self.instances = check_instances(instances, self.offsets, self._ids, missing)
        self.missing = missing
        names = check_names(feature_names, self.n_features, "feature_names", "features")
        self.feature_names = None if names is None else names.astype(str)
        self._shared = shares_memory(self.instances, instances) or shares_memory(self.offsets, offsets)

    @classmethod
    def from_list(cls, bags, ids=None, feature_names=None, missing=False) -> "Bags":
        """Make bags from a list of 2-D arrays, or of CSR matrices."""
        arrays = check_list(bags, ids)
        offsets = np.cumsum([0] + [a.shape[0] for a in arrays])
        stack = sparse.vstack if sparse.issparse(arrays[0]) else np.concatenate
        made = cls(stack(arrays), offsets, ids, feature_names, missing)
        made._shared = False
        return made

    @classmethod
    def from_table(cls, X, bag_ids, feature_names=None, missing=False) -> "Bags":
        """Make bags from one row per instance and the bag id of each row.

        Bags come in the order of their first row; rows of a bag need not be neighbours.
        """
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        bag_ids = np.asarray(bag_ids)
        if X.ndim != 2 or bag_ids.shape != (X.shape[0],):
            raise ValueError(
                f"the table has shape {X.shape} and bag_ids {bag_ids.shape}; "
                "expected (n_instances, n_features) and (n_instances,)"
            )
        rows, offsets, ids = group_rows(bag_ids)
        return cls(X if rows is None else X[rows], offsets, ids, feature_names, missing)

    @classmethod
    def from_frame(cls, df, bag="bag", label=None, features=None, missing=False):
        """Make bags from a pandas or polars data frame (lazy ones are collected), a row per instance.

        Parameters
        ----------
        df : data frame
        bag : name of the column with the bag ids
        label : name of the column with the bags' labels, optional
        features : names of the columns to keep, in this order; all others where not given
        missing : as in ``Bags``

        Returns
        -------
        Bags, or (Bags, y) where ``label`` is given
        """
        df = df.collect() if hasattr(df, "collect") else df
        table, ids, features = frame_table(df, bag, label, features)
        bags = cls.from_table(table, ids, features, missing)
        return bags if label is None else (bags, bag_labels(df[label].to_numpy(), ids))

    @classmethod
    def concat(cls, parts: "Sequence[Bags]") -> "Bags":
        """Put several ``Bags`` one after the other."""
        check_parts(parts)
        if parts[0].feature_names is not None:
            parts = [p.with_features(parts[0].feature_names, "part 0") for p in parts]
        stack = sparse.vstack if parts[0].is_sparse else np.concatenate
        offsets = np.cumsum(np.concatenate([[0]] + [p.sizes for p in parts]))
        ids = None if all(p._ids is None for p in parts) else np.concatenate([p.ids for p in parts])
        missing = any(p.missing for p in parts)
        return cls(stack([p.instances for p in parts]), offsets, ids, parts[0].feature_names, missing)

    def to_frame(self, y=None):
        """Return a pandas frame: ``bag``, ``label`` where ``y`` is given, then the features."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install skmil[tables]") from None
        names = self.feature_names
        names = [f"f{k + 1}" for k in range(self.n_features)] if names is None else names
        frame = pd.DataFrame(self.to_dense().instances, columns=list(names))
        if y is not None:
            frame.insert(0, "label", np.repeat(check_lengths(y, self), self.sizes))
        frame.insert(0, "bag", np.repeat(self.ids, self.sizes))
        return frame

    @property
    def ids(self) -> np.ndarray:
        """Names of the bags."""
        return np.arange(len(self)) if self._ids is None else self._ids

    @property
    def sizes(self) -> np.ndarray:
        """Number of instances of each bag."""
        return np.diff(self.offsets)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.instances.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(number of bags, number of features): what scikit-learn asks about samples."""
        return len(self), self.n_features

    @property
    def dtype(self):
        """Type of the feature values: float64, or float32 where they were given so."""
        return self.instances.dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the instances are a CSR matrix."""
        return sparse.issparse(self.instances)

    @property
    def flat(self) -> Flat:
        """The two arrays for compiled code, which needs dense instances."""
        if self.is_sparse:
            raise TypeError(
                "this method needs dense features and got a sparse matrix; "
                "pass bags.to_dense() if it fits in memory"
            )
        return Flat(self.instances, self.offsets)

    @property
    def owner(self) -> np.ndarray:
        """Number of the bag that each instance belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Cut one value per instance into one array per bag."""
        return np.split(values, self.offsets[1:-1])

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing (NaN)."""
        values = self.instances.data if self.is_sparse else self.instances
        return self.missing and bool(np.isnan(values).any())

    def with_instances(self, instances, feature_names=None) -> "Bags":
        """Same bags, other features: what a scaler returns."""
        if feature_names is None and instances.shape[1] == self.n_features:
            feature_names = self.feature_names
        return Bags(instances, self.offsets, self._ids, feature_names, self.missing)

    def with_features(self, names, who: str = "the selection") -> "Bags":
        """Same bags with the named features, in that order and no others."""
        columns = feature_columns(self.feature_names, names, who)
        if columns is None:
            return self
        return self.with_instances(self.instances[:, columns], names)

    def one_by_one(self) -> "Bags":
        """Each instance as a bag of its own."""
        return Bags(self.instances, np.arange(self.offsets[-1] + 1), feature_names=self.feature_names)

    def to_sparse(self) -> "Bags":
        """Same bags with a CSR matrix."""
        return self if self.is_sparse else self.with_instances(sparse.csr_matrix(self.instances))

    def rows(self, index):
        """Instances by their numbers, counted over all bags."""
        return self.instances[index]

    def blocks(self, max_bytes: int | None = None) -> "Iterator[Bags]":
        """Neighbouring bags, a few megabytes of instances at a time."""
        width = self.n_features * self.dtype.itemsize
        return (self[s] for s in cut(self.sizes, width, max_bytes))

    def astype(self, dtype) -> "Bags":
        """Same bags with values of another type; themselves where they have it."""
        if self.dtype == dtype:
            return self
        other = self.with_instances(self.instances.astype(dtype))
        other.origin = self.origin
        return other

    def to_dense(self) -> "Bags":
        """Same bags with a dense table."""
        return self.with_instances(self.instances.toarray()) if self.is_sparse else self

    def owned(self) -> "Bags":
        """Same bags in memory that nobody else writes to: what a fitted model may keep."""
        if not self._shared:
            return self
        part = copy(self)
        part.instances, part.offsets = read_only(self.instances.copy()), read_only(self.offsets.copy())
        return part

    def describe(self, i: int) -> str:
        """Name bag ``i`` for an error message: its number and, where it has one, its id."""
        return bag_name(i, self._ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __array__(self, dtype=None, copy=None):
        """Bags of one instance each are a table; others are not."""
        if len(self) == self.offsets[-1] and not self.is_sparse:
            return np.array(self.instances, dtype=dtype)
        raise TypeError(
            "bags are no table, so what works on tables cannot take them: lift a scikit-learn transformer "
            "to bags with skmil.preprocessing.ForInstances(transformer) or use BagScaler; put an embedding "
            "in front of BaggingClassifier, and use skmil.inspection.permutation_importance"
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn writes X[key, ...]
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            i = range(len(self))[key]
            return self.instances[self.offsets[i] : self.offsets[i + 1]]
        return self._take(np.arange(len(self))[as_index(key)])

    def _take(self, index: np.ndarray) -> "Bags":
        """Bags ``index``; a view where they are neighbours, a gathered copy otherwise."""
        if len(index) == 0:
            raise ValueError("the selection holds no bags; select at least one")
        ids = None if self._ids is None else self._ids[index]
        offsets = np.concatenate([[0], np.cumsum(self.sizes[index])])
        start = self.offsets[index[0]]
        if np.array_equal(index, np.arange(index[0], index[0] + len(index))):
            rows: Any = slice(start, start + offsets[-1])
        else:
            shift = np.repeat(self.offsets[index] - offsets[:-1], self.sizes[index])
            rows = np.arange(offsets[-1]) + shift
        part = object.__new__(Bags)
        part.instances = read_only(self.instances[rows])
        part.offsets, part._ids = read_only(offsets), ids if self._ids is not None else index
        part.feature_names, part.missing = self.feature_names, self.missing
        part._shared = self._shared and isinstance(rows, slice)
        return part

    def __getstate__(self):
        """Everything but whose the memory is, and which whole it is part of: a copy has its own."""
        return {k: v for k, v in vars(self).items() if k not in ("_shared", "origin")}

    def __setstate__(self, state):
        """Make the arrays of an unpickled copy read-only again, as compiled code was typed for."""
        self.__dict__.update(state)
        self.instances, self.offsets = read_only(self.instances), read_only(self.offsets)

    def _check_state(self) -> None:
        """Be as valid as a new one: what a file may say."""
        for name in ("instances", "offsets", "_ids", "feature_names"):
            attribute(self, name)
        Bags.__init__(self, self.instances, self.offsets, self._ids, self.feature_names)
        self._shared = False

    def __eq__(self, other) -> bool:
        if not isinstance(other, Bags) or self.shape != other.shape:
            return False
        same = np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)
        if not same or self.is_sparse != other.is_sparse:
            return False
        if self.is_sparse:
            return (self.instances != other.instances).nnz == 0
        return np.array_equal(self.instances, other.instances)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = {"bag": len(self), "instance": self.instances.shape[0], "feature": self.n_features}
        text = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in counts.items())
        kind, sizes = " (sparse)" if self.is_sparse else "", self.sizes
        return f"Bags({text}{kind}; sizes {sizes.min()} to {sizes.max()}, median {np.median(sizes):g})"

    def _repr_html_(self) -> str:
        return bags_html(self)


def as_bags(X, missing: bool = False) -> Bags:
    """Turn whatever a user holds into valid ``Bags``; what is one already comes back as it is.

    Parameters
    ----------
    X : Bags; BagStore, which is loaded; list of 2-D arrays or of CSR matrices; 3-D array (bags of equal
        size); 2-D table, data frame or sparse matrix (each row is a bag of one instance)
    missing : bool
        Take NaN as a missing value instead of refusing it.

    Raises
    ------
    ValueError, TypeError
        Naming the bag, the value and the remedy.
    """
    if isinstance(X, LazyBags):
        return X.load()
    if isinstance(X, Bags):
        if not missing and X.has_missing:
            raise_not_finite(X.instances, X.offsets, X._ids)
        return X
    if sparse.issparse(X) or is_frame(X):
        return _rows_as_bags(X, missing)
    if isinstance(X, (list, tuple)):
        return _rows_as_bags(X, missing) if is_list_of_rows(X) else Bags.from_list(X, missing=missing)
    if isinstance(X, (str, bytes, dict)) or not (hasattr(X, "__array__") or hasattr(X, "__len__")):
        raise TypeError(f"expected bags, got {type(X).__name__}; pass a list of 2-D arrays")
    array = np.asarray(X)
    if array.dtype == object and array.ndim == 1:
        return Bags.from_list(list(array), missing=missing)
    if array.ndim == 3:
        n, m, d = array.shape
        return Bags(array.reshape(n * m, d), np.arange(n + 1) * m, missing=missing)
    return _rows_as_bags(array, missing)


def as_source(X, missing: bool = False) -> Any:
    """``as_bags`` that leaves a store as it is, for those who read it block by block."""
    return X if isinstance(X, LazyBags) else as_bags(X, missing)


def _rows_as_bags(X, missing: bool) -> Bags:
    refuse_text(X, "the table")
    names = _get_feature_names(X)
    options: dict[str, Any] = {"accept_sparse": "csr", "order": "C", "ensure_all_finite": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            X = check_array(X, input_name="X", dtype=[np.float64, np.float32], **options)
    except np.exceptions.ComplexWarning:
        raise ValueError("Complex data not supported") from None
    except OverflowError as error:
        raise ValueError(f"the table holds a number that is too large: {error}") from None
    return Bags(X, np.arange(X.shape[0] + 1), feature_names=names, missing=missing)
