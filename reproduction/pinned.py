"""What the papers' tables are run with where the registered default is another one since."""

from typing import Any

import skmil

_RBF = {"scale__skip_sparse": True, "svm__kernel": "rbf"}
# The scaling, weights and thresholds of the papers; ``defaults`` says why ours differ.
PAPERS: dict[str, dict[str, Any]] = {
    "Simple-MI": {"scale__skip_sparse": True},
    "Minimax": {"svm__kernel__degree": 2, "svm__kernel__gamma": "scale"},
    "miGraph": {"scale__method": "minmax", "scale__skip_sparse": False},
    "ISK": {"scale__skip_sparse": False, "isolation__n_cells": 256, "isolation__weights": "bag"},
    "SIL": {"scale__method": "standard", "scale__skip_sparse": True, "sil__estimator__C": 10.0},
    "MILES": {"scale__method": "standard", "miles__C": 3.0},
    "mi-SVM": {**_RBF, "svm__gamma_factor": 0.5, "svm__threshold": "zero"},
    "MI-SVM": {**_RBF, "svm__gamma_factor": 0.5},
    "AL-SVM": {**_RBF, "svm__threshold": "zero"},
    "AW-SVM": {**_RBF, "svm__threshold": "zero", "svm__C": 10.0},
    "APR": {"apr__tau": 0.999},
    "PPMM": {"scale__method": "standard", "scale__skip_sparse": True},
    "Boost": {"scale__method": "standard", "boost__shape": "ball"},
    "MICA": {**_RBF, "svm__gamma_factor": 0.5},
    "MissSVM": {"scale__skip_sparse": True, "miss__kernel": "rbf", "miss__C": 100.0, "miss__beta": 1.0},
    "MG-ACC": {"scale__method": "standard", "svm__kernel__power": 1.0},
    "MG-DDV": {"scale__method": "standard", "svm__kernel__power": 1.0},
    "DD-SVM": {"svm__C": 10.0},
    "ALP-SVM": {**_RBF, "svm__positive_share": 0.6, "svm__pooling": "max", "svm__threshold": "zero"},
}


def paper_method(name: str, task: str = "classification", **overrides):
    """The estimator of a method as the papers' tables have it."""
    return skmil.method(name, task, **{**PAPERS.get(name, {}), **overrides})
