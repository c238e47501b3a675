"""The painted tasks: real pixels, the right things on them, and the order of the methods of Table 7."""

import numpy as np
import pytest

import skmil
from skmil.datasets import make_pictures
from skmil.datasets.pictures import TASKS, paint
from skmil.sources import ImageBags


@pytest.mark.parametrize("task", TASKS)
def test_pictures_show_what_their_label_says(task):
    made = make_pictures(task, 40, shape=(32, 48), random_state=0)
    assert all(p.shape == (32, 48, 3) and p.dtype == np.uint8 for p in made.data)
    assert made.target.sum() == 20
    positive, negative = TASKS[task]
    assert set(made.shows[made.target == 1]) <= set(positive)
    assert set(made.shows[made.target == 0]) <= set(negative)


def test_same_seed_same_pixels_and_no_two_alike():
    one, two, other = (make_pictures("sunset", 8, shape=(32, 48), random_state=s) for s in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one.data, two.data, strict=True))
    assert not np.array_equal(one.data[0], other.data[0])
    assert len({p.tobytes() for p in one.data}) == 8
    X, y = make_pictures("sunset", 8, shape=(32, 48), random_state=3, return_X_y=True)
    assert np.array_equal(X[5], one.data[5]) and np.array_equal(y, one.target)


def test_the_share_of_positives_is_kept():
    assert make_pictures("sunset 2", 20, (16, 16), positive=0.25, random_state=0).target.sum() == 5


@pytest.mark.parametrize(
    "options", [{"task": "moon"}, {"n_pictures": 0}, {"shape": (8, 48)}, {"positive": 1.5}]
)
def test_parameters_are_checked(options):
    with pytest.raises(ValueError, match=r"task is 'moon'; use|give at least one picture"):
        make_pictures(**options)


def test_a_sun_is_brighter_than_the_sky_around_it():
    suns = [paint("sunset", (64, 96), s).astype(int) for s in range(8)]
    hidden = [paint("sunset without sun", (64, 96), s).astype(int) for s in range(8)]
    brightest = [[np.sort(p.sum(axis=2).ravel())[-60:].mean() for p in ps] for ps in (suns, hidden)]
    assert np.mean(brightest[0]) > np.mean(brightest[1]) + 80


@pytest.mark.parametrize("task", ["sunset 2", "conjunctive"])
def test_boxes_beat_diverse_density_where_something_must_be_absent(task):
    train = make_pictures(task, 100, (128, 192), random_state=0)
    test = make_pictures(task, 120, (128, 192), random_state=1)
    source = ImageBags(features=("chroma", "texture"))
    A, B = source.fit_transform(train.data), source.transform(test.data)
    error = {
        name: 1 - skmil.method(name, random_state=0).fit(A, train.target).score(B, test.target)
        for name in ("k_and emp", "k_and/or emp", "DD", "EM-DD")
    }
    boxes = max(error["k_and emp"], error["k_and/or emp"])
    assert boxes < 0.15 and boxes + 0.04 < min(error["DD"], error["EM-DD"]), error
