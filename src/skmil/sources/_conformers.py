"""Molecules to conformers: distance geometry, a force field, an energy window, pruning by RMSD."""

from typing import Any, NamedTuple

import numpy as np

from skmil.sources.parts import Conformers
from skmil.sources.things import BadThing

# Atoms that the torsion preferences of ETKDG and at least UFF describe in covalent molecules.
NONMETALS = frozenset("H B C N O F Si P S Cl As Se Br Te I".split())
ATTEMPTS = 30  # per conformer; RDKit takes ten times the number of atoms, hours for some natural products
DRIFT = 1e-6  # kcal/mol: energies this close are of one shape, or of mirror images; the first comes first


class Recipe(NamedTuple):
    """How conformers are made."""

    n: int
    window: float
    rmsd: float
    force_field: str | None
    seed: int


def rdkit():
    """The parts of RDKit that are used here, or an error that names what to install."""
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdDistGeom, rdForceFieldHelpers, rdMolAlign, rdMolDescriptors
        from rdkit.ForceField import rdForceField  # noqa: F401  (older versions then know its classes)
    except ImportError:
        raise ImportError("MoleculeBags needs RDKit: pip install skmil[molecules]") from None
    return _Tools(Chem, rdBase, rdDistGeom, rdForceFieldHelpers, rdMolAlign, rdMolDescriptors)


class _Tools(NamedTuple):
    Chem: Any
    base: Any
    geometry: Any
    fields: Any
    align: Any
    descriptors: Any


def generated(mol, recipe: Recipe) -> Conformers:
    """New conformers of a molecule with its hydrogens, the lowest in energy first.

    ETKDGv3 places ``recipe.n`` conformers; the force field relaxes them; those more than ``window`` above
    the lowest go, and of the others each that lies within ``rmsd`` of a lower one (heavy atoms, best over
    the symmetries of the molecule).
    """
    tools = rdkit()
    mol = tools.Chem.AddHs(tools.Chem.RemoveHs(mol))
    mol.RemoveAllConformers()
    _embed(mol, recipe, tools)
    energies, field = _relax(mol, recipe.force_field, tools)
    order = np.lexsort((np.arange(len(energies)), np.round(energies / DRIFT)))
    order = order[energies[order] - energies[order[0]] <= recipe.window] if field else order
    keep = _distinct(mol, order, recipe.rmsd, tools)
    return _reduced(mol, keep, energies[keep], field, tools)


def given(mol, force_field: str | None) -> Conformers:
    """The conformers that a molecule came with, where they are; hydrogens that lack are put in place."""
    tools = rdkit()
    if not any(c.Is3D() for c in mol.GetConformers()):
        raise BadThing("it has no 3-D coordinates; use conformers='generate'")
    mol = tools.Chem.AddHs(mol, addCoords=True)
    ids = [c.GetId() for c in mol.GetConformers() if c.Is3D()]
    field = _field_of(mol, force_field, tools)
    energies = np.array([_energy(mol, i, field, tools) for i in ids])
    return Conformers(mol, np.array(ids), energies - np.min(energies), field)


def _embed(mol, recipe: Recipe, tools) -> None:
    parameters = tools.geometry.ETKDGv3()
    # RDKit multiplies seed and conformer (all alike at seed 0) unless told to add them.
    parameters.enableSequentialRandomSeeds = True
    parameters.randomSeed = 1 + int(np.random.SeedSequence(recipe.seed).generate_state(1)[0] >> 2)
    parameters.numThreads = 1  # molecules run side by side
    parameters.maxIterations = ATTEMPTS
    # One conformer shows whether any can be placed; large rings and cages often need random coordinates.
    for random in (False, True):
        parameters.useRandomCoords = random
        if len(tools.geometry.EmbedMultipleConfs(mol, 1, parameters)):
            tools.geometry.EmbedMultipleConfs(mol, recipe.n, parameters)
            return
    raise BadThing("no conformer could be embedded; check its stereochemistry and rings")


def _field_of(mol, wanted: str | None, tools) -> str:
    """The force field that knows every atom: MMFF94s, else UFF, else none."""
    if wanted is None:
        return ""
    if wanted in ("auto", "mmff") and tools.fields.MMFFHasAllMoleculeParams(mol):
        return "MMFF94s"
    if wanted in ("auto", "uff") and tools.fields.UFFHasAllMoleculeParams(mol):
        return "UFF"
    raise BadThing(f"no parameters of the force field ({wanted}) for it; use force_field=None")


def _relax(mol, wanted: str | None, tools) -> tuple[np.ndarray, str]:
    field = _field_of(mol, wanted, tools)
    if not field:
        return np.full(mol.GetNumConformers(), np.nan), field
    if field == "UFF":
        results = tools.fields.UFFOptimizeMoleculeConfs(mol, numThreads=1, maxIters=1000)
    else:
        results = tools.fields.MMFFOptimizeMoleculeConfs(
            mol, numThreads=1, maxIters=1000, mmffVariant="MMFF94s"
        )
    energies = np.array([energy for _, energy in results])
    if not np.isfinite(energies).all():
        raise BadThing(f"{field} gives no finite energy for it")
    return energies, field


def _energy(mol, conformer: int, field: str, tools) -> float:
    if not field:
        return np.nan
    if field == "UFF":
        return tools.fields.UFFGetMoleculeForceField(mol, confId=conformer).CalcEnergy()
    properties = tools.fields.MMFFGetMoleculeProperties(mol, mmffVariant="MMFF94s")
    return tools.fields.MMFFGetMoleculeForceField(mol, properties, confId=conformer).CalcEnergy()


def _distinct(mol, order: np.ndarray, rmsd: float, tools) -> list[int]:
    """Conformers, lowest first, each farther than ``rmsd`` from all that were kept before it."""
    ids = [c.GetId() for c in mol.GetConformers()]
    heavy = tools.Chem.RemoveHs(mol)
    if rmsd <= 0 or len(ids) == 1:
        return [int(i) for i in order]
    if heavy.GetNumAtoms() < 3:  # one atom or two have one shape up to the bond's length
        return [int(order[0])]
    # The lower triangle, row by row; 1,000 symmetries are plenty for a threshold.
    lower = tools.align.GetAllConformerBestRMS(heavy, numThreads=1, maxMatches=1000)
    D = np.zeros((len(ids), len(ids)))
    D[np.tril_indices(len(ids), -1)] = lower
    D += D.T
    kept: list[int] = []
    for i in order:
        if all(D[i, k] > rmsd for k in kept):
            kept.append(int(i))
    return kept


def _reduced(mol, keep: list[int], energies: np.ndarray, field: str, tools) -> Conformers:
    """A molecule with the kept conformers alone, numbered in their order."""
    old = list(mol.GetConformers())
    new = tools.Chem.Mol(mol)
    new.RemoveAllConformers()
    for i in keep:
        new.AddConformer(tools.Chem.Conformer(old[i]), assignId=True)
    return Conformers(new, np.arange(len(keep)), energies - energies.min(), field)
