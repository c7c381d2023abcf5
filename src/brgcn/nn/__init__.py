"""Layers and models."""

from brgcn.nn.attention import AttentionWeights, RelationAttentionWeights
from brgcn.nn.brgcn_conv import BRGCNConv
from brgcn.nn.featureless_conv import FeaturelessConv
from brgcn.nn.frame import MODELS
from brgcn.nn.node_model import NodeModel

__all__ = ["MODELS", "AttentionWeights", "BRGCNConv", "FeaturelessConv", "NodeModel", "RelationAttentionWeights"]
