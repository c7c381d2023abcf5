"""Mixed precision: under autocast features are held in the lower precision; scores and softmax stay in float32."""

from __future__ import annotations

import torch
from torch import Tensor


def autocast_features(features: Tensor) -> Tensor:
    """In autocast's dtype where it is on, unchanged elsewhere."""
    kind = features.device.type
    if not torch.is_autocast_enabled(kind) or features.dtype == torch.float64:
        return features
    return features.to(torch.get_autocast_dtype(kind))
