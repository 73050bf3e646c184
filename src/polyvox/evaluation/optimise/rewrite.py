"""The rewriter: a model edits the prompt, code checks what it wrote.

It sees the prompt, the assertions that fail with the reasons, and short examples, all as JSON
strings that nothing inside can end. Its text is taken only if it is a change, stays within the cap
on growth, keeps most of what was there and every slot, says nothing to a judge, and carries nothing
over from the conversations (`leaks`).
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from polyvox.context.words import fill
from polyvox.errors import ModelError
from polyvox.evaluation.budget import Calls, ModelReply
from polyvox.evaluation.contexts import Context, placed
from polyvox.evaluation.judge import asked_plainly
from polyvox.evaluation.judge_prompt import THOUGHT, again, object_schema, quoted
from polyvox.evaluation.judge_prompt import prompt as text_of
from polyvox.evaluation.optimise.leaks import UNSPACED, leaks
from polyvox.evaluation.tables import optimisations
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.optimisations import StoredAttempt
from polyvox.ids import content_hash
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.models.wire import paired
from polyvox.replies import objects
from polyvox.values import Params

GROWTH = 1.5
ROOM = 800
"""Characters that even a short prompt may grow by."""
KEPT = 0.5
"""The part of the words before that must still be there, in their order."""
FEWEST_COPIED = 3
"""Words: a shorter assertion may stand in a prompt by chance."""
MOST_FAILING = 12
EXAMPLE_CHARS = 1_200
MAX_TOKENS = 4_096
TEMPERATURE = 0.7
"""Attempts that begin at the same parent should differ."""
CUT = "it ended before its end: the reply was too long."
_SLOT = re.compile(r"\{\w+\}")
_WORD = re.compile(rf"{UNSPACED}|(?:(?!{UNSPACED})\w)+")
"""A word, or a character of a script that parts its words by no space."""
_TO_JUDGE = re.compile(
    r"\bverdicts?\b\W+(?:\w+\W+){0,3}?(?:pass|fail)|\b(?:pass|fail)\w*\W+(?:\w+\W+){0,3}?verdicts?\b"
    r"|\bassertions?\b\W+(?:\w+\W+){0,2}?(?:holds?|pass)",
    re.IGNORECASE,
)
"""The judge's own reply: a verdict of pass or fail, an assertion that holds."""
SCHEMA = json.dumps(object_schema(reason={"type": "string"}, instructions={"type": "string"}))


@dataclass(frozen=True, slots=True)
class Failing:
    """An assertion that does not hold often enough, with an example."""

    text: str
    passes: int
    of: int
    reason: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the rewriter: the prompt, and why it must change."""

    advisor: str
    prompt: str
    """The parent's text."""
    original: str
    """The prompt as it was before the run: growth is measured from there."""
    failing: tuple[Failing, ...]
    holding: tuple[str, ...]
    earlier: tuple[tuple[str, float], ...] = ()
    """Prompts that were made from this one before, and the part of verdicts that passed."""
    allowed: tuple[str, ...] = ()
    """Texts that a new prompt may hold besides: shown assertions and their arguments."""
    conversations: tuple[str, ...] = ()
    """Texts that it must carry nothing over from."""
    tried: frozenset[str] = frozenset()
    """Prompts that were tried already."""
    around: tuple[str, ...] = ()
    """System texts that surround the prompt in a request: the protocol of a phase, the rules."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rewritten prompt, or why there is none."""

    text: str | None
    note: str = ""


Rewrite = Callable[[Ask, int], Awaitable[Proposal]]
"""Proposes the prompt of an attempt, by its number: a model, or a simulated one. The same attempt
asked for again is the same proposal, paid for once. Raises `ModelError` or `CapReached`."""


def cap(original: str) -> int:
    """The most characters that a rewritten prompt may have."""
    return max(int(len(original) * GROWTH), len(original) + ROOM)


def question(ask: Ask) -> str:
    """The one message that the rewriter gets."""
    failing = [
        {
            "statement": case.text,
            "held": f"{case.passes} of {case.of}",
            "asked": _short(case.question),
            "answered": _short(case.answer),
            "why": _short(case.reason),
        }
        for case in ask.failing[:MOST_FAILING]
    ]
    data = {
        "advisor": ask.advisor,
        "instructions": ask.prompt,
        "around": ask.around,
        "failing": failing,
        "holding": ask.holding,
        "earlier": [{"instructions": text, "held": f"{rate:.0%}"} for text, rate in ask.earlier],
        "most": cap(ask.original),
    }
    return quoted(data)


def request(ask: Ask, max_tokens: int | None) -> Request:
    """Build the request to the rewriter."""
    return Request(
        (SystemPart(text_of("rewrite")),),
        (ChatMessage("user", question(ask)),),
        Params(max_tokens=max_tokens, temperature=TEMPERATURE),
        schema=SCHEMA,
    )


def read(reply: str) -> str | None:
    """The new prompt in a reply; None where there is none."""
    text = THOUGHT.sub(" ", reply)
    for value in objects(text):
        instructions = value.get("instructions")
        if isinstance(instructions, str):
            return paired(instructions).replace("\0", " ").replace("\r\n", "\n").strip()
    return None


def wrong(text: str | None, ask: Ask) -> str:
    """Say to whoever wrote a prompt why it is not taken; empty: it is."""
    if text is None:
        return "it holds no JSON object with `instructions`."
    if not text:
        return "the instructions are empty."
    if text == ask.prompt.strip():
        return "nothing was changed."
    if text in ask.tried:
        return "this has been tried already; change something else."
    if len(text) > (most := cap(ask.original)):
        return f"it has {len(text)} characters, and {most} are the most."
    lost = sorted(set(_SLOT.findall(ask.original)) - set(_SLOT.findall(text)))
    if lost:
        return f"{', '.join(lost)} must stay in it."
    if kept(ask.original, text) < KEPT:
        return "it keeps less than half of the instructions as they were; change less."
    if (spoken := _TO_JUDGE.search(text)) and spoken[0].casefold() not in ask.original.casefold():
        return f"“{spoken[0]}” speaks to whoever judges the answers; speak to the advisor alone."
    carried = leaks(text, (ask.original, ask.prompt, *ask.allowed), ask.conversations)
    if carried:
        words = ", ".join(f"“{word}”" for word in carried)
        return f"it carries over from the conversations: {words}."
    return ""


def kept(before: str, after: str) -> float:
    """The part of the words before that is still there, in their order."""
    old, new = _WORD.findall(before.casefold()), _WORD.findall(after.casefold())
    if not old:
        return 1.0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(old)


def copied(assertions: Iterable[Assertion], before: str, after: str) -> frozenset[str]:
    """Ids of the assertions that stand in the new prompt word for word, and did not before."""
    old, new = (f" {' '.join(_WORD.findall(text.casefold()))} " for text in (before, after))
    pasted = set()
    for assertion in assertions:
        words = _WORD.findall(assertion.text.casefold())
        run = f" {' '.join(words)} "
        if len(words) >= FEWEST_COPIED and run in new and run not in old:
            pasted.add(assertion.id)
    return frozenset(pasted)


def refusal(why: str) -> str:
    """Say to people why an attempt was not taken, without repeating what it carried over."""
    if why.startswith("it carries over"):
        return "The rewritten prompt carried over words of the conversations, and was not taken."
    return f"The rewritten prompt was not taken: {why}"


def ask_hash(asked: Request) -> str:
    """Names a question to the rewriter."""
    texts = [part.text for part in asked.system] + [message.text for message in asked.messages]
    return content_hash("\n".join(texts))


def _short(text: str) -> str:
    return text if len(text) <= EXAMPLE_CHARS else text[:EXAMPLE_CHARS].rstrip() + " …"


@dataclass(frozen=True, slots=True)
class RoadRewriter:
    """Asks the optimiser model on behalf of one run."""

    run_id: str
    calls: Calls
    model: str
    conversations: tuple[str, ...]
    """All texts of the contexts: nothing of them may be carried over."""
    around: tuple[str, ...] = ()
    """The texts that surround the prompt in these contexts."""

    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        """Propose the prompt of an attempt (a `Rewrite`)."""
        conversations = (*self.conversations, *ask.conversations)
        ask = replace(ask, conversations=conversations, around=self.around)
        resources, scope = self.calls.resources, self.calls.scope
        limit = resources.models.facts(self.model).max_tokens or MAX_TOKENS
        first = request(ask, limit)
        name = ask_hash(first)
        kept = await resources.database.read(
            lambda tx: optimisations.find_attempt(tx, self.run_id, number), scope
        )
        if kept is not None and kept.ask_hash == name:
            return Proposal(kept.text, kept.note)
        proposal = await self._proposal(ask, first)
        made = StoredAttempt(
            number,
            ask_hash=name,
            text=proposal.text,
            state="refused" if proposal.text is None else "proposed",
            note=proposal.note,
            created_at=resources.clock(),
        )
        await resources.database.write(
            lambda tx: optimisations.put_attempt(tx, self.run_id, made), scope
        )
        return proposal

    async def _proposal(self, ask: Ask, request: Request) -> Proposal:
        """A prompt that can be taken, asked for twice at most; or why there is none."""
        reply, request = await self._reply(request)
        text, wrong = await asyncio.to_thread(self._read, reply, ask)
        if wrong:
            complaint = text_of("rewrite_again").replace("{wrong}", wrong)
            reply, _ = await self._reply(again(request, reply.text, complaint))
            text, wrong = await asyncio.to_thread(self._read, reply, ask)
        return Proposal(None, refusal(wrong)) if wrong else Proposal(text)

    def _read(self, reply: ModelReply, ask: Ask) -> tuple[str | None, str]:
        """The text and what is wrong with it. Long conversations take a while to look through."""
        text = read(reply.text)
        if text is None and reply.cut:
            return None, CUT
        return text, wrong(text, ask)

    async def _reply(self, request: Request) -> tuple[ModelReply, Request]:
        try:
            return await asked_plainly(self.calls, self.model, request)
        except ModelError as error:
            raise type(error)(
                f"The rewriter could not be asked: {error.message}", error.hint
            ) from error


def texts_of(contexts: list[Context]) -> tuple[str, ...]:
    """All texts of these contexts: the person's words, the advisors', and what was
    remembered."""
    seen: dict[str, None] = {}
    for context in contexts:
        seen |= dict.fromkeys(message.text for message in context.messages)
        seen |= dict.fromkeys(block.text for block in context.memory)
        seen[context.asked] = None
    return tuple(text for text in seen if text)


def around_of(contexts: Iterable[Context], phase: str | None) -> tuple[str, ...]:
    """The system texts that surround the prompt in these contexts, or the text of a phase; `…` is
    the prompt's own place."""
    seen: dict[str, None] = {}
    for context in map(placed, contexts):
        values = {"name": context.name, "identity": "…", "short": "…"}
        for block in context.blocks:
            protocol = block.kind == "protocol"
            if phase is None and block.template and not protocol:
                seen[fill(block.template, values).strip()] = None
            elif phase is None or not protocol:
                seen[block.text] = None
    return tuple(seen)
