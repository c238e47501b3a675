"""The comparison tables of the papers, run again and set beside the published figures."""

from skmil.reproduce.run import reproduce
from skmil.reproduce.table import Table, load_tables

__all__ = ["Table", "load_tables", "reproduce"]
