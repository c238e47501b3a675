"""The comparison tables of the papers, run again and set beside the published figures."""

from reproduction.run import reproduce
from reproduction.tasks import Table, load_tables

__all__ = ["Table", "load_tables", "reproduce"]
