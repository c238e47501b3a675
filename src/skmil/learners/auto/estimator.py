"""What ``skmil.method("auto")`` is: a blend of kernels, one machine, calibrated probabilities."""

import re

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from skmil import _state as state
from skmil._parameters import CLASS_WEIGHT, POSITIVE, SEED
from skmil._random import random_key
from skmil._schema import check_bags
from skmil._threads import slices
from skmil.bags import Bags
from skmil.learners.auto.blend import BlendKernel, blended, weigh
from skmil.learners.auto.machine import PENALTIES, decisions, kernel_ridge, machines, targets
from skmil.learners.base import BagClassifier, BagEstimator, BagRegressor, leave_one_out

PRICES = (1.0, 3.0, 10.0)  # C of the machine; kernels have unit variance, so that it means the same for all
WIDE_PRICE = 3.0  # where landmarks stand for many bags
WORTH = 1.0  # what an offset must take off the log loss of all bags, as Akaike prices a parameter
FOR_PARTS = 0.7  # of the time; the rest is for weights, machine and calibration
MOST_BAGS = 2000  # up to here the Gram matrix of all bags, beyond it that of landmarks
LANDMARKS = 800
FEW_FOLDS = 1000  # bags beyond which three folds are enough to calibrate
BLOCK = 512  # bags mapped at a time
CLASS_OF = re.compile(r" of class (\d+)$")


class _Auto(BagEstimator):
    """The blend, and the bags that stand for all where they are too many for a Gram matrix."""

    @property
    def leaderboard_(self) -> list[dict]:
        """What was tried: part, weight, seconds and, where one was left out, why."""
        return self.kernel_.leaderboard_

    def _fit_blend(self, bags: Bags, y) -> np.ndarray | None:
        """The Gram matrix of all bags, or None where landmarks stand for them."""
        seed = int(random_key(self.random_state)) % 2**32
        self.landmarks_ = _landmarks(len(bags), y, seed)
        chosen = bags if self.landmarks_ is None else bags[self.landmarks_]
        repeats = float(bags.sizes.sum() / chosen.sizes.sum())
        kernel = BlendKernel(FOR_PARTS * self.time_budget, max(1.0, repeats), seed)
        labels = y if self.landmarks_ is None else y[self.landmarks_]
        K = kernel.fit_transform(chosen, labels)
        self.kernel_ = kernel
        if self.landmarks_ is None:
            return K
        values, vectors = np.linalg.eigh(K)
        keep = values > 1e-10 * values[-1]
        self.basis_ = vectors[:, keep] / np.sqrt(values[keep])
        return None

    def _features(self, bags: Bags) -> np.ndarray:
        """Nyström features: inner products of them are the blend, seen from the landmarks."""
        parts = []
        for s in slices(len(bags), BLOCK):
            K = self.kernel_.transform(bags[s])
            parts.append((K - K.mean(axis=1, keepdims=True)) @ self.basis_)
        return np.concatenate(parts)

    def _forget(self) -> None:
        """What calibration needed and prediction does not."""
        del self.kernel_.grams_


class AutoClassifier(_Auto, BagClassifier):
    """The answer to "which one?": one machine on a blend of kernels that predict the labels.

    Nothing needs to be chosen. The blend (``BlendKernel``) sees a bag as a whole and by its instances, at
    several scales; how much each view counts is learned from the training labels. The machine is a support
    vector machine for two classes, and ridge regression of each against the rest for more. Probabilities
    are calibrated on bags that were left out (Platt 1999), and the most probable class is predicted;
    without signal in the data they are near the shares of the classes. The price of a bag on the wrong
    side is the one of three whose probabilities of bags left out are best.

    Beyond 2,000 bags, 800 of them are landmarks (Williams & Seeger 2001), and the machine is linear.

    Parameters
    ----------
    time_budget : float
        Seconds for fitting: views that are expected to take longer are left out, and ``leaderboard_``
        says so.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState or None

    Attributes
    ----------
    leaderboard_ : list of dictionaries: part, weight, seconds, note
    kernel_ : the fitted ``BlendKernel``
    C_ : the price that was taken

    Examples
    --------
    >>> import skmil
    >>> from skmil.datasets import load_musk1
    >>> X, y = load_musk1(return_X_y=True)
    >>> model = skmil.method("auto").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8, model.leaderboard_[0]["weight"] > 0.05
    (True, True)
    """

    _parameter_constraints: dict = {
        "time_budget": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
        "random_state": SEED,
    }

    def __init__(self, time_budget=60.0, class_weight=None, random_state=0):
        self.time_budget = time_budget
        self.class_weight = class_weight
        self.random_state = random_state

    def predict_proba(self, X) -> np.ndarray:
        """Calibrated probability of each class, in the order of ``classes_``."""
        return np.exp(_log_probabilities(self.decision_function(X)))

    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance, for ``classes_[1]`` (for the class predicted if more than two).

        Two classes: exact for the views that are sums over instances, and what is missing without it for
        the others. More: what is missing without it.
        """
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        if len(self.classes_) > 2 or self.landmarks_ is not None:
            return leave_one_out(self._decisions, bags)
        slope = -self.sigmoids_[0, 0]
        return self.kernel_.contributions(bags, slope * self.alpha_[:, 0])

    def _fit_classes(self, bags, codes, w):
        K = self._fit_blend(bags, codes)
        for row in self.leaderboard_:  # the blend has seen numbers of classes
            row["part"] = CLASS_OF.sub(
                lambda found: f" of class {self.classes_[int(found[1])]}", row["part"]
            )
        Z = self._features(bags) if K is None else None
        self.C_, self.sigmoids_ = self._calibrate(codes, w, Z)
        if K is None:
            self.svm_ = _linear().fit(Z, codes, sample_weight=w)
        else:
            alpha, self.offsets_ = machines(K, codes, w, [self.C_], len(self.classes_))[0]
            counting = np.flatnonzero(alpha.any(axis=1))
            self.alpha_ = alpha[counting]
            self.kernel_.restrict(counting)
        self._forget()

    def _check_state(self) -> None:
        if self.landmarks_ is None:
            n, columns = len(state.attribute(self.kernel_, "bags_")), _columns(self.classes_)
            state.finite(self, "alpha_", (n, columns))
            state.finite(self, "offsets_", (columns,))

    def _calibrate(self, codes, w, Z) -> tuple[float, np.ndarray]:
        """The price, and slope and offset of a sigmoid for each class, that suit bags left out best."""
        prices = PRICES if Z is None else (WIDE_PRICE,)
        fewest = int(np.bincount(codes).min())
        if fewest < 2:  # nothing can be left out; the shares of the classes, and the sign
            return prices[0], np.tile([-1.0, 0.0], (_columns(self.classes_), 1))
        left_out = np.empty((len(prices), len(codes), _columns(self.classes_)))
        folds = min(5 if len(codes) <= FEW_FOLDS else 3, fewest)
        for a, b in StratifiedKFold(folds, shuffle=True, random_state=0).split(codes, codes):
            left_out[:, b] = self._told(prices, codes, w, Z, a, b)
        own, found = targets(codes, len(self.classes_)).T, []
        for C, told in zip(prices, left_out, strict=True):
            sigmoids = np.array([platt(d, t, w) for d, t in zip(told.T, own, strict=True)])
            logs = _log_probabilities(_log_odds(told, sigmoids))
            found.append((-float(w @ logs[np.arange(len(codes)), codes]), C, sigmoids))
        return min(found, key=lambda f: f[0])[1:]

    def _told(self, prices, codes, w, Z, a, b) -> list[np.ndarray]:
        """Decision values of the bags b, by machines that learned from the bags a at each price."""
        if Z is not None:
            return [_table(_linear().fit(Z[a], codes[a], w[a]).decision_function(Z[b]))]
        grams, shares = self.kernel_.grams_, self.kernel_.shares_
        K = blended(grams, weigh(grams, codes, shares, a))
        found = machines(K[np.ix_(a, a)], codes[a], w[a], prices, len(self.classes_))
        return [decisions(K[np.ix_(b, a)], machine) for machine in found]

    def _decisions(self, bags):
        """Log-odds of ``classes_[1]``, or the logarithm of each class's probability up to a constant."""
        return _log_odds(_table(self._margins(bags)), self.sigmoids_)

    def _margins(self, bags) -> np.ndarray:
        """Decision values of the machine."""
        if self.landmarks_ is not None:
            return self.svm_.decision_function(self._features(bags))
        return decisions(self.kernel_.transform(bags), (self.alpha_, self.offsets_))


class AutoRegressor(_Auto, BagRegressor):
    """``AutoClassifier`` for targets: ridge regression on a blend of kernels that predict them.

    The penalty is the one of smallest error when each training bag is left out in turn.

    Parameters
    ----------
    time_budget, random_state : as in ``AutoClassifier``

    Attributes
    ----------
    leaderboard_, kernel_ : as in ``AutoClassifier``

    Examples
    --------
    >>> import numpy as np, skmil
    >>> X = [[[v], [v + 1.0]] for v in np.linspace(0, 5, 30)]
    >>> y = np.linspace(0, 5, 30)
    >>> skmil.method("auto", task="regression").fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: dict = {
        "time_budget": [POSITIVE],
        "random_state": SEED,
    }

    def __init__(self, time_budget=60.0, random_state=0):
        self.time_budget = time_budget
        self.random_state = random_state

    def score_instances(self, X) -> list[np.ndarray]:
        """One number per instance: its share of the prediction less the mean, as in ``AutoClassifier``."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        if self.landmarks_ is not None:
            return leave_one_out(self._predict, bags)
        return self.kernel_.contributions(bags, self.alpha_)

    def _fit(self, bags, y, w):
        K = self._fit_blend(bags, y)
        if K is None:
            self.ridge_ = RidgeCV(PENALTIES).fit(self._features(bags), y, sample_weight=w)
        else:
            self.mean_ = float(np.average(y, weights=w))
            self.alpha_, self.penalty_ = kernel_ridge(K, y - self.mean_, w)
        self._forget()

    def _predict(self, bags):
        if self.landmarks_ is not None:
            return self.ridge_.predict(self._features(bags))
        K = self.kernel_.transform(bags)
        return (K - K.mean(axis=1, keepdims=True)) @ self.alpha_ + self.mean_


def platt(scores: np.ndarray, positive: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Slope a and offset b of P = 1 / (1 + e^(a f + b)), with Platt's targets, which are never 0 or 1.

    The offset is 0, and the border that of the machine, unless another one is worth a parameter.
    """
    n1, n0 = w[positive].sum(), w[~positive].sum()
    target = np.where(positive, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(ab):
        z = ab[0] * scores + ab[1]
        gap = w * (target - expit(-z))
        value = np.sum(w * (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z)))
        return value, np.array([gap @ scores, gap.sum()])

    start = [0.0, np.log((n0 + 1) / (n1 + 1))]
    free = minimize(loss, start, jac=True, bounds=[(None, 0.0), (None, None)])
    plain = minimize(loss, [0.0, 0.0], jac=True, bounds=[(None, 0.0), (0.0, 0.0)])
    found = free if plain.fun - free.fun > WORTH * w.mean() else plain
    return float(found.x[0]), float(found.x[1])


def _linear() -> LinearSVC:
    return LinearSVC(C=WIDE_PRICE, dual=False)


def _columns(classes) -> int:
    return 1 if len(classes) == 2 else len(classes)


def _log_odds(told: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """Of the second of two classes; of more, the logarithm of each one's probability up to a constant."""
    z = -(sigmoids[:, 0] * told + sigmoids[:, 1])
    return z.ravel() if z.shape[1] == 1 else -np.logaddexp(0, -z)


def _log_probabilities(decisions: np.ndarray) -> np.ndarray:
    """One column for each class."""
    if decisions.ndim == 2:
        return log_softmax(decisions, axis=1)
    return np.column_stack([-np.logaddexp(0, decisions), -np.logaddexp(0, -decisions)])


def _table(decisions: np.ndarray) -> np.ndarray:
    return decisions[:, None] if decisions.ndim == 1 else decisions


def _landmarks(n: int, y, seed: int) -> np.ndarray | None:
    """Numbers of the bags that stand for all; each class has its share, and one bag at least."""
    if n <= MOST_BAGS:
        return None
    rng = np.random.default_rng(seed)
    if y.dtype.kind == "f":
        return np.sort(rng.permutation(n)[:LANDMARKS])
    groups = [np.flatnonzero(y == c) for c in np.unique(y)]
    chosen = [rng.permutation(g)[: max(2, round(LANDMARKS * len(g) / n))] for g in groups]
    return np.sort(np.concatenate(chosen))
