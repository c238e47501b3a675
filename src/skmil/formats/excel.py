"""Excel workbooks (.xlsx), through openpyxl, with the columns of the CSV."""

from collections.abc import Iterator
from pathlib import Path

from sklearn.utils import Bunch

from skmil.formats._files import How, wrong
from skmil.formats.delimited import read_rows


def read(path: Path, how: How) -> Bunch:
    """Read the first sheet; formulas count by the values that were saved with them."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or save as CSV") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises whatever the damaged bytes lead to
        raise wrong(path, None, f"expected a complete Excel workbook ({error})") from None
    try:
        return read_rows(path, _rows(book.worksheets[0]), how)
    finally:
        book.close()


def _rows(sheet) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows as text; empty rows and the empty cells behind the last column are left out."""
    width = None
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        row = ["" if c is None else str(c) for c in cells]
        if not any(row):
            continue
        if width is None:
            width = max(k for k, c in enumerate(row, start=1) if c)
        yield line, row[:width] + [""] * (width - len(row))
