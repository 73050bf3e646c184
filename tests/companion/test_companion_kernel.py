"""Kernels: fragments in order, and never put over what a person wrote."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from polyvox.companion import personas as kernels
from polyvox.companion.personas import (
    FALLBACK,
    FOLDER,
    embodied,
    kernel,
    opening,
    openings,
    shipped,
)
from polyvox.companion.texts import FOLDER as TEXTS
from polyvox.ids import content_hash
from polyvox.values import Advisor


def advisor(slug: str = "harbor", description: str = "", prompt: str | None = None) -> Advisor:
    return Advisor("a", slug, "H", description, prompt)


@pytest.mark.parametrize("slug", ["flint", "harbor", "margin"])
def test_a_kernel_is_its_fragments_in_the_order_of_their_names(slug: str) -> None:
    parts = [path.read_text("utf-8").strip() for path in sorted((FOLDER / slug).glob("*.md"))]
    assert len(parts) == 4
    assert shipped()[slug] == "\n\n".join(parts)
    found = advisor(slug=slug, description=opening(slug))
    assert kernel(found) == shipped()[slug]
    assert embodied(found).identity == shipped()[slug]


def test_what_the_person_wrote_is_the_kernel() -> None:
    assert kernel(advisor(description=opening("harbor"), prompt=" Mine. ")) == "Mine."
    assert kernel(advisor(description="A ferry captain.")) == "A ferry captain."
    assert kernel(advisor(slug="wren", description="A bird.")) == "A bird."


@pytest.mark.parametrize("slug", ["flint", "harbor", "margin"])
def test_every_opening_is_named(slug: str) -> None:
    assert (slug, content_hash(opening(slug))) in openings(), "add it, and keep the others"


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Personas of another release."""
    for path in FOLDER.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(FOLDER)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    for cached in (shipped, openings):
        cached.cache_clear()
    yield tmp_path
    for cached in (shipped, openings):
        cached.cache_clear()


def test_a_persona_met_in_an_earlier_release_keeps_all_of_it(moved: Path) -> None:
    met = advisor(description=opening("harbor"))
    (moved / "harbor" / "10-who.md").write_text("You are Harbor, put differently.", "utf-8")
    assert kernel(met) == shipped()["harbor"]
    assert "put differently" in kernel(met)
    assert kernel(replace(met, description="Mine.")) == "Mine."


def test_where_fragments_are_missing_it_is_still_somebody(moved: Path) -> None:
    met, nobody = advisor(description=opening("harbor")), advisor(slug="wren")
    for path in (moved / "harbor").iterdir():
        path.unlink()
    assert kernel(met) == met.description
    assert "harbor" not in shipped()
    assert (kernel(nobody), opening("harbor")) == (FALLBACK.format(name="H"), "")
    shutil.rmtree(moved)
    for cached in (shipped, openings):
        cached.cache_clear()
    assert (kernel(met), shipped()) == (met.description, {})


def test_no_sentence_of_a_kernel_is_a_runtime_text_too() -> None:
    runtime = " ".join(
        " ".join(path.read_text("utf-8").split()) for path in sorted(TEXTS.rglob("*.md"))
    )
    for whole in shipped().values():
        for sentence in " ".join(whole.split()).split(". "):
            assert sentence not in runtime
