"""Slow and obvious twins of everything that is fast: loops over bags, instances and features."""

import itertools

import numpy as np
from scipy.optimize import minimize


def rbf(x, y, gamma):
    return np.exp(-gamma * np.sum((x - y) ** 2))


def poly(x, y, gamma, coef0, degree):
    return (gamma * np.dot(x, y) + coef0) ** degree


def set_kernel(A, B, instance, power=1.0):
    """Sum of the instance kernel over all pairs."""
    return sum(instance(a, b) ** power for a in A for b in B)


def gram(A, B, kernel):
    """Matrix of a kernel on two bags, entry by entry."""
    return np.array([[kernel(a, b) for b in B] for a in A])


def minimax(A, B, gamma, coef0, degree):
    def s(bag):
        return [min(x[k] for x in bag) for k in range(bag.shape[1])] + [
            max(x[k] for x in bag) for k in range(bag.shape[1])
        ]

    return poly(np.array(s(A)), np.array(s(B)), gamma, coef0, degree)


# Isolation Set-Kernel (Xu, Ting & Zhou 2019), equations 2 to 15; H is a list of tables of centres.


def relevant_distance(x, y):
    C = [i for i in range(len(x)) if x[i] != 0 or y[i] != 0]
    return np.sqrt(sum((x[i] - y[i]) ** 2 for i in C) / len(C)) if C else 0.0


def euclidean_distance(x, y):
    return np.sqrt(sum((x[i] - y[i]) ** 2 for i in range(len(x))))


def cell(x, centers, distance):
    return min(range(len(centers)), key=lambda j: distance(x, centers[j]))


def isolation_kernel(x, y, H, distance):
    return sum(cell(x, h, distance) == cell(y, h, distance) for h in H) / len(H)


def isolation_weights(S, H, epsilon, distance, among=None):
    """``among``: the instances to count similar ones in, the bag itself where not given."""
    if epsilon is None:
        return np.full(len(S), 1 / len(S))
    T = S if among is None else among
    W = [1 / max(1, sum(isolation_kernel(x, y, H, distance) > epsilon for y in T)) for x in S]
    return np.array(W) / sum(W)


def isolation_set_kernel(S, T, H, epsilon, distance):
    u, v = isolation_weights(S, H, epsilon, distance), isolation_weights(T, H, epsilon, distance)
    return sum(
        u[a] * v[b] * isolation_kernel(S[a], T[b], H, distance)
        for a in range(len(S))
        for b in range(len(T))
    )


def isolation_features(S, H, epsilon, distance, among=None):
    w = isolation_weights(S, H, epsilon, distance, among)
    v = [np.zeros(len(h)) for h in H]
    for x, weight in zip(S, w, strict=True):
        for h, row in zip(H, v, strict=True):
            row[cell(x, h, distance)] += weight
    return np.concatenate(v)


def isolation_presence(S, H, distance):
    return np.concatenate(
        [[float(any(cell(x, h, distance) == j for x in S)) for j in range(len(h))] for h in H]
    )


# miGraph (Zhou, Sun & Li 2009).


def graph_weights(A, tau):
    def distance(a, u):
        return np.sqrt(np.sum((A[a] - A[u]) ** 2))

    m = len(A)
    if tau == "mean":
        pairs = [distance(a, u) for a in range(m) for u in range(a)]
        tau = np.mean(pairs) if pairs else 0.0
    return np.array([1 / sum(a == u or distance(a, u) < tau for u in range(m)) for a in range(m)])


def graph_kernel(A, B, gamma, tau):
    u, v = graph_weights(A, tau), graph_weights(B, tau)
    total = sum(u[a] * v[b] * rbf(A[a], B[b], gamma) for a in range(len(A)) for b in range(len(B)))
    return total / (u.sum() * v.sum())


def label_objective(p, e, T, share=0.0, share_cost=0.0):
    """What the labels p of one positive bag cost, where e = C (l(f) - l(-f))."""
    entropy = sum(q * np.log(q) for v in p for q in (v, 1 - v) if q > 0)
    return float(np.dot(p, e) + T * entropy + share_cost * (sum(p) - share * len(p)) ** 2)


def best_hard_labels(e, share=0.0, share_cost=0.0, least=1):
    """The cheapest of all labels with at least so many positives, tried one by one."""
    enough = min(least, len(e))
    every = [np.array(p, float) for p in itertools.product([0, 1], repeat=len(e)) if sum(p) >= enough]
    return min(every, key=lambda p: label_objective(p, e, 0.0, share, share_cost))


def two_cost_svm(K, costs, loss):
    """Minimum of |w|^2 / 2 + sum of a l(f) + c l(-f): its dual, given to a general optimiser."""
    n = len(K)
    y = np.repeat([1.0, -1.0], n)
    c = np.concatenate(costs)
    Q = np.tile(K, (2, 2)) * np.outer(y, y)
    if loss == "squared_hinge":
        Q = Q + np.diag(0.5 / np.maximum(c, 1e-12))
    bounds = [(0.0, v if loss == "hinge" or v == 0 else None) for v in c]
    result = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(2 * n),
        jac=True,
        bounds=bounds,
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return -result.fun


def miles(bags, Z, gamma):
    """Largest similarity of each bag to each row of Z."""
    return np.array([[max(rbf(x, z, gamma) for x in b) for z in Z] for b in bags])


def best_ball(bags, centres, signed, distance):
    """Largest sum of ``signed`` over bags that a ball meets, over all centres and all radii."""
    most = -np.inf
    for c in centres:
        near = [min(distance(c, x) for x in b) for b in bags]
        for r in near:
            most = max(most, sum(s for s, d in zip(signed, near, strict=True) if d <= r * (1 + 1e-9)))
    return most


def noisy_or(f, positive, w):
    """Log-likelihood of bags whose instances have the scores f (one array per bag)."""
    total = 0.0
    for scores, is_positive, weight in zip(f, positive, w, strict=True):
        none = np.prod([1 - 1 / (1 + np.exp(-s)) for s in scores])
        total += weight * np.log(1 - none if is_positive else none)
    return total


def tree_counts(tree, bags):
    """How many instances of each bag pass each node of a partition, walking down the tree."""
    counts = np.zeros((len(bags), len(tree.feature_)))
    for i, b in enumerate(bags):
        for x in b:
            node = 0
            while node >= 0:
                counts[i, node] += 1
                go_left = x[tree.feature_[node]] <= tree.threshold_[node]
                node = tree.left_[node] if go_left else tree.right_[node]
    return counts


def c45_split(X, y, w, least):
    """(feature, cut) of the split with the best gain ratio, from the definitions; None if there is none."""

    def entropy(weights):
        p = np.array([v for v in weights if v > 0]) / sum(weights)
        return -np.sum(p * np.log2(p))

    total = w.sum()
    side = max(least, min(0.05 * total, 25.0))
    found = []
    for k in range(X.shape[1]):
        values, cuts = np.unique(X[:, k]), []
        for low, high in itertools.pairwise(values):
            left = X[:, k] <= low
            parts = [w[left].sum(), w[~left].sum()]
            if min(parts) < side - 1e-9:
                continue
            after = sum(
                w[s].sum() / total * entropy([w[s & (y > 0)].sum(), w[s & (y < 0)].sum()])
                for s in (left, ~left)
            )
            gain = entropy([w[y > 0].sum(), w[y < 0].sum()]) - after
            cuts.append((gain, (low + high) / 2, entropy(parts)))
        if cuts:
            gain, cut, spread = max(cuts, key=lambda c: c[0])
            gain -= np.log2(len(cuts)) / total
            if gain > 1e-9:
                found.append((gain, gain / spread, k, cut))
    if not found:
        return None
    enough = np.mean([f[0] for f in found]) - 1e-3
    _, _, k, cut = max((f for f in found if f[0] >= enough), key=lambda f: f[1])
    return k, cut


# Diverse Density and marginalized kernels (Kwok & Cheung 2007).


def density_cost(bags, y, w, h, s, noisy):
    """-sum_i w_i log(1 - |y_i - P_i|), product by product."""
    total = 0.0
    for bag, y_i, w_i in zip(bags, y, w, strict=True):
        p = [np.exp(-sum(s[k] ** 2 * (x[k] - h[k]) ** 2 for k in range(len(h)))) for x in bag]
        P = 1 - np.prod([1 - q for q in p]) if noisy else max(p)
        total -= w_i * np.log(1 - abs(y_i - P))
    return total


def marginalized(A, B, gamma, probability):
    """Sum over pairs of instances and both hidden labels."""
    return sum(
        (probability(a) * probability(b) + (1 - probability(a)) * (1 - probability(b))) * rbf(a, b, gamma)
        for a in A
        for b in B
    )


def marginalized_targets(A, B, gamma, responses, weights, overlap):
    """Sum over pairs of instances and pairs of hypotheses."""

    def Z(u):
        return 0.5 + u - u * u

    total = 0.0
    for a in A:
        for b in B:
            for u, p in zip(responses(a), weights, strict=True):
                for v, q in zip(responses(b), weights, strict=True):
                    total += rbf(a, b, gamma) * p * q * overlap(u, v) / (Z(u) * Z(v))
    return total


# Aggregate posteriors (PPMM), Citation-kNN, APR


def alignment(psi, p, y):
    """Alignment of the PPMM kernel with yy', with both matrices written out."""
    K = np.array([[np.sum(a**p * b**p) for b in psi] for a in psi])
    T = np.outer(y, y)
    return np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T))


def hausdorff(A, B, distance):
    D = np.array([[np.sqrt(np.sum((a - b) ** 2)) for b in B] for a in A])
    if distance == "minimal":
        return D.min()
    if distance == "maximal":
        return max(D.min(axis=0).max(), D.min(axis=1).max())
    return (D.min(axis=0).sum() + D.min(axis=1).sum()) / (len(A) + len(B))


def citation_votes(train, y, query, R, C, distance):
    """Votes for 0 and 1 by ranking every bag among all others."""
    votes = np.zeros(2)
    d = [hausdorff(query, b, distance) for b in train]
    for i, b in enumerate(train):
        votes[y[i]] += sum(other < d[i] for other in d) < R
        others = [hausdorff(b, c, distance) for j, c in enumerate(train) if j != i]
        votes[y[i]] += sum(other < d[i] for other in others) < C
    return votes


def smallest_box(bags):
    """Smallest sum of sides over every choice of one instance per bag."""
    from itertools import product

    return min(np.ptp(np.array(choice), axis=0).sum() for choice in product(*bags))


def grown_box(bags, start):
    """One instance of each bag, from bag and number ``start`` on: the cheapest first, then replaced."""

    def growth(x, others):
        P = np.array(others)
        return np.maximum(np.maximum(P.min(axis=0) - x, x - P.max(axis=0)), 0).sum() if others else 0.0

    def cheapest(i):
        others = [bags[j][a] for j, a in chosen.items() if j != i]
        return min((growth(x, others), a) for a, x in enumerate(bags[i]))

    chosen = {start[0]: start[1]}
    while len(chosen) < len(bags):
        _, bag, a = min(
            (size, i, a) for i in range(len(bags)) if i not in chosen for size, a in [cheapest(i)]
        )
        chosen[bag], changed = a, True
        while changed:
            changed = False
            for i in sorted(chosen):
                size, a = cheapest(i)
                others = [bags[j][b] for j, b in chosen.items() if j != i]
                if size < growth(bags[i][chosen[i]], others) * (1 - 1e-12):
                    chosen[i], changed = a, True
    return np.array([bags[i][chosen[i]] for i in range(len(bags))])


# Box counting: every box of the grid, one by one


def boxes(s):
    """All boxes of the grid {0..s_1} x ... x {0..s_d} as lists of (lower, upper)."""
    sides = [[(a, b) for a in range(n + 1) for b in range(a, n + 1)] for n in s]
    return itertools.product(*sides)


def box_counts(P, Q, s):
    """k_and, k_or and k_min by looking at every box."""

    def inside(bag, box):
        return sum(all(a <= x <= b for x, (a, b) in zip(p, box, strict=True)) for p in bag)

    counts = [(inside(P, b), inside(Q, b)) for b in boxes(s)]
    return {
        "and": sum(p > 0 and q > 0 for p, q in counts),
        "or": sum(p > 0 or q > 0 for p, q in counts),
        "min": sum(min(p, q) for p, q in counts),
    }


def local_box_kernel(bags, s, n_features, kind):
    """Sum over boxes that bound so many features of the mean of 1 / |F(p)| over the points p inside."""
    points, d = np.vstack(bags), len(s)
    subsets = list(itertools.combinations(range(d), n_features))
    K = np.zeros((len(bags), len(bags)))
    for subset in subsets:
        for box in boxes([s[k] for k in subset]):

            def within(p, box=box, subset=subset):
                return all(a <= p[k] <= b for k, (a, b) in zip(subset, box, strict=True))

            held = [p for p in points if within(p)]
            if not held:
                continue
            around = [np.prod([(p[k] + 1) * (s[k] - p[k] + 1) for k in subset]) for p in held]
            weight = np.mean([1 / n for n in around]) / len(subsets)
            inside = np.array([sum(within(p) for p in b) for b in bags])
            inside = inside if kind == "min" else (inside > 0).astype(int)
            K += weight * np.minimum.outer(inside, inside)
    return K


def repaired(K, repair):
    """A symmetric matrix without negative eigenvalues, one eigenvector at a time."""
    values, vectors = np.linalg.eigh(K)
    f = {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - min(values.min(), 0)}[
        repair
    ]
    return sum(v * np.outer(u, u) for v, u in zip(f, vectors.T, strict=True))


def relevant_graph_kernel(A, B, gamma, tau):
    """miGraph with the distance of eq. 15 of Xu, Ting & Zhou for edges and RBF."""

    def weights(bag):
        D = np.array([[relevant_distance(x, y) for y in bag] for x in bag])
        return [1 / sum(i == j or D[i, j] < tau for j in range(len(bag))) for i in range(len(bag))]

    u, v = weights(A), weights(B)
    total = sum(
        p * q * np.exp(-gamma * relevant_distance(a, b) ** 2)
        for a, p in zip(A, u, strict=True)
        for b, q in zip(B, v, strict=True)
    )
    return total / (sum(u) * sum(v))
