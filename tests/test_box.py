"""Box counting: exact routes against brute force, samples against exact counts, laws of the engine."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmil import Bags, threads
from skmil._engines.boxes import corners, counter, exact, pairwise, shared
from skmil._engines.boxes.coverage import count_coverage
from skmil._engines.boxes.pairwise import AND, MIN, OR, count_entries
from skmil._engines.boxes.space import Table, lengths, table
from skmil.kernels import BoxKernel, EmpiricalMap
from skmil.kernels.box import count
from skmil.preprocessing import BagGrid
from tests import naive

ONE = np.array([0]), np.array([1])


def small_case(rng, largest=4, points=5):
    d = rng.integers(1, 4)
    s = rng.integers(1, largest, d)
    P, Q = (rng.integers(0, s + 1, (rng.integers(1, points), d)) for _ in range(2))
    return P, Q, s


def as_table(P, Q, s):
    bags = Bags.from_list([P.astype(float), Q.astype(float)])
    return table(bags, -np.ones(len(s)), s + 1.0, np.arange(2 * len(s)))


def exact_counts(P, Q, s):
    return exact.sweep(lengths(P, -1, s + 1).tolist(), lengths(Q, -1, s + 1).tolist())


def table_of_lengths(*bags):
    """A table of two bags or more, given by their lengths."""
    z = np.vstack(bags).astype(float)
    offsets = np.concatenate([[0], np.cumsum([len(b) for b in bags])])
    return Table(z, np.log(z), np.log(z).sum(axis=1), offsets, np.arange(len(bags), dtype=np.uint64))


def log_counts(z_p, z_q):
    """Logs of k_and and k_or in exact arithmetic, also where the lengths are no integers."""
    found = exact.sweep(*([[Fraction(x) for x in row] for row in z.tolist()] for z in (z_p, z_q)))
    parts = {k: Fraction(found[k]) for k in ("and", "or")}
    return {k: math.log(n.numerator) - math.log(n.denominator) for k, n in parts.items()}


def check_corners(z_p, z_q, digits=1e-12):
    """Compare k_and and k_or of lists of corners with exact arithmetic; the lists."""
    C = corners.corner_lists(table_of_lengths(z_p, z_q), 10**5)
    truth = log_counts(z_p, z_q)
    k_and, own = corners.log_and(C, *ONE)[0], corners.log_own(C, np.array([0, 1]))
    assert_allclose(k_and, truth["and"], rtol=digits, atol=digits)
    both = np.logaddexp(*own)
    k_or = both + np.log1p(-np.exp(k_and - both))
    assert_allclose(k_or, truth["or"], rtol=digits, atol=digits)
    return C


@pytest.fixture(scope="module")
def dense_bags():
    """Thirty overlapping bags in two dimensions."""
    rng = np.random.default_rng(3)
    return Bags.from_list([rng.integers(0, 12, (rng.integers(1, 12), 2)).astype(float) for _ in range(30)])


class TestExact:
    def test_every_route_agrees_with_looking_at_every_box(self):
        rng = np.random.default_rng(0)
        for _ in range(60):
            P, Q, s = small_case(rng)
            truth = naive.box_counts(P, Q, s)
            assert exact_counts(P, Q, s) == truth
            T = as_table(P, Q, s)
            C, p, q = corners.corner_lists(T, 1024), *(np.arange(*T.offsets[i : i + 2]) for i in (0, 1))
            assert_allclose(np.exp(corners.log_and(C, *ONE)), [truth["and"]], rtol=1e-12)
            own = np.exp(corners.log_own(C, np.array([0, 1])))
            assert_allclose(own.sum() - truth["and"], truth["or"], rtol=1e-12)
            for kind in ("and", "or"):
                assert_allclose(
                    np.exp(exact.count_exactly(T.z, p, q, kind == "or")), truth[kind], rtol=1e-9
                )
            both = exact.hypervolume(np.vstack([lengths(P, -1, s + 1), lengths(Q, -1, s + 1)]))
            assert_allclose(np.exp(both), truth["or"], rtol=1e-9)

    def test_sweep_and_hypervolume_agree_on_larger_cases(self):
        rng = np.random.default_rng(1)
        for _ in range(300):
            P, Q, s = small_case(rng, largest=30, points=6)
            for kind in ("and", "or"):
                assert count(P, Q, s, kind) == count(P, Q, s, kind, method="hypervolume")

    def test_count_is_a_python_integer_beyond_floats(self):
        n = count([[500_000] * 40], [[400_000] * 40], s=10**6)
        assert isinstance(n, int)
        assert n == (400_001 * 500_001) ** 40

    def test_inclusion_exclusion_of_many_points(self):
        rng = np.random.default_rng(2)
        s = np.array([40, 40, 40])
        P, Q = rng.integers(0, 41, (7, 3)), rng.integers(0, 41, (8, 3))
        T = as_table(P, Q, s)
        truth = exact_counts(P, Q, s)
        p, q = np.arange(7), np.arange(7, 15)
        assert_allclose(exact.count_exactly(T.z, p, q, False), np.log(truth["and"]), rtol=1e-12)
        C = corners.corner_lists(T, 10**5)
        assert_allclose(corners.log_and(C, *ONE), np.log([truth["and"]]), rtol=1e-12)

    def test_corners_of_many_points_in_few_dimensions(self):
        """Points on a line have at most 2 n - 1 corners: themselves and their neighbourhoods."""
        rng = np.random.default_rng(3)
        s = np.array([10**6])
        P, Q = rng.integers(0, s + 1, (60, 1)), rng.integers(0, s + 1, (50, 1))
        C = corners.corner_lists(as_table(P, Q, s), 119)
        assert_array_equal(np.diff(C.starts), [119, 99])
        truth = exact_counts(P, Q, s)["and"]
        assert_allclose(np.exp(corners.log_and(C, *ONE)), [truth], rtol=1e-12)

    def test_a_bag_with_too_many_corners_has_no_list(self):
        rng = np.random.default_rng(4)
        C = corners.corner_lists(as_table(*rng.integers(0, 99, (2, 6, 5)), np.full(5, 99)), 20)
        assert_array_equal(C.starts, 0)

    def test_corners_do_not_depend_on_other_bags(self):
        """Neither on the order of the two, nor on lengths elsewhere, by which all are divided."""
        rng = np.random.default_rng(5)
        bags = [rng.integers(0, 50, (m, 3)).astype(float) for m in (4, 7, 5)]
        bags.append(np.full((1, 3), 900.0))
        T = table(Bags.from_list(bags), -np.ones(3), np.full(3, 1000.0), np.arange(6))
        few = table(Bags.from_list(bags[:3]), -np.ones(3), np.full(3, 1000.0), np.arange(6))
        i, j = np.triu_indices(3, 1)
        expected = corners.log_and(corners.corner_lists(T, 1024), i, j)
        assert_array_equal(corners.log_and(corners.corner_lists(few, 1024), j, i), expected)

    def test_corners_whose_lengths_differ_by_many_orders_of_magnitude(self):
        rng = np.random.default_rng(6)
        for bits in (10, 30, 60, 300):
            P, Q = (np.floor(np.exp2(rng.uniform(0, bits, (m, 24)))) for m in (4, 3))
            C = check_corners(P, Q)
            assert (len(C.blocks) > 2) == (bits >= 60)

    def test_corners_of_opposite_ends_in_many_features(self):
        """A product of 600 relative lengths of 10^-6 is far below the range of floats."""
        rng = np.random.default_rng(7)
        s = np.full(300, 10**6)
        P, Q = rng.integers(0, 9, (3, 300)), s - rng.integers(0, 9, (2, 300))
        C = check_corners(*(lengths(x, -1, s + 1) for x in (P, Q)))
        assert C.exponent > 10_000

    @pytest.mark.parametrize("noise", [1e-9, 1e-15])
    def test_corners_of_points_that_are_almost_equal(self, noise):
        """Sums of either sign cancel, but only down to the largest product."""
        rng = np.random.default_rng(8)
        centre = rng.uniform(0.1, 1, 6)
        P, Q = (centre * (1 + noise * rng.uniform(-1, 1, (m, 6))) for m in (7, 6))
        check_corners(P, Q, digits=1e-11)

    def test_corners_with_weights_above_one(self):
        """The smaller of any two of these points is always the same corner, so it counts several times."""
        P, Q = 1 + 9 * np.eye(8), 2 + 10**6 * np.eye(8)[:6]
        C = check_corners(P, Q)
        assert_array_equal(np.sort(C.weights)[[0, 1]], [-7, -5])

    def test_errors_of_corners_stay_below_their_bound(self):
        rng = np.random.default_rng(9)
        for bits in (1, 40, 80):
            P, Q = (np.exp2(rng.uniform(0, bits, (4, 24))) for _ in range(2))
            C = corners.corner_lists(table_of_lengths(P, Q), 10**5)
            sums = np.add.reduceat(np.abs(C.weights), C.starts[:2])
            sums[1] -= 1  # the corner that holds every box
            k_and = log_counts(P, Q)["and"]
            bound = np.finfo(float).eps * (24 * sums.prod() + 4 * (1 + abs(k_and)))
            assert abs(corners.log_and(C, *ONE)[0] - k_and) <= bound

    def test_bits_do_not_depend_on_blocks_of_coordinates(self):
        rng = np.random.default_rng(10)
        T = table_of_lengths(*(rng.uniform(0.01, 1, (m, 12)) for m in (6, 4, 5)))
        C = corners.corner_lists(T, 1024)
        cut = C._replace(blocks=np.arange(0, 13, 2))
        i, j = np.triu_indices(3, 1)
        assert_array_equal(C.blocks, [0, 12])
        assert_array_equal(corners.log_and(cut, i, j), corners.log_and(C, i, j))
        assert_array_equal(corners.log_own(cut, np.arange(3)), corners.log_own(C, np.arange(3)))

    def test_a_bag_far_away_makes_blocks_but_changes_no_bits(self):
        rng = np.random.default_rng(11)
        near = [rng.integers(1, 50, (m, 24)) for m in (4, 5)]
        alone, along = (
            corners.corner_lists(table_of_lengths(*bags), 1024)
            for bags in (near, [*near, np.full((1, 24), 2.0**60)])
        )
        assert len(along.blocks) > len(alone.blocks) == 2
        assert_array_equal(corners.log_and(along, *ONE), corners.log_and(alone, *ONE))

    def test_lengths_beyond_blocks_get_no_lists(self):
        T = table_of_lengths(np.ones((1, 4)), np.full((1, 4), 1e140))
        assert_array_equal(corners.corner_lists(T, 1024).starts, 0)

    def test_one_bag_alone(self):
        assert count([[1]], s=2) == 4
        assert count([[1], [1]], s=2, kind="min") == 8

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (([[0.5]],), "integers"),
            (([0, 1],), "shape"),
            (([[3]], [[1]], 2), "ends at s = 2"),
            (([[1]], [[1, 2]]), "features"),
        ],
    )
    def test_bad_input(self, args, message):
        with pytest.raises(ValueError, match=message):
            count(*args)

    def test_hopeless_is_refused(self):
        rng = np.random.default_rng(0)
        X = Bags.from_list([rng.integers(0, 1000, (40, 30)).astype(float) for _ in range(2)])
        with pytest.raises(ValueError, match="use method='pairwise'"):
            BoxKernel(method="exact").fit(X)

    def test_many_dimensions_are_refused_in_our_own_words(self):
        rng = np.random.default_rng(0)
        X = Bags.from_list([rng.integers(0, 1000, (14, 20)).astype(float) for _ in range(2)])
        with pytest.raises(ValueError, match=r"14 points in 40 dimensions.*use method='pairwise'"):
            BoxKernel(method="exact").fit(X)

    def test_a_hypervolume_beyond_floats_is_refused(self):
        z = np.ones((2, 30))
        z[0, :15] = z[1, 15:] = 2.0**62
        with pytest.raises(ValueError, match="below the range of floats"):
            exact.hypervolume(z)

    def test_hopeless_sums_are_refused_with_an_estimate(self, monkeypatch):
        rng = np.random.default_rng(1)
        X = Bags.from_list([rng.integers(0, 1000, (7, 8)).astype(float) for _ in range(6)])
        k = BoxKernel(method="exact").fit(X)
        work = counter.Counter(k._table(X), k._plan())
        seconds = work.seconds(*np.triu_indices(6, 1)).sum()
        monkeypatch.setattr(counter, "HOPELESS", 0.99 * seconds)
        with pytest.raises(ValueError, match=r"6 x 6 bags of up to \d+ corners.*hours of one processor"):
            k.log_gram(X)
        monkeypatch.setattr(counter, "HOPELESS", 1.01 * seconds)
        assert np.isfinite(k.log_gram(X)).all()

    def test_tiles_of_long_sums_are_cut(self):
        cost = np.full((32, 8), 0.01)
        cost[3, 2] = 7.0
        tiles = counter._cut((slice(0, 32), slice(0, 8)), lambda i, j: cost[i, j - 5], 5)
        seen = np.zeros(cost.shape, int)
        for t in tiles:
            seen[t] += 1
            assert cost[t].sum() <= counter.PATIENCE or cost[t].size == 1
        assert (seen == 1).all()

    def test_bits_do_not_depend_on_tiles(self, dense_bags, monkeypatch):
        k = BoxKernel("or", method="exact").fit(dense_bags)
        K, cross = k.log_gram(dense_bags), k.log_gram(dense_bags[:9], dense_bags[9:])
        monkeypatch.setattr(counter, "PATIENCE", 1e-9)
        assert_array_equal(k.log_gram(dense_bags), K)
        assert_array_equal(k.log_gram(dense_bags[:9], dense_bags[9:]), cross)
        assert_array_equal(cross, K[:9, 9:])


class TestSubsetsOfFewPoints:
    """k_min of small bags is a sum over their subsets."""

    @pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (7, 6), (2, 11)])
    def test_against_the_sweep(self, n, m):
        rng = np.random.default_rng(n * m)
        for d in (1, 2, 4):
            P, Q = rng.integers(0, 20, (n, d)), rng.integers(0, 20, (m, d))
            s = np.full(d, 19)
            found = exact.log_min(as_table(P, Q, s), *ONE)
            assert_allclose(found, math.log(exact_counts(P, Q, s)["min"]), rtol=1e-12, atol=1e-10)

    def test_order_does_not_matter(self):
        rng = np.random.default_rng(1)
        P, Q, s = rng.integers(0, 9, (4, 3)), rng.integers(0, 9, (5, 3)), np.full(3, 8)
        T = as_table(P, Q, s)
        assert exact.log_min(T, *ONE) == exact.log_min(T, *ONE[::-1])

    def test_beyond_the_range_of_floats_it_says_so(self):
        z = np.full((2, 12), 1e-30)
        T = table_of_lengths(np.vstack([z[:1], 1 / z[:1]]) * 2, np.vstack([z[:1], 3 * z[:1]]))
        assert np.isnan(exact.log_min(T, *ONE)).all()

    def test_auto_takes_it(self):
        X = [np.random.default_rng(i).normal(size=(2 + i % 4, 6)) for i in range(8)]
        auto = BoxKernel("min", random_state=0).fit(X)
        truth = BoxKernel("min", method="pairwise", epsilon=0.05, delta=1e-6, random_state=0).fit(X)
        assert_allclose(auto.log_gram(X), truth.log_gram(X), atol=0.06)
        assert set(auto.report_.entries) == {"exact"} and auto.report_.epsilon == 0.0


class TestPromise:
    """(epsilon, delta) holds for every entry: many seeds, failures counted against delta."""

    @pytest.mark.parametrize(
        ("kinds", "kind"), [([AND], "and"), ([MIN], "min"), ([AND, MIN], "min"), ([OR], "or")]
    )
    @pytest.mark.parametrize("delta", [0.05, 0.3])
    def test_pairwise(self, kinds, kind, delta):
        rng = np.random.default_rng(4)
        failures, trials = 0, 0
        for _ in range(20):
            P, Q, s = small_case(rng, largest=15, points=13)
            T, truth = as_table(P, Q, s), exact_counts(P, Q, s)[kind]
            for seed in range(20):
                logs, _ = count_entries(T, *ONE, np.array(kinds), 0.2, delta, np.uint64(seed))
                failures += abs(np.exp(logs[0, -1]) / truth - 1) > 0.2
                trials += 1
        assert failures <= delta * trials + 3 * np.sqrt(delta * trials)

    @pytest.mark.parametrize(("code", "kind"), [(AND, "and"), (MIN, "min"), (OR, "or")])
    def test_the_papers_tables(self, code, kind):
        rng = np.random.default_rng(5)
        failures = 0
        for _ in range(30):
            P, Q, s = small_case(rng, largest=10)
            T, truth = as_table(P, Q, s), exact_counts(P, Q, s)[kind]
            logs = count_coverage(T, *ONE, np.array([code]), 0.3, 0.1, np.uint64(1))
            failures += abs(np.exp(logs[0, 0]) / truth - 1) > 0.3
        assert failures <= 8

    def test_shared_boxes_certify_only_what_they_know(self, dense_bags):
        truth = BoxKernel(method="exact", grid=BagGrid()).fit(dense_bags)
        T, n = truth._table(dense_bags), len(dense_bags)
        L = truth.log_gram(dense_bags)
        off = ~np.eye(n, dtype=bool)
        wrong = sure_ones = 0
        for seed in range(10):
            counts = shared.inside(T, shared.masks(T), shared.draw_boxes(T, 4096, seed))
            w = 1 / counts.sum(axis=1)
            first, second = (m.astype(float) for m in shared.and_sums(counts, w))
            sure = shared.certified(4096, first, second, 0.5, 0.2, 0.1) & off
            estimate = np.log(np.maximum(first, 1e-300) / 4096) + shared.log_volume(T)
            wrong += (np.abs(np.exp(estimate - L) - 1) > 0.2)[sure].sum()
            sure_ones += sure.sum()
        assert sure_ones > 1000
        assert wrong <= 0.1 * sure_ones

    def test_long_runs_agree_with_exact_counts(self, dense_bags):
        exactly = BoxKernel(method="exact", grid=BagGrid()).fit(dense_bags)
        sampled = BoxKernel(method="pairwise", grid=BagGrid(), epsilon=0.02, random_state=0).fit(dense_bags)
        truth = exactly.log_grams(dense_bags, kinds=("and", "or", "and/or"))
        found = sampled.log_grams(dense_bags)
        for kind in truth:
            assert np.abs(found[kind] - truth[kind]).max() < (0.05 if kind == "and/or" else 0.03)


class TestKernel:
    def test_all_kinds_from_one_pass_are_those_from_many(self, dense_bags):
        k = BoxKernel("min", method="pairwise", epsilon=0.3, random_state=1).fit(dense_bags)
        together = k.log_grams(dense_bags[:8])
        assert set(together) == {"and", "or", "and/or", "min"}
        assert_allclose(together["and/or"], together["and"] - together["or"], atol=1e-12)
        assert (together["min"] >= together["and"] - 0.6).all()

    @pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
    @pytest.mark.parametrize("method", ["auto", "pairwise"])
    def test_same_bits_in_any_block_order_and_thread(self, dense_bags, kind, method):
        k = BoxKernel(kind, method=method, epsilon=0.3, random_state=7).fit(dense_bags)
        with threads(1):
            K = k(dense_bags)
        assert_array_equal(K, K.T)
        with threads(2):
            assert_array_equal(k(dense_bags[:6], dense_bags[3:]), K[:6, 3:])
        turned = Bags.from_list([b[::-1] for b in dense_bags])
        assert_array_equal(k(turned), K)
        assert_allclose(k.diag(dense_bags), K.diagonal(), rtol=1e-12)
        assert_array_equal(
            BoxKernel(kind, method, epsilon=0.3, random_state=7).fit(dense_bags)(dense_bags), K
        )

    def test_shared_boxes_are_positive_semidefinite(self, dense_bags):
        for kind in ("and", "min"):
            K = BoxKernel(kind, method="shared", n_boxes=300, random_state=0).fit_transform(dense_bags)
            assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)

    @pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
    def test_shared_boxes_estimate_the_counts(self, dense_bags, kind):
        many = BoxKernel(kind, "shared", n_boxes=40_000, grid=BagGrid(), random_state=0).fit(dense_bags)
        few = BoxKernel(kind, "pairwise", epsilon=0.05, grid=BagGrid(), random_state=0).fit(dense_bags)
        assert np.abs(many.log_gram(dense_bags) - few.log_gram(dense_bags)).max() < 0.25

    def test_new_bags_cost_rows_and_stay_in_range(self, dense_bags):
        k = BoxKernel(random_state=0).fit(dense_bags[:20])
        far = [[[1e6, -1e6], [0.0, 0.0]]]
        K = k.transform(far)
        assert K.shape == (1, 20)
        assert np.isfinite(K).all() and K.max() <= 1.0
        assert k.report_.entries and k.report_.epsilon <= 0.1

    def test_many_features_and_large_values(self):
        rng = np.random.default_rng(0)
        X = Bags.from_list([rng.integers(0, 10**6, (5, 300)).astype(float) for _ in range(4)])
        k = BoxKernel(random_state=0, power=1 / 50).fit(X)
        assert np.isfinite(k.log_gram(X)).all()
        assert k.log_gram(X).max() > 5000
        K = k(X)
        assert np.isfinite(K).all() and K.max() == 1.0

    def test_single_points_have_a_closed_form(self):
        X = [[[1.0, 2.0]], [[3.0, 0.0]]]
        L = BoxKernel(grid=BagGrid()).fit(X).log_gram(X)
        # On the grid the points are (1, 3) and (3, 1), s = (4, 4).
        assert_allclose(np.exp(L[0, 1]), (2 * 2) * (2 * 2))

    @pytest.mark.parametrize("method", ["exact", "auto", "pairwise"])
    def test_opposite_ends_of_a_wide_grid(self, method):
        """All boxes around both points are those around all of the grid but its rim: 2^24."""
        X = [np.zeros((1, 12)), np.full((1, 12), 1e14)]
        k = BoxKernel(method=method, random_state=0).fit(X)
        assert_allclose(k.log_gram(X)[0, 1], 24 * np.log(2), rtol=1e-12)
        assert k.report_.epsilon == (0.1 if method == "pairwise" else 0.0)

    def test_samples_on_a_wide_grid(self):
        rng = np.random.default_rng(12)
        P, Q = rng.integers(0, 3, (6, 12)), 10**15 - rng.integers(0, 3, (5, 12))
        T = as_table(P, Q, np.full(12, 10**15))
        assert exact.count_exactly(T.z, np.arange(6), np.arange(6, 11), False) == -np.inf
        truth = exact_counts(P, Q, np.full(12, 10**15))
        for code, kind in ((AND, "and"), (MIN, "min"), (OR, "or")):
            logs, _ = count_entries(T, *ONE, np.array([code]), 0.1, 1e-6, np.uint64(0))
            assert abs(logs[0, 0] - math.log(truth[kind])) < 0.11

    @pytest.mark.parametrize("method", ["exact", "auto"])
    @pytest.mark.parametrize("d", [13, 16, 300])
    def test_single_points_are_exact_in_any_dimension(self, method, d):
        rng = np.random.default_rng(d)
        X = Bags.from_list([rng.integers(0, 10**6, (1, d)).astype(float) for _ in range(3)])
        k = BoxKernel(method=method, random_state=0).fit(X)
        found = k.log_grams(X)
        assert set(k.report_.entries) == {"exact"} and k.report_.epsilon == 0.0
        grid = [b.astype(int) for b in k.grid_.transform(X)]
        s = k.grid_.s_.astype(int)
        for kind in ("and", "or", "min"):
            truth = [[math.log(count(P, Q, s, kind)) for Q in grid] for P in grid]
            assert_allclose(found[kind], truth, rtol=1e-14)

    def test_exact_counts_in_many_dimensions(self):
        rng = np.random.default_rng(13)
        X = Bags.from_list([rng.integers(0, 10**6, (m, 300)).astype(float) for m in (1, 2, 4)])
        k = BoxKernel(method="exact").fit(X)
        found = k.log_grams(X)
        grid, s = [b.astype(int) for b in k.grid_.transform(X)], k.grid_.s_.astype(int)
        for kind in ("and", "or", "min"):
            truth = [[math.log(count(P, Q, s, kind)) for Q in grid] for P in grid]
            assert_allclose(found[kind], truth, rtol=1e-13)

    def test_reports_are_not_shared(self, dense_bags):
        first, second = (BoxKernel(random_state=0).fit(dense_bags[:4]) for _ in range(2))
        report = counter.Report({"exact": 3})
        for k in (first, second, unfitted := BoxKernel()):
            k._note(report)
        first.report_.add("exact", 5)
        assert first.report_.entries == {"exact": 8}
        assert report.entries == second.report_.entries == unfitted.report_.entries == {"exact": 3}

    def test_continuous_limit(self):
        """Volumes are the limit of counts on finer and finer grids."""
        rng = np.random.default_rng(6)
        X = [rng.uniform(0, 1, (3, 2)) for _ in range(4)]
        volumes = BoxKernel(grid=None).fit(X)
        A = volumes._table(Bags.from_list(X))
        steps = 10_000
        rounded = [np.rint((b - volumes.low_) * steps).astype(int) for b in X]
        s = np.rint((volumes.high_ - volumes.low_) * steps).astype(int)
        fine = count(rounded[0], rounded[1], s, "and") / float(steps) ** 4
        assert_allclose(np.exp(volumes.log_gram(X)[0, 1]), fine, rtol=2e-3)
        assert A.z.min() > 0

    def test_transduction(self, dense_bags):
        train, test = dense_bags[:20], dense_bags[20:]
        k = EmpiricalMap(BoxKernel(power=0.1, random_state=0), anchors=dense_bags).fit(train)
        assert k.features(test).shape == (10, 30)
        assert np.linalg.eigvalsh(k(dense_bags)).min() > -1e-9


def test_masks_find_the_points_of_a_box():
    """Bits against comparisons, with more values than steps."""
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.uniform(0, 1, (m, 3)) for m in (700, 90, 3)])
    T = table(bags, -np.ones(3), np.full(3, 2.0), np.arange(6))
    boxes = shared.draw_boxes(T, 200, 1)
    counts = shared.inside(T, shared.masks(T), boxes)
    for i in range(3):
        z = T.z[T.offsets[i] : T.offsets[i + 1]]
        assert_array_equal(counts[:, i], [(z >= b).all(axis=1).sum() for b in boxes])


def test_auto_counts_large_bags_exactly_in_few_dimensions():
    rng = np.random.default_rng(8)
    X = Bags.from_list([rng.integers(0, 30, (25, 2)).astype(float) for _ in range(21)])
    auto = BoxKernel("and/or", random_state=0).fit(X)
    found = auto.log_grams(X[:6], kinds=("and", "or"))
    assert set(auto.report_.entries) == {"exact"}
    assert auto.report_.epsilon == 0.0
    grid = [b.astype(int) for b in auto.grid_.transform(X[:6])]
    for kind in found:
        truth = [[count(P, Q, auto.grid_.s_, kind, method="hypervolume") for Q in grid] for P in grid]
        assert_allclose(np.exp(found[kind]), truth, rtol=1e-10)


@pytest.mark.parametrize("kind", ["and", "or", "and/or", "min"])
@pytest.mark.parametrize(("points", "features", "served"), [(5, 20, "exact"), (5, 40, "pairwise")])
def test_auto_counts_five_points_exactly_where_sums_are_short(kind, points, features, served):
    X = [np.random.default_rng(i).normal(size=(points, features)) for i in range(6)]
    auto = BoxKernel(kind, random_state=0).fit(X)
    truth = BoxKernel(kind, method="pairwise", epsilon=0.05, delta=1e-6, random_state=1).fit(X)
    assert_allclose(auto.log_gram(X), truth.log_gram(X), atol=0.06 if served == "exact" else 0.16)
    assert auto.report_.entries[served] >= 15  # k_min of a bag with itself is a sum in any dimension


def test_auto_shares_boxes_of_large_bags_and_refines():
    rng = np.random.default_rng(8)
    X = Bags.from_list([rng.integers(0, 30, (25, 4)).astype(float) for _ in range(21)])
    auto = BoxKernel(epsilon=0.1, random_state=0).fit(X)
    L = auto.log_gram(X)
    assert auto.report_.entries["shared"] > 100
    both = auto.log_grams(X, kinds=("and", "or"))
    assert auto.report_.entries["shared"] > 300
    truth = BoxKernel(method="pairwise", epsilon=0.02, random_state=1).fit(X)
    truth = truth.log_grams(X[:3], X, kinds=("and", "or"))
    assert np.abs(np.exp(L[:3] - truth["and"]) - 1).max() < 0.13
    assert np.abs(np.exp(both["or"][:3] - truth["or"]) - 1).max() < 0.13


@pytest.mark.parametrize("pairs", [True, False])
def test_points_asked_together_are_inside_as_those_asked_one_by_one(pairs):
    rng = np.random.default_rng(0)
    z = rng.random((12, 6)) + 0.05
    p, q = np.arange(7), np.arange(7, 12)
    core, cumulative = np.arange(12) % 3 == 0, np.cumsum(rng.random(35 if pairs else 7))
    where, key = (core, np.uint64(3), 5, 205), np.uint64(3)
    one_by_one, together = np.zeros((2, 200, 3), np.int64)
    pairwise._draw(z, p, q, pairs, cumulative, core, key, 5, 205, one_by_one)
    pairwise._draw_together(pairwise._columns(z, p, q), 7, pairs, cumulative, *where, together)
    assert_array_equal(one_by_one, together)
    assert len(np.unique(together[:, 2])) == 2
    assert len(pairwise._columns(z, np.arange(pairwise.TOGETHER), q)) == 0


@pytest.mark.parametrize(
    "shape", [(1000, 15, 5.0), (1000, 15, 1e6), (9, 700, 5.0), (5000, 40, 3.0), (3, 1, 1.0)]
)
def test_tiles_hold_every_entry_once(shape):
    seen = np.zeros(shape[:2], int)
    for rows, columns in counter._tiles(*shape[:2], False, shape[2]):
        seen[rows, columns] += 1
        assert (rows.stop - rows.start) * (columns.stop - columns.start) <= counter.TILE**2
    assert (seen == 1).all()


def test_many_bags_against_few_are_cut_into_few_tiles_of_the_same_bits():
    tiles = counter._tiles(1000, 15, False, 5.0)
    assert len(tiles) < 2 * counter.PARTS
    rng = np.random.default_rng(0)
    X = Bags.from_list([rng.random((m, 2)) for m in rng.integers(1, 6, 300)])
    k = BoxKernel("and/or", random_state=0).fit(X[:4])
    assert_array_equal(k(X, X[:4]), np.vstack([k(X[[i]], X[:4]) for i in range(300)]))
