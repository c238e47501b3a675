"""The estimator that needs no choice: what it blends, what it says, and that nothing stops it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import brier_score_loss
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import skmil
from skmil import Bags
from skmil.cli import main
from skmil.datasets import make_counts
from skmil.embeddings import IsolationEmbedding, MeanEmbedding
from skmil.formats import write_bags
from skmil.learners import DD, AutoClassifier, AutoRegressor, BlendKernel, EmbeddingKernel
from skmil.learners.auto import blend, estimator
from skmil.learners.auto.blend import predicted, weigh
from skmil.learners.auto.decision import DecisionKernel
from skmil.learners.auto.machine import decisions, machines
from skmil.learners.auto.parts import parts_for
from tests.test_explanation import planted


def noise(n, seed, d=3, share=0.5):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < share * n).astype(int)
    return Bags.from_list([rng.normal(size=(rng.integers(1, 6), d)) for _ in y]), y


def test_what_a_kernel_predicts_is_what_refits_without_each_bag_give(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 12)
    Z = rng.normal(size=(12, 3)) + y[:, None]
    Z -= Z.mean(axis=0)
    K, penalty = Z @ Z.T / 3, 0.3
    monkeypatch.setattr(blend, "RIDGES", (penalty,))
    for labels in (y, y + rng.normal(size=12)):
        Y = labels[:, None] if labels.dtype.kind == "f" else (labels[:, None] == np.unique(labels)) * 1.0
        Y = Y - Y.mean(axis=0)
        error = alone = 0.0
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            A = K[np.ix_(rest, rest)] + 1.0 + penalty * np.eye(11)
            found = (K[i, rest] + 1.0) @ np.linalg.solve(A, Y[rest])
            error += (Y[i] - found) ** 2
            alone += (Y[i] - Y[rest].mean(axis=0)) ** 2
        assert_allclose(predicted(K, labels), np.maximum(0, 1 - error / alone), rtol=1e-9)
        nothing = predicted(np.eye(12), labels)
        assert (nothing >= 0).all() and (nothing < 0.03).all()


def test_a_part_that_tells_one_class_counts_as_much_as_one_that_tells_a_little_of_each():
    y = np.arange(40) % 4
    one, noise = np.where(y == 2, 1.0, -1 / 3), np.random.default_rng(0).normal(size=40)
    grams = [np.outer(z, z) / np.mean(z**2) for z in (one, noise - noise.mean())]
    told = predicted(grams[0], y)
    assert told[2] > 0.9 and told.mean() < 0.5
    floor = blend.FLOOR**blend.POWER
    found = [np.mean((predicted(K, y) + blend.FLOOR) ** blend.POWER) for K in grams]
    assert_allclose(weigh(grams, y, [1.0, 1.0]), found / np.sum(found))
    assert found[0] > 0.2 and found[1] < 100 * floor


def test_the_blend_is_the_weighted_sum_of_its_parts(toy):
    X, y = toy
    k = BlendKernel(random_state=0)
    K = k.fit_transform(X, y)
    H = np.eye(len(X)) - 1 / len(X)
    total, seen = np.zeros_like(K), np.zeros_like(K)
    weights = {row["part"]: row["weight"] for row in k.leaderboard_}
    for m in k.members_:
        part = H @ _training_gram(m.kernel, k.scalers_[m.scaling].transform(X)) @ H
        total += weights[m.name] * part / (np.trace(part) / len(X))
        if not isinstance(m.kernel, DecisionKernel):
            seen += weights[m.name] * part / (np.trace(part) / len(X))
    assert_allclose(K, total, atol=1e-9)
    assert sum(weights.values()) == pytest.approx(1)
    assert 0 < np.abs(total - seen).max()
    k.members_ = [m for m in k.members_ if not isinstance(m.kernel, DecisionKernel)]
    rows = k.transform(X)
    assert_allclose(rows - rows.mean(axis=1, keepdims=True), seen, atol=1e-9)


def _training_gram(kernel, X):
    """Training bags have the decisions of machines that have not seen them."""
    return np.outer(kernel.values_, kernel.values_) if isinstance(kernel, DecisionKernel) else kernel(X)


def test_instance_scores_add_up_where_views_are_sums(toy, monkeypatch):
    X, y = toy
    monkeypatch.setattr(
        blend, "parts_for", lambda bags, y, seed: _only(bags, y, seed, ("set kernel", "isolation"))
    )
    model = AutoClassifier().fit(X, y)
    total = np.array([s.sum() for s in model.score_instances(X)])
    rest = model.decision_function(X) - total
    assert_allclose(rest, rest[0], atol=1e-8)


def _only(bags, y, seed, names):
    return [p for p in parts_for(bags, y, seed) if p.name.startswith(names)]


def test_the_planted_instance_is_found():
    X, y, _ = planted(0, 120)
    T, truth, place = planted(1, 60)
    model = AutoClassifier().fit(X, y)
    assert model.score(T, truth) > 0.95
    scores = model.score_instances(T)
    assert np.mean([scores[i].argmax() == place[i] for i in np.flatnonzero(truth)]) > 0.9


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_without_signal_probabilities_are_the_base_rate(share):
    X, y = noise(120, 0, share=share)
    T, _ = noise(60, 1)
    P = AutoClassifier().fit(X, y).predict_proba(T)[:, 1]
    assert abs(P.mean() - y.mean()) < 0.1 and P.std() < 0.12


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)

    def draw(n):
        level = rng.normal(size=n)
        X = Bags.from_list([rng.normal(v, 0.5, size=(4, 2)) for v in level])
        return X, (rng.random(n) < 1 / (1 + np.exp(-1.5 * level))).astype(int), level

    X, y, _ = draw(200)
    T, truth, _ = draw(400)
    P = AutoClassifier().fit(X, y).predict_proba(T)[:, 1]
    assert brier_score_loss(truth, P) < brier_score_loss(truth, np.full(400, y.mean())) - 0.02
    for low, high in ((0.0, 0.35), (0.35, 0.65), (0.65, 1.0)):
        inside = (low <= P) & (high > P)
        assert abs(truth[inside].mean() - P[inside].mean()) < 0.15


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_price_taken_is_that_of_the_best_probabilities(toy, monkeypatch, best):
    X, y = toy
    rng = np.random.default_rng(0)

    def told(self, prices, codes, w, Z, a, b):
        noise = rng.normal(size=(len(prices), len(b), 1))
        noise[best] = 2.0 * codes[b, None] - 1 + 0.1 * noise[best]
        return list(noise)

    monkeypatch.setattr(AutoClassifier, "_told", told)
    model = AutoClassifier().fit(X, y)
    assert model.C_ == estimator.PRICES[best]


def unit_kernel(n, seed=0):
    Z = np.random.default_rng(seed).normal(size=(n, 4))
    Z -= Z.mean(axis=0)
    return Z @ Z.T / 4


def test_the_machine_for_two_classes_is_that_of_libsvm():
    K, codes, w = unit_kernel(40), np.arange(40) % 2, np.linspace(0.5, 2, 40)
    for C, found in zip((1.0, 10.0), machines(K, codes, w, (1.0, 10.0), 2), strict=True):
        svm = SVC(kernel="precomputed", C=C).fit(K, codes, sample_weight=w)
        assert_allclose(decisions(K[:7], found)[:, 0], svm.decision_function(K[:7]), atol=1e-9)
        assert found[0].sum() == pytest.approx(0, abs=1e-9)


def test_the_machine_for_more_classes_is_weighted_least_squares():
    K, codes, w = unit_kernel(30), np.arange(30) % 3, np.linspace(0.5, 2, 30)
    for C, (alpha, offsets) in zip((1.0, 10.0), machines(K, codes, w, (1.0, 10.0), 3), strict=True):
        for k in range(3):  # the derivatives by f and by the offset are zero
            y = np.where(codes == k, 1.0, -1.0)
            system = np.block(
                [[K + np.diag(1 / (C * w)), np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]]
            )
            *expected, offset = np.linalg.solve(system, np.append(y, 0.0))
            assert_allclose(alpha[:, k], expected, atol=1e-9)
            assert offsets[k] == pytest.approx(offset)


def test_every_class_of_many_has_a_part_in_the_machine():
    X, y, _ = planted(0, 120, classes=3)
    T, truth, _ = planted(1, 80, classes=3)
    model = AutoClassifier().fit(X, y)
    assert model.alpha_.shape == (120, 3) and model.offsets_.shape == (3,)
    assert model.score(T, truth) > 0.9
    assert_allclose(model.alpha_.sum(axis=0), 0, atol=1e-8)


@pytest.mark.parametrize("sparse_vectors", [False, True])
@pytest.mark.parametrize("power", [0.25, 1.0])
def test_vectors_as_they_are_have_the_kernel_of_scikit_learn(sparse_vectors, power):
    rng = np.random.default_rng(0)
    tables = [np.where(rng.random((3, 20)) < 0.3, rng.random((3, 20)), 0.0) for _ in range(12)]
    X = Bags.from_list([sparse.csr_matrix(t) for t in tables] if sparse_vectors else tables)
    k = EmbeddingKernel(MeanEmbedding(), standardized=False, power=power)
    Z = np.array([t.mean(axis=0) for t in tables])
    D = euclidean_distances(Z, squared=True)
    expected = rbf_kernel(Z, gamma=power / np.median(D[np.triu_indices(12, 1)]))
    assert_allclose(k.fit_transform(X), expected, atol=1e-12)
    assert_allclose(k.transform(X[:5]), expected[:5], atol=1e-12)
    assert_allclose(k(X[3:], X[:2]), expected[3:, :2], atol=1e-12)


def test_an_offset_must_be_worth_it():
    rng = np.random.default_rng(0)
    positive = rng.random(80) < 0.5
    scores = np.where(positive, 1.0, -1.0) + rng.normal(size=80)
    for price in (1.0, 7.0):  # a weight for all is no evidence
        a, b = estimator.platt(scores, positive, np.full(80, price))
        assert a < 0 and b == 0
        a, b = estimator.platt(scores - 2.0, positive, np.full(80, price))
        assert b == pytest.approx(2.0 * a, rel=0.3)


def test_the_most_probable_class_is_predicted(toy):
    X, y = toy
    for labels in (y, np.arange(40) % 3):
        model = AutoClassifier().fit(X, labels)
        P = model.predict_proba(X)
        assert_allclose(P.sum(axis=1), 1)
        assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])


class TestAnyData:
    def test_sparse_texts(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        tables = [sparse.random(4, 500, 0.02, random_state=i, format="lil") for i in range(60)]
        for t, label in zip(tables, y, strict=True):
            t[0, 7 * label] = 1.0 + rng.random()
        X = Bags.from_list([t.tocsr() for t in tables])
        model = AutoClassifier().fit(X[:40], y[:40])
        assert model.score(X[40:], y[40:]) > 0.9
        assert X.is_sparse and all(s.shape == (4,) for s in model.score_instances(X[:3]))

    def test_two_features_of_bags_of_one(self):
        X, y = noise(40, 0, d=2)
        X = X.one_by_one()[:40]
        shifted = Bags(X.instances + 3.0 * y[:, None], X.offsets)
        assert AutoClassifier().fit(shifted, y).score(shifted, y) > 0.9

    def test_constant_features(self):
        y = np.arange(20) % 2
        flat = Bags(np.ones((60, 3)), np.arange(0, 61, 3))
        model = AutoClassifier().fit(flat, y)
        assert_allclose(model.predict_proba(flat), 0.5, atol=0.02)
        assert all("tells no bags apart" in row["note"] for row in model.leaderboard_)

    def test_large_bags(self):
        rng = np.random.default_rng(0)
        y = np.arange(12) % 2
        X = Bags.from_list([rng.normal(0.5 * label, 1, size=(5000, 2)) for label in y])
        model = AutoClassifier(time_budget=1.0).fit(X, y)
        assert model.score(X, y) == 1
        assert any("no time" in row["note"] for row in model.leaderboard_)

    def test_many_bags_have_landmarks(self, monkeypatch):
        monkeypatch.setattr(estimator, "MOST_BAGS", 100)
        monkeypatch.setattr(estimator, "LANDMARKS", 60)
        X, y, _ = planted(0, 300, classes=3)
        T, truth, _ = planted(1, 60, classes=3)
        model = AutoClassifier().fit(X, y)
        assert len(model.landmarks_) == 60 and model.score(T, truth) > 0.9
        assert_allclose(model.predict_proba(T).sum(axis=1), 1)
        target = truth * 2.0
        assert AutoRegressor().fit(X, y * 2.0).score(T, target) > 0.8

    def test_a_class_of_one_bag(self, toy):
        X, y = toy
        labels = np.where(np.arange(40) == 3, "odd", np.where(y == 1, "a", "b"))
        assert AutoClassifier().fit(X, labels).predict_proba(X).shape == (40, 3)


def test_a_part_that_fails_does_not_stop_the_others(toy, monkeypatch):
    X, y = toy
    from skmil.kernels import GraphKernel

    def broken(self, *args):
        raise ValueError("a graph without edges")

    monkeypatch.setattr(GraphKernel, "_gram", broken)
    model = AutoClassifier().fit(X, y)
    row = next(r for r in model.leaderboard_ if r["part"] == "graph, wide")
    assert row["note"] == "failed: a graph without edges" and row["weight"] == 0
    assert model.score(X, y) > 0.9


def test_same_seed_same_bits_on_any_threads(toy):
    X, y = toy
    found = []
    for n in (1, 2):
        with skmil.threads(n):
            found.append(clone(AutoClassifier(random_state=3)).fit(X, y).decision_function(X))
    assert_array_equal(*found)


def test_regression(toy):
    X, _ = toy
    y = np.array([b[:, 0].max() for b in X])
    model = skmil.method("auto", "regression").fit(X[:30], y[:30])
    assert model.score(X[30:], y[30:]) > 0.5
    assert len(model.score_instances(X)) == len(X)


def test_fit_shows_the_leaderboard(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_bags("t.csv", *toy)
    assert main(["fit", "t.csv", "m.skops"]) == 0
    said = capsys.readouterr().out
    assert "m.skops: auto" in said and "set kernel, middle" in said and "weight" in said
    assert main(["predict", "m.skops", "t.csv", "--proba"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "bag,prediction,score(1),P(0),P(1)"


def test_the_page_of_an_explanation_shows_the_leaderboard(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_bags("t.csv", *toy)
    assert main(["fit", "t.csv", "m.skops"]) == 0
    assert main(["explain", "m.skops", "t.csv", "--html", "p.html"]) == 0
    told = (tmp_path / "p.html").read_text("utf-8")
    assert "What the model looked at" in told and "isolation, 64 cells" in told


def test_words_of_a_text_and_not_the_size_of_the_dictionary_decide_what_there_is_time_for():
    rng = np.random.default_rng(0)
    tables = [sparse.random(10, 60_000, 2e-4, random_state=i, format="csr") for i in range(60)]
    model = AutoClassifier(time_budget=20.0).fit(Bags.from_list(tables), rng.integers(0, 2, 60))
    assert not [row["part"] for row in model.leaderboard_ if "no time" in row["note"]]


def test_counts_are_learned_by_the_view_that_counts():
    X, y = make_counts(n_bags=300, random_state=0, return_X_y=True)
    model = AutoClassifier().fit(X[:200], y[:200])
    assert model.leaderboard_[0]["part"] == "boxes, counts"
    assert model.score(X[200:], y[200:]) > 0.65


def test_many_draws_of_noise_give_the_base_rate():
    far = 0
    for seed in range(10):
        X, y = noise(60, seed, share=0.3)
        T, _ = noise(40, 100 + seed)
        P = AutoClassifier(random_state=seed).fit(X, y).predict_proba(T)[:, 1]
        far += np.abs(P - y.mean()).mean() > 0.15
    assert far <= 1


def test_a_bag_of_ten_thousand_among_small_ones():
    X, y, _ = planted(0, 60)
    rng = np.random.default_rng(0)
    large = Bags.from_list([*X, rng.normal(size=(10_000, X.n_features))])
    model = AutoClassifier(time_budget=20.0).fit(large, np.append(y, 0))
    assert model.score(X, y) > 0.9


def test_a_prediction_maps_no_training_bag_again(toy, monkeypatch):
    X, y = toy
    model = AutoClassifier().fit(X, y)
    seen, rows = [], []
    looked_up, mapped = IsolationEmbedding.products, IsolationEmbedding._transform
    monkeypatch.setattr(
        IsolationEmbedding, "products", lambda e, b, Q: seen.append(len(b)) or looked_up(e, b, Q)
    )
    monkeypatch.setattr(IsolationEmbedding, "_transform", lambda e, b: rows.append(len(b)) or mapped(e, b))
    model.predict(X[:1])
    assert seen and set(seen) == {1} and not rows


def test_the_budget_holds_what_comes_after_the_landmarks(monkeypatch):
    X, y, _ = planted(0, 200)
    few, many = (BlendKernel(60.0, repeats, random_state=0).fit(X, y) for repeats in (1.0, 1e4))
    assert not any("no time" in row["note"] for row in few.leaderboard_)
    assert any("no time" in row["note"] for row in many.leaderboard_) and many.members_


class TestDecisions:
    """A machine's own decision as a kernel: of bags that it has not seen, and only if it knows anything."""

    def one_instance_decides(self, n=60, seed=0):
        rng = np.random.default_rng(seed)
        X, y = [rng.normal(size=(rng.integers(4, 10), 10)) for _ in range(n)], np.arange(n) % 2
        for i in np.flatnonzero(y):
            X[i][0, :3] = 1.2 + 0.3 * rng.normal(size=3)
        return Bags.from_list(X), y

    def test_training_bags_have_decisions_of_machines_without_them(self):
        X, y = self.one_instance_decides()
        k = DecisionKernel(DD(max_starts=5, random_state=0), positive=1)
        K = k.fit_transform(X, y)
        told = np.empty(len(y))
        for a, b in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
            told[b] = DD(max_starts=5, random_state=0).fit(X[a], y[a] == 1).decision_function(X[b])
        z = (told - told.mean()) / told.std()
        assert_allclose(K, np.outer(z, z), atol=1e-9)
        new = (k.machine_.decision_function(X) - told.mean()) / told.std()
        assert_allclose(k.transform(X), np.outer(np.clip(new, z.min(), z.max()), z), atol=1e-9)
        k.restrict([1, 3])
        assert k.transform(X).shape == (len(X), 2)

    def test_decisions_that_fall_as_labels_rise_say_nothing(self):
        class Contrary(DD):
            def decision_function(self, X):
                return -super().decision_function(X)

        X, y = self.one_instance_decides()
        for machine, says_something in ((DD, True), (Contrary, False)):
            k = DecisionKernel(machine(max_starts=5, random_state=0), positive=1)
            assert k.fit_transform(X, y).any() == says_something

    @pytest.mark.parametrize("flipped", [False, True])
    def test_auto_finds_the_instance_that_decides_whichever_class_has_it(self, flipped):
        X, y = self.one_instance_decides(200)
        y = 1 - y if flipped else y
        model = AutoClassifier().fit(X[:120], y[:120])
        assert f"point of class {int(not flipped)}" in [row["part"] for row in model.leaderboard_[:3]]
        assert model.score(X[120:], y[120:]) > 0.8
        scores = model.score_instances(X[120:])
        holds = np.flatnonzero(y[120:] != flipped)
        first = [np.argmax(-scores[i] if flipped else scores[i]) == 0 for i in holds]
        assert np.mean(first) > 0.8

    def test_targets_have_points_too(self):
        X, y = self.one_instance_decides()
        rng = np.random.default_rng(1)
        target = y + 0.05 * rng.normal(size=len(y))
        parts = [row["part"] for row in AutoRegressor().fit(X, target).leaderboard_]
        assert "target point" in parts

    def test_few_bags_texts_and_more_classes_have_no_points(self):
        X, y = self.one_instance_decides()
        rare = Bags(sparse.csr_matrix(np.where(X.instances > 2.2, X.instances, 0.0)), X.offsets)
        for bags, labels in ((X[:8], y[:8]), (rare, y), (X, np.arange(60) % 3)):
            tried = AutoClassifier().fit(bags, labels).leaderboard_
            assert not any("point" in row["part"] for row in tried)

    def test_each_of_more_classes_that_has_bags_enough_has_witnesses(self):
        X, y = self.one_instance_decides(90)
        X = Bags.from_list([b + [0, 0, 0, 8.0 * (i % 3 == 2), *[0] * 6] for i, b in enumerate(X)])
        labels = np.array(["no", "yes", "far"])[np.where(np.arange(90) % 3 == 2, 2, y)]
        labels[:4] = "odd"
        tried = {row["part"]: row for row in AutoClassifier().fit(X, labels).leaderboard_}
        for name in ("AW-SVM", "MICA"):
            classes = {part.removeprefix(f"{name} of class ") for part in tried if part.startswith(name)}
            assert classes == {"no", "yes", "far"}
        assert tried["AW-SVM of class far"]["weight"] > 0.01

    def test_a_great_many_classes_have_none(self):
        X = Bags(np.random.default_rng(0).normal(size=(140, 2)), np.arange(0, 141, 2))
        for n_classes, offered in ((10, 20), (11, 0)):
            y = np.arange(70) % n_classes
            found = [p for p in parts_for(X, y, 0) if isinstance(p.kernel, DecisionKernel)]
            assert len(found) == offered

    def test_texts_have_witnesses_and_nothing_standardised(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        tables = [np.where(rng.random((5, 80)) < 0.05, rng.random((5, 80)), 0.0) for _ in y]
        for t, label in zip(tables, y, strict=True):
            t[0, 3] = 2.0 * label
        model = AutoClassifier().fit(tables[:40], y[:40])
        weights = {row["part"]: row["weight"] for row in model.leaderboard_}
        assert weights["AW-SVM of class 1"] > 0.01 and "MICA of class 0" in weights
        assert not {"minimum and maximum", "mean and spread"} & {*weights}
        means = [m for m in model.kernel_.members_ if m.name.startswith("mean")]
        assert [m.kernel.linear_ for m in means] == [True, False, False, False]
        assert not any(m.scaling != "none" or hasattr(m.kernel, "center_") for m in means)
        assert model.score(tables[40:], y[40:]) > 0.9

    @pytest.mark.parametrize(("size", "features"), [(20, None), (21, 300)])
    def test_machines_take_features_where_instances_are_many(self, size, features):
        X = Bags(np.random.default_rng(0).normal(size=(100 * size, 2)), np.arange(0, 100 * size + 1, size))
        found = {p.name: p for p in parts_for(X, np.arange(100) % 2, 0)}
        for name in ("AW-SVM of class 0", "MICA of class 1"):
            assert found[name].kernel.estimator.n_components == features

    def test_what_a_machine_costs_again_is_little(self):
        X, y = self.one_instance_decides()
        told = BlendKernel(60.0, 1e3, random_state=0).fit(X, y).leaderboard_
        late = {row["part"] for row in told if "no time" in row["note"]}
        assert "boosted boxes of class 0" not in late and "isolation, 256 cells" in late
