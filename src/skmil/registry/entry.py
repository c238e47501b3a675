"""What the registry knows about a method."""

from collections.abc import Callable
from dataclasses import dataclass, field

Grid = dict[str, list] | list[dict[str, list]]
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Method:
    """What the library knows about a method: how to build it, where it comes from, what to search.

    Parameters
    ----------
    name : its name in the papers
    paper : authors and year
    assumes : when a bag is positive, in one line
    classification, regression : functions without arguments that return an unfitted estimator
    grid : parameters of the classifier for nested cross-validation, by their nested names; a list of
        grids, as scikit-learn has it, where some go with some values of others only
    regression_grid : the same for the regressor
    revision : raised when the same settings give something else, so that earlier folds are run again
    transductive : whether it sees the bags to be predicted, without labels, when it is fitted
    """

    name: str
    paper: str
    assumes: str
    classification: Callable | None = None
    regression: Callable | None = None
    grid: Grid = field(default_factory=dict)
    regression_grid: Grid = field(default_factory=dict)
    revision: int = 1
    transductive: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the method can do."""
        return tuple(t for t in TASKS if getattr(self, t) is not None)
