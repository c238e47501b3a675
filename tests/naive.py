"""Slow and obvious twins of everything that is fast: loops over bags, instances and features."""

import numpy as np


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


def isolation_weights(S, H, epsilon, distance):
    if epsilon is None:
        return np.full(len(S), 1 / len(S))
    W = [1 / sum(isolation_kernel(x, y, H, distance) > epsilon for y in S) for x in S]
    return np.array(W) / sum(W)


def isolation_set_kernel(S, T, H, epsilon, distance):
    u, v = isolation_weights(S, H, epsilon, distance), isolation_weights(T, H, epsilon, distance)
    return sum(
        u[a] * v[b] * isolation_kernel(S[a], T[b], H, distance)
        for a in range(len(S))
        for b in range(len(T))
    )


def isolation_features(S, H, epsilon, distance):
    w = isolation_weights(S, H, epsilon, distance)
    v = [np.zeros(len(h)) for h in H]
    for x, weight in zip(S, w, strict=True):
        for h, row in zip(H, v, strict=True):
            row[cell(x, h, distance)] += weight
    return np.concatenate(v)


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
