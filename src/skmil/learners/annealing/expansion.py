"""What the machines on instances share: the kernel, its Gram matrix or features, and f as an expansion."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skmil._engines import instance_gram
from skmil._engines.pairs import InstanceKernel
from skmil._engines.widths import resolve_gamma
from skmil._moments import mostly_zero
from skmil.learners.annealing.dual import DualMachine
from skmil.learners.annealing.primal import PrimalMachine
from skmil.learners.base import BinaryBagClassifier, groupwise


class InstanceExpansion(BinaryBagClassifier):
    """A learner with ``f(x) = sum of coef_ k(x, support_instances_) + intercept_``.

    It has the parameters ``kernel``, ``gamma``, ``gamma_factor``, ``degree``, ``coef0``, ``n_components``
    and ``random_state``.
    """

    @groupwise
    def _instances(self, bags):
        """The f of each instance, exactly: the bag's decision value is the largest, or the mean."""
        X = self._centred(bags)
        if self.support_instances_ is None:
            return X @ self.coef_ + self.intercept_
        if not len(self.coef_):
            return np.full(X.shape[0], self.intercept_)
        return instance_gram.expand(self.kernel_, X, self.support_instances_, self.coef_) + self.intercept_

    def _centred(self, bags):
        return bags.instances if self.origin_ is None else bags.to_dense().instances - self.origin_

    def _machine(self, bags, w, loss, tol):
        """The solver of an SVM, on the Gram matrix or on features, and what these are made of."""
        self.kernel_ = self._kernel(bags, w)
        # Distances keep their digits if the origin lies among the instances.
        centred = self.kernel_.kind == "rbf" and not bags.is_sparse
        self.origin_ = bags.instances.mean(axis=0) if centred else None
        X = self._centred(bags)
        r = instance_gram.n_landmarks(self.n_components, X.shape[0])
        self.kernel_error_ = 0.0
        if instance_gram.is_primal(self.kernel_, bags):
            return PrimalMachine(X, loss, tol, 1000), None
        if r is not None:
            Z, landmarks = instance_gram.nystroem(self.kernel_, X, r, self.random_state)
            self.kernel_error_ = instance_gram.left_out(self.kernel_, X, Z)
            return PrimalMachine(Z, loss, tol, 1000), landmarks
        K = instance_gram.gram(self.kernel_, X)
        return DualMachine(K, loss, tol, max(10**6, 100 * len(K))), None

    def _kernel(self, bags, w) -> InstanceKernel:
        if isinstance(self.kernel, InstanceKernel):
            return self.kernel
        kind = self.kernel
        if kind == "auto":
            kind = "linear" if mostly_zero(bags) else "rbf"
        gamma = resolve_gamma(self.gamma, bags, w) if kind in ("rbf", "poly") else 1.0
        return InstanceKernel(kind, self.gamma_factor * gamma, self.degree, self.coef0)

    def _keep_machine(self, bags, machine, landmarks) -> None:
        self.intercept_, coef = machine.intercept, machine.coef
        if isinstance(machine, DualMachine):
            support = np.flatnonzero(coef)
            self.support_instances_, self.coef_ = self._centred(bags)[support], coef[support]
        elif landmarks is not None:
            self.support_instances_, self.coef_ = landmarks.instances, landmarks.basis @ coef
        else:
            self.support_instances_, self.coef_ = None, coef

    def _warn_unsolved(self, machine) -> None:
        if not machine.converged:
            name = type(self).__name__
            text = f"{name}: the last SVM ran out of iterations; scale the features or lower C"
            warnings.warn(text, ConvergenceWarning, stacklevel=5)
