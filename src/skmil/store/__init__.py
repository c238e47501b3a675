"""Bags on disk: a Zarr group that is read block by block, and the writer that makes it."""

from skmil.store.convert import Conversion, convert_folder
from skmil.store.reading import BagStore, open_bags
from skmil.store.writing import BagWriter, write_bags, writer

__all__ = ["BagStore", "BagWriter", "Conversion", "convert_folder", "open_bags", "write_bags", "writer"]
