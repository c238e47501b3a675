"""Whether a model from a file is sound: its numbers stay inside its tables, and it answers.

Compiled code, ours and scikit-learn's, uses numbers of a model as indices, lengths and offsets without
asking. ``check_parts`` asks first, each part in its own words (``_check_state``; for scikit-learn's see
below). ``try_out`` then lets the model answer for one made-up bag: what is missing or does not fit shows.
"""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from skmil import _state as state
from skmil._parameters import check_parameters
from skmil.bags import Bags
from skmil.sources import BagSource

MOST_CLASSES = 2**16  # of a decision tree
MOST_FEATURES = 2**24  # of the bag that a model is tried out with: a quarter of a gigabyte
_QUESTIONS = ("predict", "decision_function", "predict_proba", "score_instances")
# Estimators of scikit-learn that predict by NumPy alone, or are checked below.
_REVIEWED = (
    "sklearn.calibration",
    "sklearn.cluster._kmeans",
    "sklearn.decomposition._pca",
    "sklearn.decomposition._truncated_svd",
    "sklearn.discriminant_analysis",
    "sklearn.dummy",
    "sklearn.ensemble",
    "sklearn.feature_extraction",
    "sklearn.feature_selection",
    "sklearn.impute._base",
    "sklearn.kernel_approximation",
    "sklearn.linear_model",
    "sklearn.mixture",
    "sklearn.multiclass",
    "sklearn.naive_bayes",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.random_projection",
    "sklearn.svm",
    "sklearn.tree",
)


def check_parts(model) -> None:
    """Ask every part of a model whether it may be computed with; ``ValueError`` says which may not."""
    for part in parts(model):
        kind = type(part)
        if isinstance(part, BaseEstimator):
            if kind.__module__.startswith("sklearn.") and not kind.__module__.startswith(_REVIEWED):
                raise ValueError(f"{kind.__name__} is not among the estimators that can be checked")
            check_parameters(part)
            if not any(n.endswith("_") and not n.startswith("_") for n in vars(part)):
                continue  # not fitted: a parameter of another
        for known, check in _CHECKS.items():
            if isinstance(part, known):
                check(part)
        if hasattr(kind, "_check_state"):
            part._check_state()


def without_trees(model):
    """A copy of a model whose decision trees are plain arrays: rebuilding a tree trusts its numbers."""
    model = deepcopy(model)
    for part in parts(model):
        if isinstance(part, BaseDecisionTree) and isinstance(vars(part).get("tree_"), Tree):
            _, sizes, content = part.tree_.__reduce__()
            names = ("n_features", "n_classes", "n_outputs")
            part.tree_ = dict(zip(names, sizes, strict=True)) | content
    return model


def with_trees(model):
    """Make the arrays of ``without_trees`` trees again, in place, if they fit together."""
    for part in parts(model):
        if isinstance(part, BaseDecisionTree) and isinstance(vars(part).get("tree_"), dict):
            part.tree_ = _tree(SimpleNamespace(**part.tree_))
    return model


def try_out(model) -> None:
    """Let a model answer for one made-up bag; fails as it would fail for any other."""
    steps = getattr(model, "steps", None)
    if steps and not hasattr(steps[0][1], "n_features_in_"):  # makes bags of things: try what follows
        model = type(model)(steps[1:])
    bag = _bag(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = {name: getattr(model, name)(bag) for name in _QUESTIONS if hasattr(model, name)}
    if hasattr(model, "classes_"):
        k = len(state.array(model, "classes_", (None,), np.generic))
        width = {name: np.shape(said[name])[1:] for name in _QUESTIONS[1:3] if name in said}
        if k < 2 or any(w not in [(k,), ()] or (w == () and k > 2) for w in width.values()):
            raise state.damaged(model, f"{k} classes and {width} answers")


def first_step(model):
    """The part of a model that sees the bags first, and knows their features."""
    steps = getattr(model, "steps", None)
    return next((s for _, s in steps if hasattr(s, "n_features_in_")), model) if steps else model


def parts(model) -> Iterator:
    """A model and everything inside, each once."""
    todo, seen = [model], set()
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, (list, tuple, set)):
            todo += part
        elif isinstance(part, np.ndarray):
            todo += part.ravel().tolist() if part.dtype == object else []
            continue
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            todo += vars(part).values()
        yield part


def _bag(model) -> Bags:
    """One bag of two instances with the features that a model knows."""
    first = first_step(model)
    d = state.count(first, "n_features_in_", 1, MOST_FEATURES)
    table = np.vstack([np.zeros(d), np.ones(d)])
    thin = getattr(first, "sparse_in_", False)
    names = getattr(first, "feature_names_in_", None)
    return Bags(sparse.csr_matrix(table) if thin else table, [0, 2], feature_names=names)


def _tree(stored: SimpleNamespace) -> Tree:
    d = state.count(stored, "n_features", 1, MOST_FEATURES)
    outputs = state.count(stored, "n_outputs", 1, MOST_CLASSES)
    classes = state.places(stored, "n_classes", (outputs,), MOST_CLASSES, np.intp)
    if (classes < 1).any():
        raise state.damaged(stored, "a tree without classes")
    n = len(state.array(stored, "nodes", (None,), np.void))
    state.array(stored, "values", (n, outputs, int(classes.max())))
    state.count(stored, "node_count", n, n)
    state.count(stored, "max_depth", 0, n)
    tree = Tree(d, classes, outputs)
    tree.__setstate__({k: getattr(stored, k) for k in ("max_depth", "node_count", "nodes", "values")})
    return tree


def _check_tree(tree: Tree) -> None:
    """Each node is a leaf or points to two later nodes and an existing feature."""
    left, right, i = tree.children_left, tree.children_right, np.arange(tree.node_count)
    leaf = (left == -1) & (right == -1)
    inside = (i < left) & (left < len(i)) & (i < right) & (right < len(i))
    known = (0 <= tree.feature) & (tree.feature < tree.n_features)
    if not (leaf | (inside & known)).all():
        raise state.damaged(tree, "a decision tree points outside itself")


def _check_tree_estimator(estimator: BaseDecisionTree) -> None:
    tree = state.kept(estimator, "tree_", Tree)
    state.count(estimator, "n_features_in_", tree.n_features, tree.n_features)
    state.count(estimator, "n_outputs_", tree.n_outputs, tree.n_outputs)


def _check_ensemble(ensemble) -> None:
    """The trees of an ensemble see its features: their compiled code does not ask again."""
    d = state.count(ensemble, "n_features_in_", 1, MOST_FEATURES)
    trees = np.ravel(np.asarray(state.attribute(ensemble, "estimators_"), dtype=object))
    if not len(trees) or not all(isinstance(t, BaseDecisionTree) for t in trees):
        raise state.damaged(ensemble, "estimators_ are no trees")
    if any(state.kept(t, "tree_", Tree).n_features != d for t in trees):
        raise state.damaged(ensemble, f"a tree does not see {d} features")
    if isinstance(ensemble, BaseGradientBoosting):
        k = state.count(ensemble, "n_trees_per_iteration_", 1, len(trees))
        state.array(ensemble, "estimators_", (None, k), np.object_)


def _check_svm(svm: BaseLibSVM) -> None:
    """Lengths of the arrays that libsvm takes for granted."""
    rows, d = svm.shape_fit_
    state.count(svm, "n_features_in_", d, d)
    n = len(state.places(svm, "support_", (None,), rows, np.int32))
    k = len(state.array(svm, "_n_support", (None,), np.int32))
    if hasattr(svm, "classes_"):  # libsvm does not look at them in regression
        state.array(svm, "classes_", (k,), np.generic)
        if (svm._n_support < 0).any() or svm._n_support.sum() != n:
            raise state.damaged(svm, f"_n_support does not add up to {n}")
    if k < 2:
        raise state.damaged(svm, f"{k} classes")
    pairs = k * (k - 1) // 2
    state.array(svm, "_intercept_", (pairs,))
    for name in ("_probA", "_probB"):
        state.array(svm, name, (0 if len(state.attribute(svm, name)) == 0 else pairs,))
    _check_support(svm, n, k, d)


def _check_support(svm: BaseLibSVM, n: int, k: int, d: int) -> None:
    thin = state.kept(svm, "_sparse", bool)
    vectors = (0, 0) if svm.kernel == "precomputed" else (n, d)
    shapes = {"support_vectors_": vectors, "_dual_coef_": (k - 1, n), "dual_coef_": (k - 1, n)}
    for name, expected in shapes.items():
        if not thin:
            state.array(svm, name, expected)
        elif state.kept(svm, name, sparse.csr_matrix, sparse.csr_array).shape != expected:
            raise state.damaged(svm, f"{name} has shape {getattr(svm, name).shape}, expected {expected}")
    if thin and svm._dual_coef_.nnz != (k - 1) * n:
        raise state.damaged(svm, f"_dual_coef_ holds {svm._dual_coef_.nnz} numbers")


def _check_kmeans(kmeans) -> None:
    d = state.count(kmeans, "n_features_in_", 1, MOST_FEATURES)
    k = len(state.finite(kmeans, "cluster_centers_", (None, d)))
    if not 1 <= k <= state.count(kmeans, "n_clusters", 1, MOST_FEATURES) == max(k, kmeans.n_clusters):
        raise state.damaged(kmeans, f"{k} centers for {kmeans.n_clusters} clusters")
    kmeans._n_threads = 1  # those of the machine that wrote the file, or any number


def _check_vocabulary(vectorizer: CountVectorizer) -> None:
    """Columns of the terms, which become indices of a sparse matrix unasked."""
    columns = np.array(list(state.kept(vectorizer, "vocabulary_", dict).values()))
    if columns.dtype.kind not in "iu" or not np.array_equal(np.sort(columns), np.arange(len(columns))):
        raise state.damaged(vectorizer, "vocabulary_ does not number its terms")


def _check_source(source: BagSource) -> None:
    if source.cache is not None:
        raise state.damaged(
            source, f"cache is {str(source.cache)[:40]!r}: a file may not say where to write"
        )


def _check_sparse(matrix) -> None:
    matrix.check_format(full_check=True)


def _check_random(random: np.random.RandomState) -> None:
    _, _, place, *_ = random.get_state()
    if not 0 <= int(place) <= 624:
        raise state.damaged(random, f"stands at {place} of 624")


_CHECKS = {
    Tree: _check_tree,
    BaseDecisionTree: _check_tree_estimator,
    (BaseForest, BaseGradientBoosting): _check_ensemble,
    BaseLibSVM: _check_svm,
    BagSource: _check_source,
    CountVectorizer: _check_vocabulary,
    (KMeans, MiniBatchKMeans, BisectingKMeans): _check_kmeans,
    (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array): _check_sparse,
    np.random.RandomState: _check_random,
}
