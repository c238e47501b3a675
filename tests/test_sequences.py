"""SequenceBags: scales against Biopython, smoothing against a loop, odd letters, pairwise coordinates."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.svm import SVC

from skmil.bags import Bags
from skmil.datasets import make_sequences
from skmil.kernels import BoxKernel
from skmil.sources import PairwiseAlignment, Residues, SequenceBags, SourceError, read_fasta
from skmil.sources._residues import AMINO_ACIDS, SCALES, smooth

Bio = pytest.importorskip("Bio", reason="needs skmil[sequences]")
from Bio.Data.IUPACData import protein_weights  # noqa: E402
from Bio.Seq import Seq  # noqa: E402
from Bio.SeqRecord import SeqRecord  # noqa: E402
from Bio.SeqUtils import ProtParamData  # noqa: E402

TRX = (  # thioredoxin 1 of Escherichia coli, P0AA25
    "MSDKIIHLTDDSFDTDVLKADGAILVDFWAEWCGPCKMIAPILDEIADEYQGKLTVAKLNIDQNPGTAPKYGIRGIPTLLLFKNGEVAATKVGALSKG"
    "QLKEFLDANLA"
)


def scale(name):
    return dict(zip(AMINO_ACIDS, SCALES[name], strict=True))


def test_scales_are_those_of_biopython_where_it_has_them():
    assert scale("kyte_doolittle") == ProtParamData.kd
    assert scale("ges") == {a: -v for a, v in ProtParamData.eg.items()}
    for a, weight in scale("molecular_weight").items():
        assert weight == pytest.approx(protein_weights[a], abs=0.01)


@pytest.mark.parametrize(
    ("name", "lowest", "highest", "total"),
    [
        ("polarity", "L", "D", 96.1 + 70.4),
        ("isoelectric_point", "D", "R", 58.44 + 62.09),
        ("alpha_helix", "P", "E", 5.375 + 5.184 + 5.458 + 4.391),
        ("solubility", "Y", "P", 401.61),
    ],
)
def test_sums_and_extremes_of_the_other_scales(name, lowest, highest, total):
    values = scale(name)
    assert min(values, key=values.get) == lowest and max(values, key=values.get) == highest
    assert sum(values.values()) == pytest.approx(total)


def test_solubilities_that_are_computed_from_what_was_published():
    values, weights = scale("solubility"), scale("molecular_weight")
    assert values["R"] == pytest.approx(10 ** (0.9770 + 0.01345 * 25), abs=0.005)  # Hayashi et al.
    for letter, log_s in {"N": -0.74, "Q": -0.55, "T": -0.09}.items():  # Huuskonen, mol/l
        assert values[letter] == pytest.approx(10**log_s * weights[letter] / 10, abs=0.005)


def test_titles_divided_by_control_characters_and_files_that_are_no_text(tmp_path):
    titles = "gi|3318709|pdb|1A91| subunit c of ATP synthase\1gi|999 a second title of the same sequence"
    (tmp_path / "nr.fasta").write_text(f">{titles}\nMKVLWCGPCK\n")
    assert read_fasta(tmp_path / "nr.fasta")[0].name == "gi|3318709|pdb|1A91|"
    (tmp_path / "zero.fasta").write_bytes(b">a\nMK\0")
    with pytest.raises(ValueError, match=r"zero\.fasta: it is not text"):
        read_fasta(tmp_path / "zero.fasta")


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0, 50.0])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_smoothing_is_the_weighted_mean(sigma, n):
    values = np.random.default_rng(0).normal(size=(n, 2))
    expected = np.empty_like(values)
    for i in range(n):
        near = [j for j in range(n) if abs(i - j) <= np.ceil(4 * sigma)]
        w = np.exp([-0.5 * ((i - j) / sigma) ** 2 for j in near])
        expected[i] = w @ values[near] / w.sum()
    assert np.allclose(smooth(values, sigma), expected, rtol=1e-12)
    assert np.allclose(smooth(np.ones((n, 1)), sigma), 1)


def test_the_papers_recipe():
    source = SequenceBags(motif="C..C", sigma=0)
    bags = source.fit_transform([TRX])
    assert bags.feature_names.tolist() == [*SCALES, "position"] and bags.n_features == 8
    parts = source.parts(TRX)
    start = TRX.index("CGPC")
    assert isinstance(parts, Residues) and parts.motif == (start, start + 4)
    assert parts.places.tolist() == list(range(start - 30, len(TRX)))
    assert np.array_equal(bags[0][:, 7], np.arange(start - 30, len(TRX)) - start)
    for row, place in zip(bags[0], parts.places, strict=True):
        assert row[:7].tolist() == [scale(name)[TRX[place]] for name in SCALES]


def test_a_window_of_214_where_the_sequence_is_long_enough():
    source = SequenceBags(motif="C..C")
    bags = source.fit_transform(["A" * 50 + "CGPC" + "S" * 200])
    assert bags.sizes.tolist() == [214] and bags[0][0, 7] == -30


def test_the_window_is_smoothed_after_it_is_cut():
    window = TRX[20:60]
    a = SequenceBags(motif="EWCGPCK", before=5, after=5).fit_transform([TRX])[0]
    start = TRX.index("EWCGPCK") - 5
    b = SequenceBags().fit_transform([TRX[start : start + 17]])[0]
    assert np.array_equal(a[:, :7], b[:, :7]) and "CGPC" in window


def test_letters_of_every_kind():
    plain = SequenceBags(sigma=0, position=False)
    bags = plain.fit_transform(["acdx", "BZJUO", "AC*", " A C\nD ", "A-C..D"])
    D, N, C = (np.array([scale(s)[a] for s in SCALES]) for a in "DNC")
    assert np.array_equal(bags[0][:3], plain.transform(["ACD"])[0])
    assert np.allclose(bags[0][3], [np.mean(SCALES[s]) for s in SCALES])
    assert np.allclose(bags[1][0], (D + N) / 2) and np.array_equal(bags[1][3], C)
    assert bags.sizes.tolist() == [4, 5, 2, 3, 3]
    assert plain.parts(" A C\nD ").places.tolist() == [1, 3, 5]


def test_columns_of_aligned_sequences():
    assert SequenceBags([], gaps="drop").fit_transform(["--AC-D"])[0].tolist() == [[0], [1], [2]]
    assert SequenceBags([], gaps="column").fit_transform(["--AC-D"])[0].tolist() == [[2], [3], [5]]
    around = SequenceBags([], gaps="column", motif="CD", before=1).fit_transform(["--AC-D"])
    assert around[0].tolist() == [[-1], [0], [2]]


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        ("", "it holds no residues"),
        ("---*", "it holds no residues"),
        ("ACGTTGCATTGCA", "it looks like DNA or RNA"),
        ("acgunacguacgu", "it looks like DNA or RNA"),
        ("MKV3A", "it holds '3', which is no amino acid, at character 3"),
        ("MKÖ", "'Ö'"),
        ("MK*VA", "it holds a stop at character 2"),
        (">a\nMK\n>b\nMV\n", "it holds 2 sequences; read_fasta"),
        (7, "of type int"),
        (None, "it is missing"),
        (Path("missing.fasta"), "No such file"),
        ("missing.fa", "No such file"),
    ],
)
def test_what_gives_no_bag_is_named_and_skipped(thing, reason):
    source = SequenceBags(on_error="skip")
    with pytest.warns(UserWarning, match="1 of 2"):
        bags = source.fit_transform([thing, "MKVA"])
    assert bags.ids.tolist() == ["1"] and reason in source.failures_[0].reason


def test_peptides_that_only_look_a_little_like_dna():
    assert SequenceBags().fit_transform(["GAGAGAGAGAGAGA", "CAT", "ACGTACGTACGTW"]).sizes.tolist() == [
        14,
        3,
        13,
    ]


def test_a_motif_that_is_not_there_and_letters_refused():
    with pytest.raises(SourceError, match=r"1 \('1'\): the motif 'W\.C' is not in it"):
        SequenceBags(motif="W.C").fit_transform(["awgc", "MKV"])
    with pytest.raises(SourceError, match="'X', which is no amino acid, at character 1"):
        SequenceBags(unknown="raise").fit_transform(["MXK"])


def test_the_first_motif_counts_and_case_does_not():
    parts = SequenceBags(motif="wc..c", before=1, after=1).fit(["M"]).parts("kwcggckkwcaack")
    assert parts.motif == (1, 6) and parts.places.tolist() == list(range(7))


def test_files_and_records(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(f">sp|P0AA25|THIO E. coli\n{TRX[:60]}\n{TRX[60:]}\n\n>two\nMKV\n")
    things = read_fasta(path)
    assert [(t.name, t.content) for t in things] == [("sp|P0AA25|THIO", TRX), ("two", "MKV")]
    one = tmp_path / "one.fa"
    one.write_text(">only\nMKV\n")
    record = SeqRecord(Seq("MKV"), id="record")
    bags = SequenceBags().fit_transform([one, ">header x\nMKV", record, Seq("MKV"), "MKV"])
    assert bags.ids.tolist() == [str(one), "header", "record", "3", "4"]
    assert all(np.array_equal(bag, bags[0]) for bag in bags)
    path.write_text("no record")
    with pytest.raises(ValueError, match="no sequence"):
        read_fasta(path)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"indices": ["hydropathy"]}, "there are ges, kyte_doolittle"),
        ({"indices": "ges"}, "'indices' parameter .* array-like"),
        ({"indices": {"own": {"A": 1.0}}}, "'own' has no value for R, N, D"),
        ({"indices": [], "position": False}, "no features"),
        ({"sigma": -1}, "'sigma' parameter .* Got -1"),
        ({"sigma": np.nan}, "'sigma' parameter .* Got nan"),
        ({"motif": "C["}, "no regular expression"),
        ({"before": -1}, "'before' parameter .* Got -1"),
        ({"after": 1.5}, "'after' parameter .* an int"),
        ({"gaps": "keep"}, "'gaps' parameter of SequenceBags must be"),
        ({"unknown": "zero"}, "'unknown' parameter of SequenceBags must be"),
    ],
)
def test_parameters_are_checked(parameters, what):
    with pytest.raises((ValueError, TypeError), match=what):
        SequenceBags(**parameters).fit(["MKV"])


def test_own_scales_stand_beside_known_ones():
    source = SequenceBags({"own": dict.fromkeys(AMINO_ACIDS, 2.0), "ges": None}, sigma=0, position=False)
    assert source.fit_transform(["MK"])[0].tolist() == [[2, 3.4], [2, -8.8]]
    assert source.get_feature_names_out().tolist() == ["own", "ges"]


def test_clone_pickle_and_threads_give_the_same_bags():
    data = make_sequences(12, random_state=0).data
    source = SequenceBags(motif="WCGPC", letters=True, n_jobs=3)
    bags = source.fit_transform(data)
    assert clone(source).set_params(n_jobs=1).fit_transform(data) == bags
    assert pickle.loads(pickle.dumps(source)).transform(data[:3]) == bags[:3]


def aligned(p, q, **parameters):
    P, Q = SequenceBags(["ges"], sigma=0, letters=True).fit_transform([p, q])
    before = P.copy()
    out = PairwiseAlignment(**parameters)(P, Q)
    assert np.array_equal(P, before) and np.array_equal(out[0][:, 0], P[:, 0])
    assert not out[0][:, 2].any() and not out[1][:, 2].any()
    return [x[:, 1].astype(int).tolist() for x in out]


def test_columns_of_the_alignment_of_a_pair():
    assert aligned(TRX, TRX) == [list(range(len(TRX)))] * 2
    p, q = aligned(TRX, TRX[:40] + TRX[52:])
    assert p == list(range(len(TRX))) and q == [*range(40), *range(52, len(TRX))]
    assert aligned("MKUJOXBZW", "MKCLKXBZW")[0] == list(range(9))


def test_both_orders_give_the_same_columns():
    data = make_sequences(6, random_state=1).data
    for p in data[:3]:
        for q in data[3:]:
            assert aligned(p, q) == aligned(q, p)[::-1]


def test_the_aligner_pickles_and_names_what_it_cannot_align():
    again = pickle.loads(pickle.dumps(PairwiseAlignment(open_gap=-12.0)))
    assert vars(again) == vars(PairwiseAlignment(open_gap=-12.0))
    with pytest.raises(ValueError, match=r"holds 0\.5, which is no letter"):
        again(np.array([[0, 0.5]]), np.array([[0, 1.0]]))
    with pytest.raises(ValueError, match=r"SequenceBags\(letters=True\)"):
        again(np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="matrix is 'PAM1'; Biopython has"):
        PairwiseAlignment(matrix="PAM1")(np.zeros((2, 2)), np.zeros((2, 2)))


def test_families_of_sequences():
    made = make_sequences(10, random_state=0)
    assert made.data == make_sequences(10, random_state=0).data and made.target.sum() == 5
    for s, (a, b) in zip(made.data, made.patches, strict=True):
        assert set(s[a:b]) <= set("ILVF") and not set(s[:a] + s[b:]) & set("ILVF") and "WCGPC" in s
    with pytest.raises(ValueError, match="length 20"):
        make_sequences(length=20)


def test_pairwise_coordinates_tell_what_positions_do_not():
    made = make_sequences(12, random_state=0)

    def accuracy(source, align):
        # Without names: the coordinates of a pair are not the features that the kernel was fitted on.
        bags = Bags.from_list(list(source.fit_transform(made.data)))
        K = BoxKernel("and/or", align=align, delta=0.1, random_state=0).fit(bags)(bags)
        return cross_val_score(SVC(kernel="precomputed", C=10), K, made.target, cv=LeaveOneOut()).mean()

    hydropathy = ["kyte_doolittle"]
    absolute = accuracy(SequenceBags(hydropathy), None)
    from_motif = accuracy(SequenceBags(hydropathy, motif="WCGPC", before=100, after=300), None)
    pairwise = accuracy(SequenceBags(hydropathy, letters=True), PairwiseAlignment())
    assert pairwise >= 0.9 and pairwise > max(absolute, from_motif) + 0.1
