"""Laws that hold for every kernel, embedding and learner, on the same small bags."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from skmil import Bags, threads
from tests.catalogue import CLASSIFIERS, EMBEDDINGS, INDEFINITE, KERNELS, REGRESSORS

labels = [0, 1, 0, 1, 1, 0, 1, 0, 1]


def dense(Z):
    return Z.toarray() if hasattr(Z, "toarray") else np.asarray(Z)


def shuffled(bags, seed=0):
    """The same bags with their instances in another order."""
    rng = np.random.default_rng(seed)
    return Bags.from_list([b[rng.permutation(len(b))] for b in bags])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
class TestKernels:
    def test_symmetric(self, kernel, bags):
        K = clone(kernel).fit_transform(bags, labels)
        assert K.shape == (9, 9) and np.isfinite(K).all()
        assert_array_equal(K, K.T)

    def test_positive_semidefinite(self, kernel, bags):
        if isinstance(kernel, INDEFINITE):
            pytest.skip("indefinite by nature")
        K = clone(kernel).fit_transform(bags, labels)
        assert np.linalg.eigvalsh(K).min() > -1e-9 * np.trace(K)

    def test_diagonal(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        assert_allclose(k.diag(bags), k(bags).diagonal(), rtol=1e-10)

    def test_cross_is_a_block_of_the_whole(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        assert_allclose(k(bags[:4], bags[2:]), k(bags)[:4, 2:], rtol=1e-9, atol=1e-12)
        assert_allclose(k.transform(bags[:4]), k(bags)[:4], rtol=1e-9, atol=1e-12)

    def test_order_of_instances_does_not_matter(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        assert_allclose(k(shuffled(bags)), k(bags), rtol=1e-9)

    def test_lists_are_bags(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        assert_allclose(k(list(bags)), k(bags), rtol=1e-12)

    def test_same_bits_on_any_number_of_threads(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        with threads(1):
            one = k(bags)
        with threads(2):
            assert_array_equal(k(bags), one)

    def test_pickle(self, kernel, bags):
        k = clone(kernel).fit(bags, labels)
        assert_allclose(pickle.loads(pickle.dumps(k))(bags), k(bags), rtol=1e-12)


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=repr)
class TestEmbeddings:
    def test_one_row_per_bag(self, embedding, bags):
        Z = dense(clone(embedding).fit_transform(bags, labels))
        assert Z.shape[0] == 9 and np.isfinite(Z).all()

    def test_a_block_of_bags_gives_a_block_of_rows(self, embedding, bags):
        e = clone(embedding).fit(bags, labels)
        assert_allclose(dense(e.transform(bags[3:6])), dense(e.transform(bags))[3:6], rtol=1e-9, atol=1e-12)

    def test_order_of_instances_does_not_matter(self, embedding, bags):
        e = clone(embedding).fit(bags, labels)
        assert_allclose(dense(e.transform(shuffled(bags))), dense(e.transform(bags)), rtol=1e-9, atol=1e-12)

    def test_pickle(self, embedding, bags):
        e = clone(embedding).fit(bags, labels)
        assert_array_equal(dense(pickle.loads(pickle.dumps(e)).transform(bags)), dense(e.transform(bags)))

    def test_contributions_add_up(self, embedding, bags):
        if not hasattr(embedding, "contributions"):
            pytest.skip("not additive")
        e = clone(embedding).fit(bags, labels)
        Z = dense(e.transform(bags))
        w = np.random.default_rng(0).normal(size=Z.shape[1])
        assert_allclose([c.sum() for c in e.contributions(bags, w)], Z @ w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=repr)
class TestClassifiers:
    def test_learns_and_keeps_the_labels(self, learner, toy):
        X, y = toy
        names = np.array(["no", "yes"])[y]
        model = clone(learner).fit(X, names)
        assert set(model.predict(X)) <= {"no", "yes"}
        assert model.score(X, names) > 0.7

    def test_decision_and_prediction_agree(self, learner, toy):
        X, y = toy
        model = clone(learner).fit(X, y)
        assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))

    def test_more_than_two_classes(self, learner, toy):
        X, y = toy
        y = np.where(np.arange(40) % 5 == 0, 2, y)
        model = clone(learner).fit(X, y)
        assert model.decision_function(X).shape == (40, 3)
        assert set(model.predict(X)) <= {0, 1, 2}
        assert [len(s) for s in model.score_instances(X[:4])] == X.sizes[:4].tolist()

    def test_instance_scores(self, learner, toy):
        X, y = toy
        scores = clone(learner).fit(X, y).score_instances(X)
        assert [len(s) for s in scores] == X.sizes.tolist()
        assert all(np.isfinite(s).all() for s in scores)
        # The planted instance is the first of each positive bag.
        found = [np.argmax(s) == 0 for s, label in zip(scores, y, strict=True) if label == 1]
        assert np.mean(found) > 0.6

    def test_weights_and_class_weight(self, learner, toy):
        X, y = toy
        model = clone(learner).fit(X, y, sample_weight=np.linspace(0.5, 2, 40))
        assert model.score(X, y) > 0.6
        if "class_weight" in learner.get_params():
            weights = [{0: 50, 1: 1}, None, {0: 1, 1: 50}]
            fits = [clone(learner).set_params(class_weight=w).fit(X, y) for w in weights]
            light, plain, heavy = (fitted.predict(X).sum() for fitted in fits)
            assert light <= plain <= heavy

    def test_model_selection(self, learner, toy):
        X, y = toy
        assert len(cross_val_score(clone(learner), list(X), y, cv=2)) == 2
        train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
        assert isinstance(train, Bags) and len(test) == len(y_test)
        name = "estimator__class_weight" if "estimator" in learner.get_params() else "class_weight"
        name = "class_weight" if "class_weight" in learner.get_params() else name
        search = GridSearchCV(clone(learner), {name: [None, "balanced"]}, cv=2)
        assert search.fit(train, y_train).score(test, y_test) > 0.3

    def test_pickle(self, learner, toy):
        X, y = toy
        model = clone(learner).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("learner", REGRESSORS, ids=repr)
class TestRegressors:
    def test_learns_on_the_scale_of_y(self, learner, toy):
        X, y = toy
        target = 1000.0 + 50 * y
        model = clone(learner)
        if "C" in model.get_params():
            model.set_params(C=1000.0)
        assert model.fit(X, target).score(X, target) > 0.3

    def test_instance_scores(self, learner, toy):
        X, y = toy
        scores = clone(learner).fit(X, y.astype(float)).score_instances(X)
        assert [len(s) for s in scores] == X.sizes.tolist()

    def test_pickle(self, learner, toy):
        X, y = toy
        model = clone(learner).fit(X, y.astype(float))
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
