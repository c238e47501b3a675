"""Over a thousand odd inputs per run: nothing but ValueError and TypeError may come out."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from skmil import Bags, as_bags
from skmil.formats import WRITERS, read_bags, write_bags
from skmil.kernels import SetKernel
from tests.strategies import ODD, SMALL, damage, labelled_bags

MANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def outcome(function, *arguments, begins=""):
    """The result, or ``None`` where a documented error with a message was raised; no warning passes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return function(*arguments)
    except (ValueError, TypeError) as error:
        message = str(error)
        assert message.strip() and message.startswith(begins), "an error must say what is wrong, and where"
        return None


def check_valid(bags):
    assert len(bags) > 0 and (bags.sizes > 0).all() and bags.n_features > 0
    values = bags.instances.data if bags.is_sparse else bags.instances
    assert bags.dtype in (np.float64, np.float32) and np.isfinite(values).all()
    assert bags.offsets[0] == 0 and bags.offsets[-1] == bags.instances.shape[0]


@MANY
@given(X=ODD)
def test_as_bags_gives_valid_bags_or_says_why_not(X):
    bags = outcome(as_bags, X)
    if bags is not None:
        check_valid(bags)


@SOME
@given(instances=ODD, offsets=ODD, ids=st.none() | ODD)
def test_the_constructor_gives_valid_bags_or_says_why_not(instances, offsets, ids):
    bags = outcome(Bags, instances, offsets, ids)
    if bags is not None:
        check_valid(bags)


@MANY
@given(X=ODD)
def test_a_kernel_gives_finite_numbers_or_says_why_not(X):
    K = outcome(SetKernel(gamma=0.5), X)
    if K is not None:
        assert K.shape == (len(as_bags(X)),) * 2 and np.isfinite(K).all()


@settings(max_examples=50, deadline=None)
@given(labelled_bags(numbers=SMALL))
def test_a_kernel_of_valid_bags_is_symmetric_and_at_most_one(pair):
    K = SetKernel(gamma=0.1, normalization="mean")(pair[0])
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-15)
    assert (K >= 0).all() and (K <= 1 + 1e-12).all()


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """A small good file of each format, as bytes."""
    folder = tmp_path_factory.mktemp("good")
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(m, 3)) for m in (1, 3, 2)], ids=["a", "b", "c d"])
    found = {}
    for ending in WRITERS:
        path = folder / f"good{ending}"
        write_bags(path, bags if ending not in (".svm", ".txt") else Bags.from_list(list(bags)), [0, 1, 1])
        found[ending] = path.read_bytes()
    return found


@pytest.mark.parametrize("ending", sorted(WRITERS))
@SOME
@given(data=st.data())
def test_a_damaged_file_is_read_or_named(ending, data, contents, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"damaged{ending}"
    path.write_bytes(data.draw(damage(contents[ending])))
    bunch = outcome(read_bags, path, begins=str(path))
    if bunch is not None:
        check_valid(bunch.data)
        assert bunch.target is None or len(bunch.target) == len(bunch.data)


@pytest.mark.parametrize("ending", sorted(WRITERS))
@settings(max_examples=20, deadline=None)
@given(noise=st.binary(max_size=200))
def test_noise_is_no_file_of_any_format(ending, noise, tmp_path_factory):
    assume(b":" not in noise and b"," not in noise)
    path = tmp_path_factory.getbasetemp() / f"noise{ending}"
    path.write_bytes(noise)
    with pytest.raises(ValueError, match="noise"):
        read_bags(path)
