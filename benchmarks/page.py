"""docs/benchmarks.md, made of one run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from benchmarks.processes import LITELLM, ROOT
from benchmarks.report import Row, machine

PAGE = ROOT / "docs" / "benchmarks.md"


def write(rows: Sequence[Row], arguments: Sequence[str], before: str) -> None:
    """Write the page anew."""
    PAGE.write_text(text(rows, arguments, before), "utf-8")


def text(rows: Sequence[Row], arguments: Sequence[str], before: str) -> str:
    """The page."""
    flags = " ".join(one for one in arguments if one != "--write")
    command = f'make bench ARGS="{flags} --write"' if flags else 'make bench ARGS="--write"'
    lines = [f"| {row.what.strip()} | {row.figure} | {row.bar} | {row.mark} |" for row in rows]
    facts = "\n".join(f"- {fact}" for fact in machine(before))
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return f"""# Benchmarks

    {command}

Everything in one table comes from one run of this command, side by side; the figures of this page
are from {today}. What is compared are ratios: another machine gives other speeds, and about the
same ratios.

{facts}
- for comparison {LITELLM}, in an environment of its own

| measure | here | bar | met |
|---|---|---|---|
{chr(10).join(lines)}

## How it is measured

- The **provider** is the local one of the tests: a process that streams one token for each write
  and yields after each. Nothing leaves the machine.
- **direct** is a lean reader of that provider: bare asyncio streams, tokens counted in what each
  read brings. The same reader, in a process of its own, reads Polyvox and LiteLLM; every answer
  must have exactly its tokens.
- Servers are one process each: `polyvox serve`, and `litellm --config` with one model that leads to
  the provider.
- **Tokens a second**: 16 connections, one answer of 200 tokens after another on each, at least 200
  answers a run; runs alternate (direct, door, council turn, LiteLLM, direct …), and the figure is
  the median of the ratios within each round.
- **Council turn**: 16 advisors of 200 tokens each, from the POST of the message to `turn.completed`
  at a listener to the conversation's events; each turn in a conversation of its own, all of it
  stored.
- **Oldest token on arrival**: the provider writes its clock into every token, one each 5 ms, 16
  streams at once; the median over runs of each run's oldest one, direct beside it, because the
  machine itself delays some.
- **Added to the first token**: the model takes 200 ms, 3 at once; medians, less the direct one's.
- **Resuming**: 8 answers of 1,250 tokens, written over several seconds; from the request to
  `turn.completed`. Bytes are all that came after the response's head.
- **Stop**: 50 answers at 5 ms a token, each stopped after its first words; from the POST of the
  stop to the provider seeing its connection closed.
- **Commits**: counted by a database that passes through, at 20 ms a token; beside them a task that
  writes 40 times a second (20 usage rows and a passage for the search index each).
- **Context**: reading the threads and compiling the requests of one turn, where both conversations
  are longer than the limit.
- **Page**: a real Chromium, 1440 × 1000, without a screen. The conversation is scrolled from its
  end to its beginning, 900 pixels a frame, and back twice as fast; then its advisors answer once
  more. A long task is one of more than 50 ms, as the browser counts them; layout shift is its own
  measure, too. Up to three runs, of which the quietest counts: whatever else the machine does can
  only add. The first load is everything a browser fetches that was never here before.
- **Recall**: conversations of LoCoMo, from a file given by its path; each turn is a message,
  labelled with who speaks, pictures by their captions. Counted is the part of each question's
  evidence that is among the first found, adversarial questions apart; the interval is a paired
  bootstrap over the questions. FTS5 stands beside it with the same texts, its Porter stemmer and
  bm25, any word of the question. The large memory is of invented words, as frequent as real ones
  are, 20 messages a session, one commit each; questions have two to eight words of one message.
"""
