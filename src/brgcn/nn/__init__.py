"""Layers and models."""

from brgcn.nn.attention import AttentionWeights, RelationAttentionWeights
from brgcn.nn.baselines import BASELINES
from brgcn.nn.brgcn_conv import BRGCNConv
from brgcn.nn.featureless_conv import FeaturelessConv
from brgcn.nn.frame import MODELS
from brgcn.nn.node_model import NodeModel
from brgcn.nn.scorer import NodeScorer

__all__ = [
    "BASELINES",
    "MODELS",
    "AttentionWeights",
    "BRGCNConv",
    "FeaturelessConv",
    "NodeModel",
    "NodeScorer",
    "RelationAttentionWeights",
]
