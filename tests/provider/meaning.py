"""Embeddings for tests: what a text means is which words it has, and some words mean the same.

A vector counts words at places that a hash gives them. Words of one line below share a place, so
texts that have no word in common can still be about the same thing, as with a real model.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec
from tests.provider.script import Script

_SAME = """
live lives flat moved harbour lisbon home apartment dwelling
eat breakfast oatmeal banana coffee mornings
sport play tennis club train
job hired nurse hospital profession
allergic peanuts swell throat
pet dog sofa hound
cycle office commute bicycle
worried exam awake anxious
married wedding bride
car drive volvo inspection automobile vehicle
instrument learning piano waltz practise
holidays spend hiking alps vacation
leg happened ligament skiing cast
rent pay landlord euros
book novel lighthouse keeper
garden build greenhouse shed
boss angry manager promotion
medicine father dad pills
language study spanish course
sleep bed eleven usually
doctor advise salt cut
music enjoy jazz records
daughter afraid emma screams spider
kitchen buy oven
"""
_PLACE = {word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}
_GLUE_WORDS = """
a about am and are at by did do does for from have how i in is it me my of on our that the they to
was we what when where which who why with you your
"""
_GLUE = frozenset(_GLUE_WORDS.split())


def vector(text: str, size: int = 256) -> list[float]:
    """The meaning of a text."""
    found = [0.0] * size
    words = [word for word in re.findall(r"\w+", text.lower()) if word not in _GLUE]
    for word in words or [text]:
        found[_hash(_PLACE.get(word, word)) % size] += 1.0
    return found


def answer(script: Script, data: dict[str, Any]) -> bytes:
    """What POST /v1/embeddings answers."""
    if script.raw is not None:
        return script.raw.encode()
    texts = data["input"]
    rows = [
        {"object": "embedding", "index": number, "embedding": vector(text, script.size or 256)}
        for number, text in enumerate(texts)
    ]
    sent = sum(len(text.split()) for text in texts)
    used = {"usage": {"prompt_tokens": sent, "total_tokens": sent}} if script.usage else {}
    # The last first: whoever reads it goes by the index.
    return msgspec.json.encode({"object": "list", "data": rows[::-1], "model": "", **used})


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
