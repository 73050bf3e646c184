"""The `llm` command at the door, unchanged: streamed and whole, and what it says when it fails."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.provider import Script
from tests.web.house import House

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


async def llm(house: House, home: Path, model: str, *more: str) -> Ran:
    """Ask with the command as a person would."""
    entry = {"model_id": "ours", "model_name": model, "api_base": f"{house.url}/v1"}
    (home / "extra-openai-models.yaml").write_text(yaml.safe_dump([entry]))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llm", "-m", "ours", *more),
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LLM_USER_PATH": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.parametrize("way", [[], ["--no-stream"]], ids=["stream", "whole"])
async def test_llm_asks_a_council(house: House, tmp_path: Path, way: list[str]) -> None:
    first = await house.advisor(script=Script(text="I say – yes."), name="Pro")
    second = await house.advisor(script=Script(text="I say no."), name="Contra")
    council = await house.council(first, second)
    name = f"council:{council['slug']}"
    ran = await llm(house, tmp_path, name, "-s", "Be kind.", "Shall I?", *way)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "## Pro\n\nI say – yes.\n\n## Contra\n\nI say no.\n"
    sent = house.provider.requests(first["model"].partition(":")[2])[-1].body.decode()
    assert "Be kind." in sent
    assert "Shall I?" in sent
    if not way:  # it goes on where it was, and knows what it said
        again = await llm(house, tmp_path, name, "-c", "Why?")
        assert (again.code, again.out) == (0, ran.out)
        request = house.provider.requests(first["model"].partition(":")[2])[-1].json()
        mine = [m["content"] for m in request["messages"] if m["role"] == "assistant"]
        assert mine == ["I say – yes."]


@pytest.mark.parametrize("way", [[], ["--no-stream"]], ids=["stream", "whole"])
async def test_llm_shows_our_words_when_it_fails(
    house: House, tmp_path: Path, way: list[str]
) -> None:
    ran = await llm(house, tmp_path, "advisor:nobody-here", "Well?", *way)
    assert ran.code != 0
    assert "There is no advisor 'nobody-here'" in ran.err
