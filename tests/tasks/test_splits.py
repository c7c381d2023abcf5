from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from brgcn.tasks.splits import stratified_folds, stratified_holdout

label_lists = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(torch.tensor)


@given(label_lists, st.integers(2, 6), st.integers(0, 99))
def test_folds_are_even_in_total_and_per_class(labels, num_folds, seed) -> None:
    fold = stratified_folds(labels, num_folds, seed)
    for part in [fold, *(fold[labels == c] for c in labels.unique())]:
        sizes = torch.bincount(part, minlength=num_folds)
        assert int(sizes.max() - sizes.min()) <= 1
    assert fold.equal(stratified_folds(labels, num_folds, seed))


@given(label_lists, st.integers(0, 99))
def test_holdout_leaves_every_class_in_training(labels, seed) -> None:
    held = stratified_holdout(labels, 0.2, seed)
    assert set(labels[~held].tolist()) == set(labels.tolist())
    assert abs(int(held.sum()) - 0.2 * labels.numel()) <= 1 + 5
    for c in labels.unique():
        size = int((labels == c).sum())
        assert abs(int(held[labels == c].sum()) - 0.2 * size) <= 1.5


def test_seeds_differ() -> None:
    labels = torch.arange(100) % 3
    assert not stratified_folds(labels, 5, 0).equal(stratified_folds(labels, 5, 1))
