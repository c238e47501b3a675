"""Embeddings: bag -> vector."""

from skmil.embeddings.base import BagEmbedding
from skmil.embeddings.boxes import BoxEmbedding
from skmil.embeddings.fisher import FisherEmbedding
from skmil.embeddings.isolation import IsolationEmbedding
from skmil.embeddings.mean import MeanEmbedding, MeanStdEmbedding, MinMaxEmbedding
from skmil.embeddings.miles import MilesEmbedding
from skmil.embeddings.nystroem import NystroemEmbedding
from skmil.embeddings.posterior import PosteriorEmbedding

__all__ = [
    "BagEmbedding",
    "BoxEmbedding",
    "FisherEmbedding",
    "IsolationEmbedding",
    "MeanEmbedding",
    "MeanStdEmbedding",
    "MilesEmbedding",
    "MinMaxEmbedding",
    "NystroemEmbedding",
    "PosteriorEmbedding",
]
