"""3-D descriptors of one conformer, by name, and the molecules that files and SMILES hold."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmil.sources._conformers import NONMETALS, rdkit
from skmil.sources.things import BadThing

# Name of RDKit's function, number of values.
DESCRIPTORS = {
    "usrcat": ("GetUSRCAT", 60),
    "usr": ("GetUSR", 12),
    "whim": ("CalcWHIM", 114),
    "autocorr3d": ("CalcAUTOCORR3D", 80),
    "morse": ("CalcMORSE", 224),
    "rdf": ("CalcRDF", 210),
    "getaway": ("CalcGETAWAY", 273),
}
LEAST_ATOMS = 3  # USR measures distances from four points that fewer atoms do not define


def describe(conformers, descriptor: str | Callable) -> np.ndarray:
    """One row per conformer.

    Parameters
    ----------
    conformers : Conformers
    descriptor : str or function (mol, conformer id) -> vector
    """
    mol, ids = conformers.mol, conformers.ids.tolist()
    if isinstance(descriptor, str):
        if mol.GetNumAtoms() < LEAST_ATOMS:
            raise BadThing(f"it has {mol.GetNumAtoms()} atoms; descriptors of shape need {LEAST_ATOMS}")
        function = getattr(rdkit().descriptors, DESCRIPTORS[descriptor][0])
        rows = [np.array(function(mol, confId=i), dtype=float) for i in ids]
    else:
        rows = [np.asarray(descriptor(mol, i), dtype=float) for i in ids]
    return _checked(rows, descriptor)


def _checked(rows: list[np.ndarray], descriptor) -> np.ndarray:
    shapes = {row.shape for row in rows}
    if len(shapes) > 1 or len(rows[0].shape) != 1 or not rows[0].size:
        raise BadThing(
            f"the descriptor gives {sorted(shapes)[0]} values; expected one vector of one length"
        )
    table = np.vstack(rows)
    if not np.isfinite(table).all():
        conformer, feature = (int(v[0]) for v in np.nonzero(~np.isfinite(table)))
        name = descriptor if isinstance(descriptor, str) else getattr(descriptor, "__name__", "descriptor")
        raise BadThing(
            f"{name} gives {table[conformer, feature]} as value {feature} of conformer {conformer}; "
            "use another descriptor"
        )
    return table


def feature_names(descriptor, n: int) -> list[str]:
    """``usrcat_1`` and so on."""
    name = descriptor if isinstance(descriptor, str) else getattr(descriptor, "__name__", "descriptor")
    return [f"{name.strip('<>')}_{k + 1}" for k in range(n)]


def parse_smiles(text: str) -> Any:
    """A molecule from SMILES, or an error with RDKit's reason."""
    tools = rdkit()
    mol = tools.Chem.MolFromSmiles(text)
    if mol is not None:
        return mol
    raw = tools.Chem.MolFromSmiles(text, sanitize=False)
    problems = [] if raw is None else tools.Chem.DetectChemistryProblems(raw)
    if problems:
        raise BadThing(f"{_short(text)} is no possible molecule: {problems[0].Message()}")
    raise BadThing(f"{_short(text)} is no SMILES")


def parse_block(text: str) -> Any:
    """A molecule from one record of an SDF or MOL file, hydrogens and coordinates as they are."""
    tools = rdkit()
    supplier = tools.Chem.SDMolSupplier()
    supplier.SetData(text, removeHs=False)
    mols = list(supplier)
    if len(mols) > 1:
        return merged(mols)
    if mols and mols[0] is not None:
        return mols[0]
    raw = tools.Chem.MolFromMolBlock(text, sanitize=False, removeHs=False)
    problems = [] if raw is None else tools.Chem.DetectChemistryProblems(raw)
    if problems:
        raise BadThing(f"its record is no possible molecule: {problems[0].Message()}")
    raise BadThing("its record is no MOL block that RDKit can read")


def merged(mols: list) -> Any:
    """Several records as conformers of one molecule; refused if they are different molecules."""
    tools = rdkit()
    if any(mol is None for mol in mols):
        raise BadThing(f"record {1 + mols.index(None)} of {len(mols)} cannot be read")
    names = [tools.Chem.MolToSmiles(mol) for mol in mols]
    if len(set(names)) > 1:
        raise BadThing(
            f"it holds {len(mols)} records of different molecules; read_sdf gives a list of them"
        )
    whole = tools.Chem.Mol(mols[0])
    for mol in mols[1:]:
        # Records of one molecule may number its atoms differently.
        match = mol.GetSubstructMatch(whole, useChirality=True) or mol.GetSubstructMatch(whole)
        for conformer in tools.Chem.RenumberAtoms(mol, list(match)).GetConformers():
            whole.AddConformer(tools.Chem.Conformer(conformer), assignId=True)
    return whole


def checked(mol, salts: str) -> Any:
    """A molecule of one piece without metals, or an error that names what is wrong."""
    tools = rdkit()
    if mol.GetNumAtoms() == 0:
        raise BadThing("it has no atoms")
    pieces = tools.Chem.GetMolFrags(mol)
    if len(pieces) > 1:
        mol = _largest(mol, pieces, salts, tools)
    strange = {a.GetSymbol() for a in mol.GetAtoms()} - NONMETALS
    if strange:
        what = "a dummy atom" if strange == {"*"} else ", ".join(sorted(strange))
        raise BadThing(f"it contains {what}, whose shape conformer generation does not know")
    return mol


def _largest(mol, pieces, salts: str, tools):
    """The piece with most heavy atoms, then weight; charges stay as they are."""
    if salts == "raise":
        raise BadThing(
            f"it is a salt or mixture of {len(pieces)} pieces ({tools.Chem.MolToSmiles(mol)}); "
            "use salts='largest' to keep the largest"
        )
    parts = tools.Chem.GetMolFrags(mol, asMols=True)
    weight = tools.descriptors.CalcExactMolWt
    return max(parts, key=lambda m: (m.GetNumHeavyAtoms(), weight(m), tools.Chem.MolToSmiles(m)))


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
