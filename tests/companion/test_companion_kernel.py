"""Kernels: fragments in order, and never put over what a person wrote."""

from __future__ import annotations

import pytest

from polyvox.companion.kernel import FOLDER, embodied, kernel, kernel_hash, opening, shipped
from polyvox.companion.texts import FOLDER as TEXTS
from polyvox.values import Advisor


def advisor(slug: str = "harbor", description: str = "", prompt: str | None = None) -> Advisor:
    return Advisor("a", slug, "H", description, prompt)


@pytest.mark.parametrize("slug", ["flint", "harbor", "margin"])
def test_a_kernel_is_its_fragments_in_the_order_of_their_names(slug: str) -> None:
    parts = [path.read_text("utf-8").strip() for path in sorted((FOLDER / slug).glob("*.md"))]
    assert len(parts) == 3
    assert shipped()[slug] == "\n\n".join(parts)
    found = advisor(slug=slug, description=opening(slug))
    assert kernel(found) == shipped()[slug]
    assert embodied(found).identity == shipped()[slug]


def test_what_the_person_wrote_is_the_kernel() -> None:
    assert kernel(advisor(description=opening("harbor"), prompt=" Mine. ")) == "Mine."
    assert kernel(advisor(description="A ferry captain.")) == "A ferry captain."
    assert kernel(advisor(slug="wren", description="A bird.")) == "A bird."
    assert kernel_hash(advisor(prompt="One.")) != kernel_hash(advisor(prompt="Two."))


def test_no_sentence_of_a_kernel_is_a_runtime_text_too() -> None:
    runtime = " ".join(
        " ".join(path.read_text("utf-8").split()) for path in sorted(TEXTS.rglob("*.md"))
    )
    for whole in shipped().values():
        for sentence in " ".join(whole.split()).split(". "):
            assert sentence not in runtime
