"""What a model's cosines mean, learned from questions whose answers are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.provider.meaning import vector

from polyvox.memory import embeddings
from polyvox.memory.tables.vectors import Scale
from polyvox.memory.words import terms_of, words_of
from polyvox.models.embeddings import unit


def test_no_pair_shares_a_word() -> None:
    """Else a model would be judged by what words find already."""
    assert len(embeddings.PAIRS) == 24
    for question, answer in embeddings.PAIRS:
        assert not {term.word for term in terms_of(question)} & {*words_of(answer)}, question


def learned(size: int, change: Callable[[float], float] = float) -> Scale:
    return embeddings.scale_of(
        [unit([change(one) for one in vector(text, size)]) for text in embeddings.TEXTS]
    )


@pytest.mark.parametrize("size", [256, 512, 1024])
@pytest.mark.parametrize("more", [0.0, 0.03])
def test_each_model_has_a_range_of_its_own(size: int, more: float) -> None:
    scale = learned(size, lambda one: one + more)

    assert scale.size == size
    assert embeddings.useful(scale)
    assert embeddings.relevance(scale, scale.far) == pytest.approx(0.1)
    assert embeddings.relevance(scale, scale.near) == pytest.approx(0.8)
    assert embeddings.relevance(scale, 1.0) > 0.8
    assert embeddings.relevance(scale, -1.0) < 0.05


def test_a_scale_moves_up_with_the_crowd_and_never_down() -> None:
    scale = Scale(8, near=0.6, far=0.2, spread=0.05)
    moved = embeddings.shifted(scale, 0.3)

    assert (moved.near, moved.far) == pytest.approx((0.7, 0.3))
    assert embeddings.relevance(moved, 0.5) == pytest.approx(embeddings.relevance(scale, 0.4))
    assert embeddings.shifted(scale, 0.1) == scale


def test_a_narrow_scale_is_not_believed() -> None:
    """Where a hair's breadth would be all that parts right from wrong."""
    narrow = Scale(8, near=0.32, far=0.2, spread=0.1)

    assert embeddings.useful(narrow)
    assert embeddings.relevance(narrow, 0.32) < 0.3
    assert not embeddings.useful(Scale(8, near=0.29, far=0.2, spread=0.1))
    assert not embeddings.useful(Scale(8, near=0.1, far=0.2, spread=0.1))
    assert not embeddings.useful(Scale(1, near=1.0, far=1.0, spread=0.0))
