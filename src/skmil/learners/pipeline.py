"""A pipeline that keeps what is special about bags: instance scores and the learner's own results."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skmil._cluster import blockwise, map_bags
from skmil._lazy import LazyBags
from skmil._threads import interruptible
from skmil.bags import as_bags
from skmil.learners.base import leave_one_out


def _last_has(name: str):
    return available_if(lambda self: hasattr(self.steps[-1][1], name))


class BagPipeline(Pipeline):
    """scikit-learn's ``Pipeline`` with ``score_instances`` and the learned attributes of its last step.

    A step with a parameter ``unlabeled`` (more instances to learn from) gets it as the steps before it
    leave it, like the training bags themselves.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from skmil.embeddings import MeanEmbedding
    >>> from skmil.learners import BagPipeline
    >>> model = BagPipeline([("mean", MeanEmbedding()), ("svm", SVC(kernel="linear"))])
    >>> model.fit([[[0.0], [1.0]], [[4.0]]], ["low", "high"]).score_instances([[[0.0], [8.0]]])[0].shape
    (2,)
    """

    @interruptible
    def fit(self, X, y=None, sample_weight=None, **params):
        """Fit all steps; ``sample_weight``, one number per bag, goes to the last one."""
        if sample_weight is not None:
            name, last = self.steps[-1]
            if not has_fit_parameter(last, "sample_weight"):
                raise TypeError(f"{type(last).__name__} takes no sample_weight; leave it out")
            routed = "sample_weight" if _routing() else f"{name}__sample_weight"
            params[routed] = sample_weight
        with _carried(self, X, y):
            return super().fit(X, y, **params)

    def fit_transform(self, X, y=None, **params):
        """``fit``, then what the last step makes of X."""
        with _carried(self, X, y):
            return super().fit_transform(X, y, **params)

    def get_metadata_routing(self):
        """Weights are for the last step, unless its own requests say otherwise."""
        last = self.steps[-1][1]
        if _routing() and has_fit_parameter(last, "sample_weight"):
            for method in ("fit", "score"):
                requests = getattr(last.get_metadata_routing(), method).requests
                if "sample_weight" in requests and requests["sample_weight"] is None:
                    getattr(last, f"set_{method}_request")(sample_weight=True)
        return super().get_metadata_routing()

    @_last_has("predict")
    def predict(self, X, **params) -> np.ndarray:
        """The label or the target of each bag; a store is read block by block."""
        return self._output("predict", X, **params)

    @_last_has("decision_function")
    def decision_function(self, X, **params) -> np.ndarray:
        """Decision values of the last step; a store is read block by block."""
        return self._output("decision_function", X, **params)

    @_last_has("predict_proba")
    def predict_proba(self, X, **params) -> np.ndarray:
        """Probabilities of the last step; a store is read block by block."""
        return self._output("predict_proba", X, **params)

    @blockwise
    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance: how much it speaks for its bag's output.

        The last step's own answer where it takes bags; exact shares of the linear score, up to the
        intercept, where a linear model of two classes follows an additive embedding; leaving each
        instance out elsewhere.
        """
        check_is_fitted(self)
        *first, (_, last) = self.steps
        if first and hasattr(first[0][1], "parts"):  # a source: what follows it takes bags
            rest = BagPipeline(self.steps[1:])
            return rest.score_instances(first[0][1].transform(X))
        bags = as_bags(X, missing=True)  # a first step may fill in what is missing
        if hasattr(last, "score_instances"):
            return last.score_instances(_through(first, bags))
        w = _linear_weights(last)
        if w is not None and first and hasattr(first[-1][1], "contributions"):
            return first[-1][1].contributions(_through(first[:-1], bags), w)
        classifies = hasattr(last, "decision_function")
        return leave_one_out(self.decision_function if classifies else self._number, bags)

    @property
    def has_witness(self) -> bool:
        """Whether the instance of largest score decides alone."""
        return getattr(self.steps[-1][1], "has_witness", False)

    def _output(self, name: str, X, **params):
        """What the last step says.

        Sparse features of a whole store may not fit, so the last step takes them block by block; dense ones
        are small beside the instances, and one product for all keeps the bits of one in memory.
        """
        whole = getattr(super(), name)
        lazy = isinstance(X, LazyBags) and not params and len(self.steps) > 1
        if not lazy or hasattr(self.steps[-1][1], "score_instances"):
            return whole(X, **params)
        rows = self[:-1].transform(X[:1])
        return map_bags(getattr(self, name), X) if sparse.issparse(rows) else whole(X)

    def _number(self, bags):
        """What to watch where there is no decision function: a probability or a prediction."""
        if hasattr(self.steps[-1][1], "predict_proba"):
            return self.predict_proba(bags)
        return self.predict(bags)

    def __getattr__(self, name):
        if name.endswith("_") and not name.startswith("_") and "steps" in self.__dict__:
            return getattr(self.steps[-1][1], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _routing() -> bool:
    return bool(get_config().get("enable_metadata_routing", False))


@contextmanager
def _carried(pipeline, X, y):
    """While a pipeline is fitted, unlabelled instances are where the steps before their own put them."""
    raw = {}
    for i, (name, step) in enumerate(pipeline.steps):
        more = getattr(step, "unlabeled", None)
        if i and more is not None:
            bags = as_bags(X)
            for _, before in pipeline.steps[:i]:
                if before not in (None, "passthrough"):
                    before = clone(before)
                    bags = before.fit_transform(bags, y)
                    more = before.transform(as_bags(more))
            raw[name] = step.unlabeled
            step.unlabeled = more
    try:
        yield
    finally:
        for name, value in raw.items():
            pipeline.named_steps[name].unlabeled = value


def _through(steps, bags):
    for _, step in steps:
        bags = step.transform(bags)
    return bags


def _linear_weights(model):
    """The one weight vector of a linear model; ``None`` where there is none, or more than one."""
    coef = getattr(model, "coef_", None)
    if coef is None or (np.ndim(coef) == 2 and coef.shape[0] > 1):
        return None
    return coef.toarray().ravel() if hasattr(coef, "toarray") else np.ravel(coef)
