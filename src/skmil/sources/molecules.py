"""Molecules as bags of conformers: the shapes that a molecule can take, one instance each."""

from pathlib import Path

import numpy as np

from skmil._parameters import COUNT, NOT_NEGATIVE, one_of, real, whole
from skmil.sources._conformers import Recipe, generated, given, rdkit
from skmil.sources._descriptors import (
    DESCRIPTORS,
    checked,
    describe,
    feature_names,
    parse_block,
    parse_smiles,
)
from skmil.sources._reading import decode, file_text, table_rows
from skmil.sources.base import BagSource, Extract
from skmil.sources.things import BadThing, Thing


class MoleculeBags(BagSource):
    """A bag per molecule: conformers of low energy, 3-D descriptors of each.

    Dietterich, Lathrop & Lozano-Pérez (1997) made multiple-instance learning for this: a molecule is active
    if one of its shapes is. Conformers come from distance geometry with torsion preferences (ETKDGv3 [1]_);
    a force field relaxes them; those within ``window`` of the lowest stay, less those within ``rmsd`` of a
    lower one. Descriptors do not depend on how a shape lies in space. Charges, tautomers and
    stereochemistry stay as given; a stereocentre that is left open may differ between conformers.

    Parameters
    ----------
    conformers : "generate" or "given"
        "given" keeps the 3-D coordinates that molecules came with, as in an SDF.
    n_conformers : int
        Conformers to begin with; the bags are smaller.
    window : float
        Highest energy above the lowest, in kcal/mol.
    rmsd : float
        Least distance between two conformers, in Ångström, over heavy atoms; 0 keeps all.
    force_field : "auto", "mmff", "uff" or None
        "auto" takes MMFF94s where it knows all atoms, else UFF; ``None`` leaves shapes as they were placed
        and every energy within the window.
    descriptor : str or function (mol, conformer id) -> vector
        "usrcat" (60 distances and their moments [2]_), "usr" (12), "whim" (114), "autocorr3d" (80),
        "morse" (224), "rdf" (210) or "getaway" (273), of the molecule with its hydrogens.
    salts : "raise" or "largest"
        What to do with more than one piece: refuse it, or keep the largest.
    random_state : int
    on_error : "raise" or "skip"
        Raise one error about all molecules that give no bag (salts, metals, no embedding), or leave them
        out with a warning.
    n_jobs : int, optional
        Molecules at a time; the number of threads of the library by default. Results do not depend on it.
    cache : path, optional
        A folder where descriptors are kept from one process to the next.

    Attributes
    ----------
    failures_ : list of Failure
        What the last call left out.

    Notes
    -----
    A thing is a SMILES string, the text of a MOL block, an RDKit molecule, or the path of a ``.mol`` or
    ``.sdf`` file with one molecule (several records of it are its conformers). ``read_sdf`` and
    ``read_smiles`` give the molecules of a file that holds many. Time is that of the conformers: about 0.03
    seconds each for a drug-like molecule.

    References
    ----------
    .. [1] S. Wang, J. Witek, G. A. Landrum, S. Riniker, "Improving conformer generation for small rings and
       macrocycles based on distance geometry and experimental torsional-angle preferences", JCIM 60, 2020.
    .. [2] A. M. Schreyer, T. Blundell, "USRCAT: real-time ultrafast shape recognition with pharmacophoric
       constraints", J. Cheminformatics 4:27, 2012.

    Examples
    --------
    >>> from skmil.sources import MoleculeBags
    >>> source = MoleculeBags(n_conformers=10)
    >>> bags = source.fit_transform(["CCO", "CCCCCO"])
    >>> bags.n_features, bags.sizes[0] < bags.sizes[1]
    (60, np.True_)
    >>> source.parts("CCO").force_field
    'MMFF94s'
    """

    _suffixes = (".sdf", ".sd", ".mol")
    _parameter_constraints: dict = {
        **BagSource._parameter_constraints,
        "conformers": [one_of("generate", "given")],
        "n_conformers": [COUNT],
        "window": [real(0, np.inf, "right")],
        "rmsd": [NOT_NEGATIVE],
        "force_field": [one_of("auto", "mmff", "uff"), None],
        "descriptor": [one_of(*DESCRIPTORS), callable],
        "salts": [one_of("raise", "largest")],
        "random_state": [whole(0, 2**31 - 1)],  # RDKit's seeds
    }

    def __init__(
        self,
        conformers="generate",
        n_conformers=30,
        window=10.0,
        rmsd=0.5,
        force_field="auto",
        descriptor="usrcat",
        salts="raise",
        random_state=0,
        on_error="raise",
        n_jobs=None,
        cache=None,
    ):
        self.conformers = conformers
        self.n_conformers = n_conformers
        self.window = window
        self.rmsd = rmsd
        self.force_field = force_field
        self.descriptor = descriptor
        self.salts = salts
        self.random_state = random_state
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.cache = cache

    def _check(self):
        rdkit()

    def _name(self, content):
        """The title of an RDKit molecule or of a MOL block, or a SMILES itself."""
        if isinstance(content, str):
            return content.split("\n", 1)[0].strip() or None
        named = hasattr(content, "HasProp") and content.HasProp("_Name")
        return content.GetProp("_Name") or None if named else None

    def _extract(self, content, thing):
        with rdkit().base.BlockLogs():  # what RDKit would print is said in errors that name the molecule
            mol = checked(as_molecule(content), self.salts)
            given_ = self.conformers == "given"
            parts = given(mol, self.force_field) if given_ else generated(mol, self._recipe_of_shapes())
            return Extract(describe(parts, self.descriptor), parts)

    def _recipe_of_shapes(self) -> Recipe:
        seed = int(self.random_state)
        return Recipe(int(self.n_conformers), self.window, self.rmsd, self.force_field, seed)

    def _learns(self):
        """A user's descriptor says with the training molecules how many values it has."""
        return not isinstance(self.descriptor, str)

    def _fit(self, extracts):
        self.n_values_ = extracts[0].shape[1]

    def _feature_names(self):
        n = DESCRIPTORS[self.descriptor][1] if isinstance(self.descriptor, str) else self.n_values_
        return feature_names(self.descriptor, n)

    def _content_bytes(self, content):
        if isinstance(content, (bytes, str)):
            return super()._content_bytes(content)
        # Coordinates in full: two conformers of one molecule are two keys.
        options = rdkit().Chem.PropertyPickleOptions
        return content.ToBinary(int(options.CoordsAsDouble))

    def _versions(self):
        return [rdkit().base.rdkitVersion]


def read_sdf(path) -> list[Thing]:
    """The molecules of an SDF, each with its title (or its number) as name.

    Neighbouring records with the same title stay together: they are conformers of one molecule for
    ``MoleculeBags(conformers="given")``.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of Thing, whose content is the text of the records
    """
    text = file_text(path)
    records = [r for r in _records(text) if r.strip()]
    if not records:
        raise ValueError(f"{path}: no record; an SDF ends each with a line $$$$")
    groups: list[list[str]] = []
    for record in records:
        title = record.split("\n", 1)[0].strip()
        if title and groups and groups[-1][0].split("\n", 1)[0].strip() == title:
            groups[-1].append(record)
        else:
            groups.append([record])
    titles = [g[0].split("\n", 1)[0].strip() or str(i + 1) for i, g in enumerate(groups)]
    return [Thing("".join(g), name) for g, name in zip(groups, titles, strict=True)]


def _records(text: str) -> list[str]:
    """Records of an SDF with their ends."""
    parts = text.split("$$$$")
    whole = [part.removeprefix("\n") if i else part for i, part in enumerate(parts)]
    return [part + "$$$$\n" if part.strip() else "" for part in whole]


def read_smiles(path, column=None, name=None, label=None) -> tuple[list[Thing], np.ndarray | None]:
    """The molecules of a table of SMILES.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv`` with a header; ``.smi``: SMILES and name divided by space, comments after #.
    column, name, label : str, optional
        Columns of the SMILES (by default the one called "smiles"), of names and of labels.

    Returns
    -------
    things : list of Thing
    labels : array of str, or None where no column was named
    """
    path = Path(path)
    if path.suffix.lower() in (".smi", ".smiles"):
        rows = [line.split(None, 1) for line in file_text(path).splitlines() if line.strip()]
        rows = [r for r in rows if not r[0].startswith(("#", "//")) and r[0].lower() != "smiles"]
        return [Thing(r[0], r[1].strip() if len(r) > 1 else r[0]) for r in rows], None
    table = table_rows(path)
    header, rows = (table[0], [r for r in table[1:] if r]) if table else ([], [])
    at = _column(path, header, column, ("smiles", "canonical_smiles", "structure"))
    by = None if name is None else _column(path, header, name, ())
    y = None if label is None else _column(path, header, label, ())
    for k, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"{path}, row {k + 2}: {len(row)} cells under {len(header)} columns")
    things = [Thing(r[at].strip(), r[at].strip() if by is None else r[by]) for r in rows]
    return things, None if y is None else np.array([r[y] for r in rows])


def _column(path, header: list[str], wanted: str | None, usual: tuple[str, ...]) -> int:
    names = [h.strip().lower() for h in header]
    for candidate in usual if wanted is None else (wanted.strip().lower(),):
        if candidate in names:
            return names.index(candidate)
    what = "of SMILES" if wanted is None else repr(wanted)
    raise ValueError(f"{path}: no column {what}; it has {', '.join(header) or 'no header'}")


def as_molecule(content):
    """An RDKit molecule from whatever a thing may be."""
    if isinstance(content, bytes):
        content = decode(content)
    if isinstance(content, str):
        if not content.strip():
            raise BadThing("it is empty")
        return parse_block(content) if "\n" in content.strip() else parse_smiles(content.strip())
    if not hasattr(content, "GetConformers"):
        raise BadThing(f"it is of type {type(content).__name__}; expected SMILES, a molecule or a path")
    return content
