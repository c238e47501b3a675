"""A stranger's model file is an answer or a ValueError, whatever its arrays say; never a crash."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

import skmil
from skmil import Bags
from skmil.embeddings import BoxEmbedding, IsolationEmbedding, MilesEmbedding
from skmil.kernels import BoxKernel, IsolationKernel, Normalized, SetKernel
from skmil.learners import SIL, BagPipeline, BagSVC, BallBoost, CitationKNN, WideLinearSVC
from skmil.persistence import save_model

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("SKMIL_FUZZ", "6"))  # changes of each model


def training():
    rng = np.random.default_rng(0)
    y = np.arange(15) % 3
    bags = [rng.normal(size=(rng.integers(1, 5), 3)) + (c == 1) * 3.0 for c in y]
    return Bags.from_list(bags), y


def save_all(folder: Path) -> None:
    """A small model of every kind: all methods, and the forms that their defaults do not reach."""
    X, y = training()
    thin = Bags(sparse.csr_matrix(np.where(np.abs(X.instances) > 1, X.instances, 0.0)), X.offsets)
    few = {"n_partitions": 5, "n_cells": 4, "random_state": 0}
    for task in ("classification", "regression"):
        for name in skmil.methods(task):
            target = y % 2 if task == "classification" else y + 0.5
            model = skmil.method(name, task)
            small = [p for p in model.get_params() if p.split("__")[-1] in ("n_rounds", "n_partitions")]
            model.set_params(**dict.fromkeys(small, 4)).fit(X, target)
            save_model(model, folder / f"{_plain(name)}-{task}.skops")
    others = {
        "three": (skmil.method("MI-SVM"), X, y),
        "sparse": (skmil.method("MI-Kernel"), thin, y % 2),
        "sparse-isolation": (BagSVC(IsolationKernel(**few)), thin, y % 2),
        "relevant": (BagSVC(IsolationKernel(metric="relevant", **few)), X, y % 2),
        "forest": (
            BagPipeline([("map", IsolationEmbedding(partition="forest", **few)), ("svm", WideLinearSVC())]),
            X,
            y % 2,
        ),
        "citation": (CitationKNN(2, 2, "average"), X, y),
        "sparse-citation": (CitationKNN(2, 2), thin, y),
        "shared": (BagSVC(BoxKernel("min", "shared", n_boxes=50, random_state=0)), X, y),
        "boxes": (
            BagPipeline([("map", BoxEmbedding(n_boxes=50, random_state=0)), ("svm", WideLinearSVC())]),
            X,
            y,
        ),
        "continuous": (BagSVC(BoxKernel(grid=None, random_state=0, epsilon=0.5)), X, y % 2),
        "normalized": (BagSVC(Normalized(SetKernel(gamma=0.5) + SetKernel(gamma=1.0))), X, y),
        "cubes": (BallBoost("cube", n_rounds=3), X, y % 2),
        "random-forest": (SIL(RandomForestClassifier(3, random_state=0)), X, y % 2),
        "miles": (BagPipeline([("map", MilesEmbedding(gamma=0.5)), ("svm", WideLinearSVC())]), thin, y),
        "calibrated": (skmil.method("MI-Kernel", probability=True), X, y % 2),
    }
    for name, (model, bags, target) in others.items():
        save_model(model.fit(bags, target), folder / f"{name}.skops")


def _plain(name: str) -> str:
    return re.sub(r"\W+", "-", name)


def test_changed_models_are_an_answer_or_a_value_error(tmp_path):
    save_all(tmp_path)
    assert len(list(tmp_path.glob("*.skops"))) > 50
    command = [sys.executable, "-m", "tests.fuzz_models", str(tmp_path), str(ROUNDS), "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300 + 60 * ROUNDS)
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"exit {done.returncode} at {last}; {wrong[:5]}; {done.stderr[-500:]}"
