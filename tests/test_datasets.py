"""Data sets: Musk as UCI describes it, files found by name, and errors that say where was looked."""

from inspect import Parameter, signature

import numpy as np
import pytest

from skmil import Bags
from skmil.datasets import (
    load_bags,
    load_musk1,
    load_musk2,
    make_annealing_toy,
    make_assumption,
    make_counts,
    make_gmil,
    make_lj,
    make_mixture_bags,
    make_profiles,
    make_speaker_like,
)
from skmil.formats import write_bags


def test_musk1_is_what_uci_describes():
    musk = load_musk1()
    assert musk.data.shape == (92, 166) and len(musk.data.instances) == 476
    assert np.bincount(musk.target).tolist() == [45, 47]
    assert musk.data.sizes.min() == 2 and musk.data.sizes.max() == 40
    assert musk.ids.tolist() == musk.data.ids.tolist() and all(
        name.startswith("MUSK-") == bool(label) for name, label in zip(musk.ids, musk.target, strict=True)
    )
    # first line of clean1.data: MUSK-188,188_1+1,42,-198,-109,...
    assert musk.data[list(musk.ids).index("MUSK-188")][0, :3].tolist() == [42, -198, -109]
    assert len(musk.instance_names) == 476


def test_musk2_is_what_uci_describes():
    musk = load_musk2()
    assert musk.data.shape == (102, 166) and len(musk.data.instances) == 6598
    assert np.bincount(musk.target).tolist() == [63, 39]
    assert musk.data.sizes.min() == 1 and musk.data.sizes.max() == 1044
    # 1017 of the 6598 conformations are those of musks
    assert int(musk.data.sizes[musk.target == 1].sum()) == 1017


def test_folds_of_musk1_are_five_partitions_into_ten():
    folds = load_musk1().folds
    assert folds.shape == (5, 92)
    assert all(set(row.tolist()) == set(range(10)) for row in folds)
    assert "folds" not in load_musk2()


@pytest.mark.parametrize(("load", "version"), [(load_musk1, "Version 1"), (load_musk2, "Version 2")])
def test_descr_gives_source_and_licence(load, version):
    text = load().DESCR
    for part in (
        "UCI Machine Learning Repository",
        "CC BY 4.0",
        "Chapman",
        "https://doi.org/10.24432/",
        version,
    ):
        assert part in text
    assert ("folds" in text) == (version == "Version 1")


def test_return_X_y_gives_bags_and_labels():
    X, y = load_musk1(return_X_y=True)
    assert isinstance(X, Bags) and len(X) == len(y) == 92
    assert load_bags("musk1", return_X_y=True)[0] == X


def test_load_bags_takes_a_name_a_path_and_the_data_folder(bags, tmp_path, monkeypatch):
    y = np.arange(9) % 2
    assert load_bags("musk2").data.shape == (102, 166)
    for ending in (".csv", ".arff", ".npz"):
        write_bags(tmp_path / f"mine{ending}", bags, y)
        assert load_bags(tmp_path / f"mine{ending}").data == bags
        monkeypatch.setenv("SKMIL_DATA", str(tmp_path))
        assert load_bags("mine").data == bags and load_bags(f"mine{ending}").target.tolist() == y.tolist()
        (tmp_path / f"mine{ending}").unlink()
        monkeypatch.delenv("SKMIL_DATA")


def test_load_bags_passes_column_names_on_and_describes_what_it_read(tmp_path):
    (tmp_path / "x.csv").write_text("mol,act,w\na,1,0.5\nb,0,1.5\n")
    bunch = load_bags(tmp_path / "x.csv", bag="mol", label="act")
    assert bunch.target.tolist() == [1, 0] and bunch.ids.tolist() == ["a", "b"]
    assert bunch.DESCR == "Bags(2 bags, 2 instances, 1 feature; sizes 1 to 1, median 1) from x.csv"


def test_a_name_that_is_not_found_says_where_was_looked(tmp_path, monkeypatch):
    monkeypatch.delenv("SKMIL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"no data set 'musk3'.*musk1, musk2.*names no folder"):
        load_bags("musk3")
    (tmp_path / "tiger.npz").touch()
    monkeypatch.setenv("SKMIL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"holds tiger\.npz"):
        load_bags("lion")
    monkeypatch.setenv("SKMIL_DATA", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load_bags("lion")


def test_shared_sets_are_the_shipped_ones(shared_data):
    for name in ("musk1", "musk2"):
        theirs, ours = shared_data(name), load_bags(name)
        assert theirs.data == ours.data and np.array_equal(theirs.target, ours.target)


MAKERS = [
    make_annealing_toy,
    make_counts,
    make_gmil,
    make_lj,
    make_mixture_bags,
    make_profiles,
    make_speaker_like,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_generators_return_what_loaders_return(make):
    few = {"n_instances": 60, "positive": 5} if make is make_speaker_like else {}
    made = make(n_bags=12, random_state=0, **few)
    X, y = make(n_bags=12, random_state=0, return_X_y=True, **few)
    assert made.data == X and made.target.tolist() == y.tolist() and len(made.ids) == 12
    truth = made.energy if make is make_lj else made.instance_target
    assert truth.shape == (len(X.instances),)


def test_each_part_of_the_assumption_sets_is_what_loaders_return():
    made = make_assumption(n_bags=12, random_state=0)
    pairs = make_assumption(n_bags=12, random_state=0, return_X_y=True)
    assert list(made) == list(pairs) == ["train", "test", "attacked"]
    for name, part in made.items():
        X, y = pairs[name]
        assert part.data == X and part.target.tolist() == y.tolist() and len(part.ids) == 12
        assert part.instance_target.shape == (len(X.instances),)


@pytest.mark.parametrize("function", [*MAKERS, make_assumption, load_bags, load_musk1, load_musk2])
def test_return_X_y_goes_by_name_everywhere(function):
    assert signature(function).parameters["return_X_y"].kind is Parameter.KEYWORD_ONLY
