"""The two losses: l(t) = max(0, 1 - t)^2 and l(t) = max(0, 1 - t)."""

import numpy as np

LOSSES = ("squared_hinge", "hinge")


def losses(f: np.ndarray, loss: str) -> np.ndarray:
    """l(f) and l(-f), in two rows."""
    t = np.maximum(1.0 - np.stack([f, -f]), 0.0)
    return t * t if loss == "squared_hinge" else t
