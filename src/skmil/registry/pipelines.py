"""How the registry scales: pipelines of a scaler and a step, and the grid that most machines share."""

from skmil.learners import BagPipeline
from skmil.preprocessing import BagScaler

C_GRID = [0.1, 1.0, 10.0, 100.0]
SVM_GRID: dict[str, list] = {"svm__C": C_GRID}


def scaled(method: str = "standard", **step):
    """A pipeline that scales features first, and ends in the given step.

    Sparse features, the weights of terms as a rule, stay as they are: standardising ruins texts.
    """
    return BagPipeline([("scale", BagScaler(method, skip_sparse=True)), *step.items()])


def scaled_unless_zero(method: str, **step):
    """The same for texts that come as plain arrays, too: what is mostly zero stays as it is."""
    return BagPipeline([("scale", BagScaler(method, skip_sparse="zeros")), *step.items()])


def in_unit_cube(**step):
    """A pipeline that scales features to [0, 1], where zeros of texts stay zeros."""
    return BagPipeline([("scale", BagScaler("minmax")), *step.items()])
