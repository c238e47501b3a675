"""What the paper on box kernels says: alignment, cosines, the promise for k_or, its own algorithms."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmil import Bags
from skmil._engines.boxes.counter import far_apart
from skmil._engines.boxes.coverage import count_coverage
from skmil._engines.boxes.pairwise import AND, MIN, OR
from skmil.datasets import load_musk1, make_profiles
from skmil.inspection import spectrum
from skmil.kernels import BoxKernel, Normalized, Power, ProfileAlignment
from skmil.kernels.box import count
from skmil.learners import BagSVC
from skmil.preprocessing import BagGrid
from tests.test_box import ONE, as_table, exact_counts, small_case


def by_first_point(P, Q):
    """An aligner: both bags relative to their first points, in the second feature."""
    shift = np.array([0.0, 1.0])
    return P - P[0] * shift, Q - Q[0] * shift


@pytest.fixture(scope="module")
def tracks():
    """Bags of positions along the second feature that start anywhere."""
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 200, 6)
    return Bags.from_list(
        [
            np.column_stack([rng.integers(0, 4, m), start + rng.integers(0, 9, m)]).astype(float)
            for m, start in zip(rng.integers(2, 6, 6), starts, strict=True)
        ]
    )


def pair_counts(P, Q, kind):
    """An exact count of one aligned pair on a grid of its own."""
    pair = by_first_point(P, Q)
    grid = BagGrid().fit(list(pair))
    P, Q = (b.astype(int) for b in grid.transform(list(pair)))
    return count(P, Q, grid.s_, kind)


@pytest.mark.parametrize("kind", ["and", "or", "min"])
def test_aligned_pairs_are_counted_on_a_grid_of_their_own(tracks, kind):
    k = BoxKernel(kind, method="exact", grid=BagGrid(), align=by_first_point).fit(tracks)
    truth = [[math.log(pair_counts(P, Q, kind)) for Q in tracks] for P in tracks]
    assert_allclose(k.log_gram(tracks), truth, rtol=1e-12)
    assert_allclose(k.diag(tracks), k(tracks).diagonal(), rtol=1e-12)
    assert_allclose(k.scale_, np.diag(truth).max(), rtol=1e-12)
    assert_array_equal(k(tracks[:2], tracks[1:]), k(tracks)[:2, 1:])


def test_a_shift_of_all_positions_changes_nothing(tracks):
    """On the grid of the raw bags positions beyond the training range fell together."""
    far = tracks.with_instances(tracks.instances + [0, 15_000])
    k = BoxKernel("and/or", align=by_first_point, random_state=0).fit(tracks)
    assert_array_equal(k(far, tracks), k(tracks))


@pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
def test_the_cosine_of_an_aligned_pair_is_taken_in_its_coordinates(tracks, kind):
    k = Normalized(BoxKernel(kind, method="exact", grid=BagGrid(), align=by_first_point)).fit(tracks)
    K = k(tracks)
    assert_allclose(K.diagonal(), 1.0)
    if kind == "and/or":
        return assert_allclose(K, BoxKernel(kind, "exact", grid=BagGrid(), align=by_first_point)(tracks))
    P, Q = by_first_point(tracks[0], tracks[1])
    own = [BoxKernel(kind, "exact", grid=BagGrid()).fit([P, Q]).log_gram([b])[0, 0] for b in (P, Q)]
    both = BoxKernel(kind, "exact", grid=BagGrid()).fit([P, Q]).log_gram([P], [Q])[0, 0]
    assert_allclose(K[0, 1], np.exp(both - sum(own) / 2))
    assert kind == "or" or K.max() <= 1 + 1e-12  # k_or is no inner product


@pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
def test_the_diagonal_of_cosines_is_that_of_the_matrix_whatever_the_aligner(tracks, kind):
    """An aligner may move a bag against itself: then its cosine with itself is not 1."""
    k = BoxKernel(kind, "exact", grid=BagGrid(), align=lambda P, Q: (P, Q + [1.0, 0.0]))
    N = Normalized(k).fit(tracks)
    assert_allclose(N.diag(tracks), N(tracks).diagonal(), rtol=1e-12)
    assert (N.diag(tracks) != 1).all()


def test_an_aligner_whose_arrays_do_not_match_is_refused(tracks):
    k = BoxKernel(align=lambda P, Q: (P, Q[:, :1]))
    with pytest.raises(ValueError, match="same number of coordinates"):
        k.fit(tracks)


def test_cosines_do_not_underflow():
    """A bag in the corner of 400 features has e^-900 of the boxes of one in the middle."""
    rng = np.random.default_rng(0)
    middle = [rng.integers(480, 520, (3, 400)).astype(float) for _ in range(3)]
    corner = [np.zeros((1, 400)), np.full((1, 400), 1.0)]
    X = Bags.from_list([*middle, *corner, np.full((1, 400), 1000.0)])
    k = BoxKernel(random_state=0).fit(X)
    K, L = Normalized(k).fit(X)(X), k.log_gram(X)
    assert k.diag(X)[3] == 0.0  # beyond floats, relative to the others
    assert_allclose(K.diagonal(), 1.0)
    assert_allclose(K[3, 4], np.exp(L[3, 4] - (L[3, 3] + L[4, 4]) / 2), rtol=1e-12)
    assert K[3, 4] > 1e-100
    assert_allclose(Normalized(Power(k, 0.1)).fit(X)(X), K**0.1, rtol=1e-9)
    assert_allclose(Normalized(k * k).fit(X)(X), K * K, rtol=1e-9)
    for inner in (k, Power(k, 0.1), k * k):
        assert_array_equal(Normalized(inner).fit(X).diag(X), np.ones(len(X)))


def test_shared_boxes_that_hold_a_bag_or_none_have_cosines():
    X = [[[0.0], [1.0]], [[2.0]], [[1e6]]]
    k = Normalized(BoxKernel(method="shared", n_boxes=50, random_state=0)).fit(X)
    new = [[[0.5]], [[1.0]]]
    K = k(new, X)
    assert np.isfinite(K).all() and (K >= 0).all() and (K <= 1 + 1e-12).all()


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 2 / 11, 0.2, 0.3, 0.5, 0.9])
def test_the_difference_that_gives_k_or_keeps_its_promise_in_the_worst_case(epsilon):
    """Every ratio of k_and to k_or, both estimates wrong by all they may be, in either direction."""
    for k_and in np.linspace(0, 1, 1001):
        k_or, both = 1.0, 1.0 + k_and
        for e, f in itertools.product((-epsilon, 0, epsilon), (-epsilon / 2, 0, epsilon / 2)):
            a, b = k_and * (1 + e), both * (1 + f)
            if a <= far_apart(epsilon) * b:
                assert abs(b - a - k_or) <= epsilon * k_or * (1 + 1e-12)


class TestCoverage:
    """The reference takes no other way, whatever the entry."""

    @pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
    def test_every_entry_is_the_papers(self, kind):
        rng = np.random.default_rng(1)
        X = Bags.from_list([rng.integers(0, 5, (m, 2)).astype(float) for m in (1, 2, 3)])
        k = BoxKernel(kind, method="coverage", epsilon=0.5, random_state=0).fit(X)
        found = k.log_gram(X)
        assert set(k.report_.entries) == {"coverage"}
        assert k.report_.entries["coverage"] == 6 * (2 if kind == "and/or" else 1)
        T, delta = k._table(X), 0.01 / (2 if kind == "and/or" else 1)
        codes = {"and": [AND], "or": [OR], "min": [MIN], "and/or": [AND, OR]}[kind]
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            where = np.array([i]), np.array([j])
            logs = count_coverage(T, *where, np.array(codes), 0.5, delta, k.key_)[0]
            assert found[i, j] == (min(0.0, logs[0] - logs[1]) if kind == "and/or" else logs[0])

    @pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
    @pytest.mark.parametrize("method", ["coverage", "plain coverage"])
    def test_an_entry_is_the_same_wherever_it_is_asked_for(self, method, kind):
        if (method, kind) == ("plain coverage", "min"):
            return
        rng = np.random.default_rng(3)
        X = Bags.from_list([rng.integers(0, 9, (m, 2)).astype(float) for m in (2, 3, 4)])
        k = BoxKernel(kind, method=method, epsilon=0.5, random_state=0).fit(X)
        K = k(X)
        assert_array_equal(k(X, X[:2]), K[:, :2])  # a bag and a copy of it are one bag
        assert_array_equal(k.diag(X), K.diagonal())
        assert_allclose(Normalized(k).fit(X)(X).diagonal(), 1.0)

    @pytest.mark.parametrize(("code", "kind"), [(AND, "and"), (OR, "or")])
    def test_theorem_5(self, code, kind):
        rng = np.random.default_rng(5)
        failures = 0
        for _ in range(60):
            P, Q, s = small_case(rng, largest=10)
            T, truth = as_table(P, Q, s), exact_counts(P, Q, s)[kind]
            logs = count_coverage(T, *ONE, np.array([code]), 0.2, 0.1, np.uint64(1), plain=True)
            failures += abs(np.exp(logs[0, 0]) / truth - 1) > 0.2
        assert failures <= 12

    def test_theorem_5_knows_no_k_min(self):
        with pytest.raises(ValueError, match="use method='coverage'"):
            BoxKernel("min", method="plain coverage").fit([[[0.0]], [[1.0]]])


def test_boxes_count_satisfying_assignments():
    """Theorem 2: k_and({0}, terms) on {0, 1}^n is the number of solutions of a monotone DNF."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        n, m = rng.integers(1, 9), rng.integers(1, 6)
        terms = rng.integers(0, 2, (m, n))
        every = np.array(list(itertools.product([0, 1], repeat=n)))
        satisfying = sum(any((a >= t).all() for t in terms) for a in every)
        assert count(np.zeros((1, n), int), terms, s=1) == satisfying


def test_the_ratio_is_positive_semidefinite():
    """Tanimoto's index: exact values have no negative eigenvalue, whatever the bags."""
    rng = np.random.default_rng(3)
    X = Bags.from_list([rng.integers(0, 6, (rng.integers(1, 5), 2)).astype(float) for _ in range(40)])
    K = BoxKernel("and/or", method="exact").fit(X)(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12


def rows_of(d: int, n: int) -> list:
    """Bags of two points in the middle of d features."""
    return list(np.random.default_rng(0).random((n, 2, d)))


class TestDominance:
    def test_the_measured_power_makes_the_median_cosine_one_in_ten(self):
        X = load_musk1().data[::3]
        k = BoxKernel(power="auto", epsilon=0.3, random_state=0).fit(X)
        assert 1 / 100 < k.power_ < 1 / 25  # the paper has 1/50
        K = Normalized(k).fit(X)(X)
        assert 0.08 < np.median(K[~np.eye(len(K), dtype=bool)]) < 0.12
        assert abs(spectrum(k(X)).diagonal_dominance - 1.0) < 0.1

    def test_healthy_counts_stay_as_they_are(self):
        X = [[[0.0], [5.0]], [[1.0], [5.0]], [[2.0], [4.0]]]
        assert BoxKernel(power="auto").fit(X).power_ == 1.0
        assert BoxKernel(power="auto").fit(X[:1]).power_ == 1.0

    def test_a_machine_on_a_nearly_diagonal_matrix_says_so(self):
        X, y = load_musk1(return_X_y=True)
        model = BagSVC(BoxKernel(epsilon=0.5, random_state=0), C=1e10)
        with pytest.warns(UserWarning, match=r"similar only to itself.*power='auto'"):
            model.fit(X[::4], y[::4])
        far = Bags.from_list([*rows_of(300, 8), np.zeros((1, 300)), np.ones((1, 300))])
        with pytest.warns(UserWarning, match="similar only to itself"):  # k(P, P) of a corner underflows
            BagSVC(BoxKernel(epsilon=0.5, random_state=0), C=1e10).fit(far, [0, 1] * 5)
        tamed = BagSVC(BoxKernel(epsilon=0.5, power="auto", random_state=0), C=1e10)
        assert tamed.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.7


class TestProfiles:
    """Pairwise alignment end to end: an aligner, a grid for each pair, a machine."""

    def test_the_best_shift_is_that_of_a_slow_search(self):
        rng = np.random.default_rng(0)
        for _ in range(20):
            P = np.column_stack([7 + np.arange(9), rng.normal(size=(9, 2))])
            Q = np.column_stack([90 + np.arange(7), rng.normal(size=(7, 2))])
            a, b = ProfileAlignment()(P, Q)
            spread = np.vstack([P, Q]).std(axis=0)[1:]
            costs = {}
            for shift in range(-6, 9):
                pairs = [(i, i - shift) for i in range(9) if 0 <= i - shift < 7]
                if len(pairs) >= 3:
                    d = [np.sum(((P[i, 1:] - Q[j, 1:]) / spread) ** 2) for i, j in pairs]
                    costs[shift] = np.mean(d)
            assert b[0, 0] == min(costs, key=costs.get) and a[0, 0] == 0
            assert_array_equal(b[:, 1:], Q[:, 1:])

    def test_aligned_kernels_learn_what_absolute_positions_do_not_tell(self):
        made = make_profiles(60, random_state=0)
        X, y = made.data, made.target
        for align, least, most in ((ProfileAlignment(), 0.9, 1.0), (None, 0.0, 0.75)):
            kernel = BoxKernel("and/or", align=align, epsilon=0.3, random_state=0)
            score = BagSVC(kernel, C=1e4).fit(X[:40], y[:40]).score(X[40:], y[40:])
            assert least <= score <= most

    def test_too_short_sequences_are_refused(self):
        with pytest.raises(ValueError, match="cannot hold motif and mark"):
            make_profiles(length=(10, 12))
