"""What the papers show beside accuracies: one experiment per kind of table, one file per paper."""

from reproduction.experiments import (
    assumptions,
    auto,
    defaults,
    gehler,
    kwok,
    protein,
    regression,
    tao,
    wang,
    xu,
)
from reproduction.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    **tao.EXPERIMENTS,
    **protein.EXPERIMENTS,
    **gehler.EXPERIMENTS,
    **xu.EXPERIMENTS,
    **kwok.EXPERIMENTS,
    **wang.EXPERIMENTS,
    **assumptions.EXPERIMENTS,
    **regression.EXPERIMENTS,
    **defaults.EXPERIMENTS,
    **auto.EXPERIMENTS,
}

__all__ = ["EXPERIMENTS", "Experiment"]
