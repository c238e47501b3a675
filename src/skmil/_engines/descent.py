r"""Compiled core of Diverse Density: the cost of a hypothesis and L-BFGS from many starts at once.

theta = (h, s) is a point and its feature scales, :math:`d(x) = \sum_k s_k^2 (x_k - h_k)^2` the distance
of an instance, P the probability of a bag (see ``_density.py``), and the cost is
:math:`-\sum_i w_i \log(1 - |y_i - P_i|)`. A bag is handled in the log domain, so that distances of
thousands, where :math:`e^{-d}` is zero, still have a gradient.

Distances are linear in :math:`(s^2, -2 s^2 h)`: those of many starts to all instances are one matrix
product with :math:`(x^2, x)`, and so are the gradients. Hence the starts advance in step, each with a
line search of its own.
"""

from collections import namedtuple

import numpy as np

from skmil._engines.likelihood import bag_costs
from skmil._jit import njit

MEMORY = 5  # steps that L-BFGS remembers; ten need as many iterations and more time
SMALLEST_STEP = 30  # halvings of a step before a line search gives up

Problem = namedtuple("Problem", ["instances", "rows", "offsets", "y", "w", "noisy", "free", "stop"])
Problem.__doc__ = """Cost as compiled code sees it: bag i is instances[rows[offsets[i]:offsets[i+1]]].

``noisy`` chooses noisy-or instead of max, ``free`` lets the scales move, and a raised ``stop`` ends all.
"""

# One slot (first axis) per start: where it is, where it looks next, and what L-BFGS remembers.
Slots = namedtuple(
    "Slots", ["theta", "trial", "g", "direction", "steps", "turns", "rho", "number", "count"]
)
COST, SLOPE, STEP, LOW, HIGH = range(5)  # columns of ``number``
ITERATION, TRIES, ENDED = range(3)  # columns of ``count``


@njit
def minimise_together(problem, squares, slots, which, width, until, max_iter, tol):
    """Go on with the slots ``which``, ``width`` of them in step, until iteration ``until`` or their ends.

    ``squares`` is (x^2, x) for each instance. A slot that stops at ``until`` may go on later; one that has
    come to its end is not touched again.
    """
    n = 2 * problem.instances.shape[1]
    waiting = which[slots.count[which, ENDED] == 0]
    active = min(width, len(waiting))
    ids, following = waiting[:active].copy(), active
    trials, values, g = np.empty((active, n)), np.empty(active), np.empty((active, n))
    coefficients, d = np.empty((active, n)), np.empty(active * len(problem.rows))
    while active and not problem.stop[0]:
        a = slice(0, active)
        for i in range(active):
            trials[i] = slots.trial[ids[i]]
        table = d[: active * len(problem.rows)].reshape((-1, active))
        _evaluate(problem, squares, trials[a], coefficients[a], table, values[a], g[a])
        for i in range(active - 1, -1, -1):
            slot = ids[i]
            if not _advance(slots, slot, values[i], g[i], max_iter, tol):
                slots.count[slot, ENDED] = 1
            elif slots.count[slot, ITERATION] < until:
                continue
            if following < len(waiting):
                ids[i] = waiting[following]
                following += 1
            else:  # the last one moves here; it has been advanced already
                active -= 1
                ids[i] = ids[active]


@njit
def expectation_maximisation(problem, start, s, max_iter, tol):
    """EM-DD (Zhang & Goldman, NIPS 2001): fit the nearest instance of each bag, while the cost falls."""
    best = np.concatenate((problem.instances[start], s))
    g = np.empty_like(best)
    cost = cost_and_gradient(problem, best, g)
    chosen, ends = np.empty(len(problem.y), dtype=np.int64), np.arange(len(problem.y) + 1)
    slots = _empty_slots(1, len(best))
    rounds = 0
    while rounds < max_iter and not problem.stop[0]:
        rounds += 1
        _choose_nearest(problem, best, chosen)
        part = Problem(
            problem.instances, chosen, ends, problem.y, problem.w, False, problem.free, problem.stop
        )
        _begin(slots, 0, best)
        while _advance(slots, 0, cost_and_gradient(part, slots.trial[0], g), g, max_iter, tol):
            if problem.stop[0]:
                break
        new = cost_and_gradient(problem, slots.theta[0], g)
        if not new < cost - tol * max(abs(cost), 1.0):
            break
        best[:], cost = slots.theta[0], new
    return best, cost, rounds


@njit
def cost_and_gradient(problem, theta, gradient):
    """The cost at one theta, and its gradient, written in place; distances are summed directly."""
    n = problem.instances.shape[1]
    h, s = theta[:n], theta[n:]
    d, cost = np.empty((len(problem.rows), 1)), np.zeros(1)
    distances(problem.instances, problem.rows, h, s * s, d[:, 0])
    bag_costs(problem, d, cost)
    g, gs = gradient[:n], gradient[n:]
    gradient[:] = 0.0
    for j in range(len(d)):
        c, x = d[j, 0], problem.instances[problem.rows[j]]
        for k in range(n):
            r = x[k] - h[k]
            g[k] += c * r
            gs[k] += c * r * r
    g *= -2.0 * s * s
    gs *= 2.0 * s if problem.free else 0.0 * s
    return cost[0]


@njit
def _evaluate(problem, squares, thetas, coefficients, d, costs, gradients):
    """``cost_and_gradient`` of many thetas by two matrix products, for a problem with all instances.

    d has one row per instance and one column per theta, so that what follows vectorises over thetas.
    """
    n = problem.instances.shape[1]
    constant = np.empty(len(thetas))
    for i in range(len(thetas)):
        constant[i] = _expand(thetas[i, :n], thetas[i, n:], coefficients[i, :n], coefficients[i, n:])
    np.dot(squares, coefficients.T, d)
    _add_constants(problem.instances, thetas, constant, d)
    costs[:] = 0.0
    bag_costs(problem, d, costs)
    np.dot(d.T, squares, gradients)
    total = np.zeros(len(thetas))
    for j in range(len(d)):
        _add(total, 1.0, d[j])
    for i in range(len(thetas)):
        _chain(thetas[i], total[i], gradients[i], problem.free)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _expand(h, s, of_square, of_x):
    """Coefficients of x^2 and x in the distance; its constant is returned."""
    constant = 0.0
    for k in range(len(h)):
        s2 = s[k] * s[k]
        of_square[k], of_x[k] = s2, -2.0 * s2 * h[k]
        constant += s2 * h[k] * h[k]
    return constant


@njit
def _add_constants(X, thetas, constant, d):
    """D += |h|^2, in the metric of s; a distance that cancellation spoils is summed directly."""
    n = X.shape[1]
    row, one = np.empty(1, dtype=np.int64), np.empty(1)
    for j in range(len(d)):
        least = np.inf
        for i in range(len(constant)):
            d[j, i] += constant[i]
            least = min(least, d[j, i] - 1e-6 * constant[i])
        if least < 1e-6:
            row[0] = j
            for i in range(len(constant)):
                if d[j, i] < 1e-6 * (1 + constant[i]):
                    distances(X, row, thetas[i, :n], thetas[i, n:] ** 2, one)
                    d[j, i] = one[0]


@njit
def _chain(theta, total, gradient, free):
    """From sums of c x^2 and c x over the instances (c sums to ``total``) to the gradient by (h, s)."""
    n = len(theta) // 2
    for k in range(n):
        h, s, x2, x = theta[k], theta[n + k], gradient[k], gradient[n + k]
        gradient[k] = -2.0 * s * s * (x - h * total)
        gradient[n + k] = 2.0 * s * (x2 - 2.0 * h * x + h * h * total) if free else 0.0


@njit
def _choose_nearest(problem, theta, chosen):
    """Number of the instance of each bag that is most likely under theta."""
    n = problem.instances.shape[1]
    d = np.empty(len(problem.rows))
    distances(problem.instances, problem.rows, theta[:n], theta[n:] ** 2, d)
    for i in range(len(chosen)):
        first = problem.offsets[i]
        chosen[i] = problem.rows[first + np.argmin(d[first : problem.offsets[i + 1]])]


@njit
def new_slots(instances, starts, s):
    """Slots that begin at the instances ``starts`` with the scales s."""
    n = 2 * instances.shape[1]
    slots = _empty_slots(len(starts), n)
    for i in range(len(starts)):
        _begin(slots, i, np.concatenate((instances[starts[i]], s)))
    return slots


@njit
def _empty_slots(n_slots, n):
    table = np.zeros((4, n_slots, n))
    past = np.zeros((2, n_slots, MEMORY, n))
    rho, count = np.zeros((n_slots, MEMORY)), np.zeros((n_slots, 3), dtype=np.int64)
    number = np.zeros((n_slots, 5))
    return Slots(table[0], table[1], table[2], table[3], past[0], past[1], rho, number, count)


@njit
def _begin(slots, i, theta):
    slots.theta[i] = theta
    slots.trial[i] = theta
    slots.count[i, ITERATION] = -1  # nothing has been evaluated yet


@njit
def _advance(slots, i, cost, g, max_iter, tol):
    """Take in the cost and gradient at the trial point of slot i and choose the next one.

    The line search looks by bisection for the weak Wolfe conditions, which also works at the kinks of
    |y - P| and max (Lewis & Overton 2013). False where the start has come to its end, at ``slots.theta``.
    """
    number, count = slots.number[i], slots.count[i]
    if count[ITERATION] >= 0:
        if not cost <= number[COST] + 1e-4 * number[STEP] * number[SLOPE]:
            number[HIGH] = number[STEP]
            return _try_again(slots, i)
        if _dot(g, slots.direction[i]) < 0.9 * number[SLOPE]:
            number[LOW] = number[STEP]
            return _try_again(slots, i)
        _remember(slots, i, g)
    fell = number[COST] - cost if count[ITERATION] >= 0 else np.inf
    number[COST] = cost
    slots.g[i] = g
    count[ITERATION] += 1
    if count[ITERATION] >= max_iter or fell <= tol * max(abs(cost), 1.0):
        return False
    _turn(slots, i)
    number[SLOPE] = _dot(g, slots.direction[i])
    number[STEP] = 1.0 if count[ITERATION] else min(1.0, 1.0 / np.sqrt(-number[SLOPE]))
    number[LOW], number[HIGH], count[TRIES] = 0.0, np.inf, 0
    _look(slots, i)
    return number[SLOPE] < 0


@njit
def _try_again(slots, i):
    number, count = slots.number[i], slots.count[i]
    count[TRIES] += 1
    number[STEP] = (number[LOW] + number[HIGH]) / 2 if number[HIGH] < np.inf else 2 * number[STEP]
    _look(slots, i)
    return count[TRIES] < SMALLEST_STEP


@njit
def _look(slots, i):
    """The next trial point: a step along the direction."""
    step = slots.number[i, STEP]
    for k in range(slots.theta.shape[1]):
        slots.trial[i, k] = slots.theta[i, k] + step * slots.direction[i, k]


@njit
def _remember(slots, i, g):
    """The trial point is accepted: keep the step and the turn of the gradient."""
    last = slots.count[i, ITERATION] % MEMORY
    step, turn = slots.steps[i, last], slots.turns[i, last]
    for k in range(len(g)):
        step[k] = slots.trial[i, k] - slots.theta[i, k]
        turn[k] = g[k] - slots.g[i, k]
        slots.theta[i, k] = slots.trial[i, k]
    slots.rho[i, last] = 1.0 / _dot(step, turn)


@njit
def _turn(slots, i):
    """Two-loop recursion: the direction is minus the approximate inverse Hessian times g."""
    steps, turns, rho, q = slots.steps[i], slots.turns[i], slots.rho[i], slots.direction[i]
    it = slots.count[i, ITERATION]
    known = min(it, MEMORY)
    a = np.zeros(MEMORY)
    q[:] = -slots.g[i]
    for b in range(known):
        m = (it - 1 - b) % MEMORY
        a[m] = rho[m] * _dot(steps[m], q)
        _add(q, -a[m], turns[m])
    if known:
        m = (it - 1) % MEMORY
        q /= rho[m] * _dot(turns[m], turns[m])
    for b in range(known - 1, -1, -1):
        m = (it - 1 - b) % MEMORY
        _add(q, a[m] - rho[m] * _dot(turns[m], q), steps[m])


# A reordered sum vectorises, which halves the time; NaN and infinity keep their meaning.
@njit(fastmath={"reassoc", "contract", "nsz"})
def distances(X, rows, h, s2, out):
    """out[j] = sum_k s2[k] (X[rows[j], k] - h[k])^2."""
    for j in range(len(rows)):
        x = X[rows[j]]
        total = 0.0
        for k in range(len(h)):
            total += s2[k] * (x[k] - h[k]) ** 2
        out[j] = total


@njit(fastmath={"reassoc", "contract", "nsz"})
def _dot(a, b):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit
def _add(a, c, b):
    for k in range(len(a)):
        a[k] += c * b[k]
