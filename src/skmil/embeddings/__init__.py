"""Embeddings: bag -> vector."""

from skmil.embeddings.base import BagEmbedding
from skmil.embeddings.mean import MeanEmbedding, MeanStdEmbedding, MinMaxEmbedding

__all__ = ["BagEmbedding", "MeanEmbedding", "MeanStdEmbedding", "MinMaxEmbedding"]
