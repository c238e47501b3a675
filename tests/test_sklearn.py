"""scikit-learn's own checks, for every estimator of the package."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.catalogue import (
    CLASSIFIERS,
    EMBEDDINGS,
    EXPECTED_FAILURES,
    KERNELS,
    PREPROCESSORS,
    REGRESSORS,
)


@parametrize_with_checks(
    KERNELS + EMBEDDINGS + PREPROCESSORS + CLASSIFIERS + REGRESSORS,
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's checks try tiny and degenerate data on purpose
        check(estimator)
