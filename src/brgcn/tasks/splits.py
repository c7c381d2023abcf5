"""Stratified splits of labelled nodes: every class is spread over the parts as evenly as its size allows."""

from __future__ import annotations

import torch
from torch import Tensor


def stratified_folds(labels: Tensor, num_folds: int, seed: int) -> Tensor:
    """labels [n] -> [n] the fold 0..num_folds-1 of each; folds differ by at most one item, in total and per class."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(labels.numel(), generator=generator)
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    fold = torch.empty_like(labels)
    fold[by_class] = torch.arange(labels.numel()) % num_folds  # dealt out like cards, class after class
    return fold


def stratified_holdout(labels: Tensor, share: float, seed: int) -> Tensor:
    """labels [n] -> [n] True for the held-back share, at least one item; a class of one item stays in training."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(labels.numel(), generator=generator)
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    wanted = (torch.arange(labels.numel() + 1) * share + 0.5).floor()
    held = torch.zeros(labels.numel(), dtype=torch.bool)
    held[by_class] = wanted[1:] > wanted[:-1]
    for label in labels.unique():
        members = labels == label
        if held[members].all():  # otherwise the class could not be learned
            held[members.nonzero().squeeze(1)[0]] = False
    return held
