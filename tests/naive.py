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
