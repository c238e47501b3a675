r"""The p-step: what is known about the instances of a positive bag, and the best p for a given f.

Three assumptions share one form. ``p`` holds one number per instance, 0 in negative bags. Given the
decision values f, ``step`` minimises the tempered objective over p exactly: in each positive bag one
number is the root of a monotone function, found by bisection. Temperature 0 is the heuristic of the
methods that came before. Weights of bags multiply the loss and the entropy alike, so a bag of weight two
is the same as two bags; the p-step does not see them.
"""

from abc import ABCMeta, abstractmethod

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from skmil._jit import njit
from skmil.learners.annealing.losses import losses

STEPS = 200  # of a bisection; it ends earlier, when no number lies between its ends


class Assumption(metaclass=ABCMeta):
    """Instances of positive bags, as the w-step and the p-step see them.

    Parameters
    ----------
    bags : Bags
    y : array of -1, +1
    w : array
        Weights of the bags.
    C : float
    loss : "squared_hinge" or "hinge"
    least : int
        Positive instances, or witnesses, of a positive bag; all of a smaller one.
    """

    def __init__(self, bags, y, w, C, loss, least=1):
        self.offsets, self.positive, self.C, self.loss = bags.offsets, y > 0, C, loss
        self.sizes, self.least = bags.sizes, int(least)
        self.inside = np.repeat(self.positive, bags.sizes)  # the instance is in a positive bag
        self.cost = C * np.repeat(w, bags.sizes)

    @abstractmethod
    def start(self) -> np.ndarray:
        """The p before the first w-step."""

    @abstractmethod
    def step(self, f: np.ndarray, T: float) -> np.ndarray:
        """The best p for the decision values f at temperature T."""

    def costs(self, p: np.ndarray) -> np.ndarray:
        """Costs of the points of the w-step for f < 1 (first row) and for f > -1."""
        return self.cost * np.stack([p, np.where(self.inside, 0.0, 1.0)])

    def mixing(self, p: np.ndarray):
        """The points of the w-step as combinations of instances; ``None`` where they are the instances."""
        return None

    def penalty(self, p: np.ndarray) -> float:
        """What p itself costs."""
        return 0.0

    def entropy(self, p: np.ndarray) -> float:
        """Mean over the instances of positive bags."""
        return float(-xlogy(p, p)[self.inside].mean())

    def _each_bag(self, function, f, *arguments) -> np.ndarray:
        p = np.zeros(len(f))
        function(f, self.offsets, np.flatnonzero(self.positive), *arguments, p)
        return p


class AllLabels(Assumption):
    r"""Each instance of a positive bag has a label, and at least k = 1 of them (``least``) are positive.

    .. math::
        \min \tfrac12 |w|^2 + C \sum_{ij} p_{ij}\, l(f_{ij}) + (1 - p_{ij})\, l(-f_{ij})
        + T \sum_{ij} p_{ij} \log p_{ij} + (1 - p_{ij}) \log (1 - p_{ij}),
        \qquad \sum_j p_{ij} \ge k

    With ``share`` there is the further term :math:`C_y \sum_i (\sum_j p_{ij} - m_i p^*_i)^2`. In both cases
    :math:`p_{ij} = \sigma((u_i - C d_{ij}) / T)` with :math:`d_{ij} = l(f_{ij}) - l(-f_{ij})` and one
    number :math:`u_i` per bag.

    Parameters
    ----------
    share : float or array with one for each bag, optional
        p*, the share of positive instances to expect in a positive bag.
    share_cost : float
        C_y.
    """

    def __init__(self, bags, y, w, C, loss, least=1, share=None, share_cost=1.0):
        super().__init__(bags, y, w, C, loss, least)
        self.share = np.full(len(bags), 0.0 if share is None else share, dtype=float)
        self.share_cost = 0.0 if share is None else float(share_cost)
        self.weights = w

    def start(self):
        """All positive, as in mi-SVM."""
        return self.inside.astype(float)

    def step(self, f, T):
        """Labels of each instance; at T = 0 those of smallest loss."""
        positive, negative = losses(f, self.loss)
        e = self.C * (positive - negative)
        if T == 0:
            return self._each_bag(_hard_labels, e, self.share, self.share_cost, self.least)
        return self._each_bag(_soft_labels, e, self.share, self.share_cost, self.least, T)

    def costs(self, p):
        """C p and C (1 - p)."""
        return self.cost * np.stack([p, 1.0 - p])

    def penalty(self, p):
        """The price of another share than the expected one."""
        if not self.share_cost:
            return 0.0
        surplus = np.add.reduceat(p, self.offsets[:-1]) - self.sizes * self.share
        return float(self.share_cost * (self.weights * surplus**2)[self.positive].sum())

    def entropy(self, p):
        """Of labels: both p and 1 - p count."""
        return super().entropy(p) + super().entropy(1.0 - p)


class Witness(Assumption):
    r"""One instance of a positive bag, or k of them (``least``), is its witness; the others do not count.

    .. math::
        \min \tfrac12 |w|^2 + C \sum_{ij} p_{ij}\, l(Y_i f_{ij}) + T \sum_{ij} p_{ij} \log p_{ij},
        \qquad \sum_j p_{ij} = k,\; p_{ij} \le 1

    :math:`p_{ij} \propto \exp(-C\, l(f_{ij}) / T)`, where that is not above 1, and 1 elsewhere; at
    temperature 0 the k instances of largest f. The
    paper ends annealing with all instances whose :math:`p_{ij}` is not small as witnesses; here it ends at
    temperature 0 with one, a local minimum of what MI-SVM minimises.
    """

    def start(self):
        """Every instance as much as the others."""
        size = np.repeat(self.sizes, self.sizes)
        return np.where(self.inside, np.minimum(self.least, size) / size, 0.0)

    def step(self, f, T):
        """Softmax of minus the loss; at T = 0 the instance of largest f."""
        if T == 0:
            return self._each_bag(_largest, f, self.least)
        return self._each_bag(_capped_softmax, -losses(f, self.loss)[0] * (self.C / T), self.least)


class ConvexWitness(Assumption):
    r"""The witness of a positive bag is a convex combination of its instances, in feature space.

    .. math::
        \min \tfrac12 |w|^2 + C \sum_i l(Y_i \textstyle\sum_j p_{ij} f_{ij})
        + T \sum_{ij} p_{ij} \log p_{ij}, \qquad \sum_j p_{ij} = 1

    :math:`p_{ij} \propto \exp(\mu_i f_{ij} / T)`, where :math:`\mu_i` is minus the slope of C l at the
    witness. At temperature 0 all instances with f >= 1 share the part evenly, which costs nothing; where
    there are none, the instance of largest f has it.

    With the hinge loss annealing does less here: a witness at f = 1 costs nothing, the entropy then spreads
    p as far as that allows, and neither step alone moves it. The step at temperature 0 decides.
    """

    def __init__(self, bags, y, w, C, loss, least=1):
        super().__init__(bags, y, w, C, loss)
        bag = bags.owner
        first = np.cumsum(np.where(self.positive, 1, self.sizes)) - np.where(self.positive, 1, self.sizes)
        within = np.arange(len(bag)) - self.offsets[bag]
        self.point = first[bag] + np.where(self.inside, 0, within)  # the point each instance belongs to
        starts = np.flatnonzero(np.diff(self.point, prepend=-1))
        self.point_cost = self.cost[starts] * np.stack([self.inside[starts], ~self.inside[starts]])

    start = Witness.start

    def step(self, f, T):
        """Softmax of f, as sharp as the loss asks."""
        if T == 0:
            return self._each_bag(_costless, f)
        squared = self.loss == "squared_hinge"
        return self._each_bag(_convex, f, self.C, squared, T)

    def costs(self, p):
        """C for each positive bag and each negative instance."""
        return self.point_cost

    def mixing(self, p):
        """The combination of each positive bag; negative instances as they are."""
        share = np.where(self.inside, p, 1.0)
        return sparse.csr_matrix((share, (self.point, np.arange(len(p)))))


@njit
def _sigmoid(x):
    if x >= 0.0:
        return 1.0 / (1.0 + np.exp(-x))
    e = np.exp(x)
    return e / (1.0 + e)


@njit
def _sum_of_labels(u, e, T):
    total = 0.0
    for k in range(len(e)):
        total += _sigmoid((u - e[k]) / T)
    return total


@njit
def _soft_labels(e, offsets, bags, share, share_cost, least, T, p):
    """Labels p = sigmoid((u - e) / T) of each bag; u as the share asks, raised if they sum to < least."""
    for i in bags:
        part = e[offsets[i] : offsets[i + 1]]
        k = min(least, len(part))
        u = _balance(part, share[i] * len(part), share_cost, T)
        shift, inverse = 0.0, u
        if _sum_of_labels(u, part, T) < k:
            # Measured from the k-th smallest e, the root keeps its digits at any temperature.
            shift = np.sort(part)[k - 1]
            inverse = _few_labels(part - shift, k, T)
        for k in range(len(part)):
            p[offsets[i] + k] = _sigmoid((inverse - (part[k] - shift)) / T)


@njit
def _balance(e, wanted, share_cost, T):
    """The root of u + 2 C_y (sum of p - wanted), which rises with u."""
    low, high = -2.0 * share_cost * max(len(e) - wanted, 0.0), 2.0 * share_cost * wanted
    for _ in range(STEPS):
        u = 0.5 * (low + high)
        if u <= low or u >= high:
            break
        if u + 2.0 * share_cost * (_sum_of_labels(u, e, T) - wanted) < 0.0:
            low = u
        else:
            high = u
    return high


@njit
def _few_labels(e, k, T):
    """The u for which the labels sum to k (never to less); the k-th smallest e is 0."""
    # At the upper end k labels are 1 up to rounding; at the lower one all but k - 1 are below 1 / (e m).
    low, high = -T * np.log(float(len(e))) - T, 40.0 * T
    for _ in range(STEPS):
        u = 0.5 * (low + high)
        if u <= low or u >= high:
            break
        if _sum_of_labels(u, e, T) < k:
            low = u
        else:
            high = u
    return high


@njit
def _hard_labels(e, offsets, bags, share, share_cost, least, p):
    """The k instances of smallest e, where k >= least is the number of positives that costs least."""
    for i in bags:
        part = e[offsets[i] : offsets[i + 1]]
        wanted = share[i] * len(part)
        rank = 0
        for k in np.argsort(part, kind="mergesort"):
            # (rank + 1 - wanted)^2 - (rank - wanted)^2: what one more positive costs
            more = part[k] + share_cost * (2.0 * (rank - wanted) + 1.0)
            if rank >= least and more >= 0.0:
                break
            p[offsets[i] + k] = 1.0
            rank += 1


@njit
def _largest(f, offsets, bags, least, p):
    """1 for the instances of largest f, the first of equals."""
    for i in bags:
        order = np.argsort(-f[offsets[i] : offsets[i + 1]], kind="mergesort")
        for k in order[:least]:
            p[offsets[i] + k] = 1.0


@njit
def _costless(f, offsets, bags, p):
    """Equal parts for the instances without a loss, or all for the one of smallest loss."""
    for i in bags:
        part = f[offsets[i] : offsets[i + 1]]
        least = min(part.max(), 1.0)
        p[offsets[i] : offsets[i + 1]] = (part >= least) / np.sum(part >= least)


@njit
def _capped_softmax(x, offsets, bags, least, p):
    """Numbers that sum to ``least``, in proportion to exp(x) but for those that would be above 1."""
    for i in bags:
        part = x[offsets[i] : offsets[i + 1]]
        order = np.argsort(-part, kind="mergesort")
        full = 0
        while full < min(least, len(part)):
            # With the ``full`` largest at 1, the others share the rest.
            rest = part[order[full:]]
            e = np.exp(rest - rest[0])
            e *= (least - full) / e.sum()
            if e[0] <= 1.0 or len(rest) <= least - full:
                break
            full += 1
        for r in range(len(part)):
            filled = r < full or len(part) <= least
            p[offsets[i] + order[r]] = 1.0 if filled else e[r - full]


@njit
def _convex(f, offsets, bags, C, squared, T, p):
    """Softmax of mu f / T, where mu is minus the slope of the loss at the mean of f under it."""
    for i in bags:
        part = f[offsets[i] : offsets[i + 1]]
        largest = part.max()
        e = np.empty_like(part)
        low, high = 0.0, 2.0 * C * max(1.0 - part.min(), 0.0) if squared else C
        mu = high
        for _ in range(STEPS):
            total = mean = 0.0
            for k in range(len(part)):
                e[k] = np.exp(mu * (part[k] - largest) / T)
                total += e[k]
                mean += e[k] * part[k]
            t = 1.0 - mean / total
            # The slope of the hinge jumps at 1: any mu below C is right only where the mean is 1.
            if (mu < 2.0 * C * t) if squared else (t > 0.0):
                low = mu
            else:
                high = mu
            mu = 0.5 * (low + high)
            if mu <= low or mu >= high:
                break
        p[offsets[i] : offsets[i + 1]] = e / e.sum()
