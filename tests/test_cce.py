"""CCE: presence vectors, votes and their ties, sparse features, several classes, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skmil import Bags
from skmil.learners import CCE
from skmil.learners.cce import _visits


def test_presence_of_clusters(toy):
    X, y = toy
    model = CCE(n_clusters=(3, 7), random_state=0).fit(X, y)
    for clustering, d in zip(model.clusterings_, (3, 7), strict=True):
        expected = np.zeros((len(X), d))
        for i, bag in enumerate(X):
            for x in bag:
                nearest = np.argmin(((clustering.cluster_centers_ - x) ** 2).sum(axis=1))
                expected[i, nearest] = 1
        assert_array_equal(_visits(X, clustering), expected)


@pytest.mark.parametrize("k", [2, 3])
def test_the_majority_decides(toy, k):
    X, y = toy
    y = y if k == 2 else np.where(np.arange(40) % 5 == 0, 2, y)
    model = CCE(n_clusters=(2, 3, 4, 5, 6), random_state=0).fit(X, y)
    members = zip(model.clusterings_, model.estimators_, strict=True)
    votes = np.array([e.predict(_visits(X, c)) for c, e in members])
    counts = np.array([(votes == c).sum(axis=0) for c in range(k)])
    clear = np.sort(counts, axis=0)[-1] > np.sort(counts, axis=0)[-2]
    assert clear.sum() > 30
    if k == 2:
        assert_array_equal(model.predict(X)[clear], counts.argmax(axis=0)[clear])
    else:  # one-against-one votes of SVC may differ from its decision function in ties
        assert np.mean(model.predict(X)[clear] == counts.argmax(axis=0)[clear]) > 0.9


def test_one_member_is_its_classifier(toy):
    X, y = toy
    model = CCE(n_clusters=(6,), estimator=LogisticRegression(), random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), model.estimators_[0].predict(_visits(X, model.clusterings_[0])))


def test_sparse_features(toy):
    X, y = toy
    thin = Bags(sparse.csr_matrix(X.instances), X.offsets)
    model = CCE((3, 5), random_state=0)
    assert_allclose(model.fit(thin, y).decision_function(thin), model.fit(X, y).decision_function(X))


def test_more_clusters_than_different_instances():
    X = [[[0.0], [0.0]], [[1.0]], [[0.0]], [[1.0], [1.0]]]
    model = CCE((2, 50), random_state=0).fit(X, [0, 1, 0, 1])
    assert_array_equal(model.predict(X), [0, 1, 0, 1])


@pytest.mark.parametrize("numbers", [(), (0,), (2, 2.5)])
def test_bad_numbers(toy, numbers):
    with pytest.raises(ValueError, match="give one or more integers"):
        CCE(numbers).fit(*toy)
