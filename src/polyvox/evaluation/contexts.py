"""A stored context: what an advisor had been sent for an answer, kept whole beside the assertion.

A receipt is a list of references; what it refers to can be deleted. A context holds the texts
themselves, so that an assertion works for as long as it exists. It is plain JSON, named by the hash
of exactly that JSON (`Context.hash`); the same answer always gives the same one.

What it holds: the system blocks in their order, memory as it was sent, every message with its role
and where it came from, parameters, schema, and what went on the wire: dialect, the model's name
there, the hash of the bytes. `request` is therefore the request that was sent, and
`encode(context.dialect, context.model, context.request())` gives bytes with `wire_hash`, unless
something was missing already (`redacted`).

How another prompt gets in: a block that carries the advisor's identity keeps its `template`, with
the slots {name}, {identity} and {short}; the protocol keeps the phase's text, with {k} and {n}.
A template is kept only where filling it with what was true then gives the very text that was sent.
`with_prompt` and `with_phase` fill it anew, as the compiler would; the unchanged text changes
nothing, to the byte.

A context that another program stored (`origin`) has no wire form: dialect, model and hash are
empty, and it is replayed with the advisor's model of today. Where its system text does not show
the identity, the prompt takes the place of the sentence that names the advisor, or comes first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from polyvox.companion.personas import embodied, kernel
from polyvox.context.draft import JOIN, Block, Draft
from polyvox.context.rebuild import Receipt
from polyvox.context.recipe import Recipe, traits_of
from polyvox.context.words import PromptSet, fill, label, prompt_set, short
from polyvox.errors import Invalid
from polyvox.ids import content_hash
from polyvox.models.base import ChatMessage, Request, SystemPart
from polyvox.values import ASSISTANT_ID, SYNTHESIS_ID, Advisor, Params

VERSION = 1
Field = Literal["prompt", "description"]


class SystemBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """A block of the system text as it was sent."""

    kind: str
    text: str
    template: str = ""
    """The template it was filled from, where another prompt can be put in; empty: it stays."""


class SentMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message as it was sent."""

    kind: str
    """The kind of line in a receipt: user, own, note, reference, current, exchange, synthesis."""
    role: Literal["user", "assistant"]
    text: str
    refs: tuple[str, ...] = ()
    """Whose words are in it: "u" and a turn's id, "a" and an answer's."""


class Context(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A whole request, kept so that exactly the same can be asked again."""

    v: int = VERSION
    advisor_id: str
    slug: str = ""
    name: str
    """The advisor's label in that request."""
    identity: str
    """The text in the slot {identity} (a companion's is its kernel)."""
    brief: str = ""
    """The text in the slot {short}."""
    versioned: str
    """The prompt version that this was made with; giving it to `with_prompt` changes nothing."""
    field: Field = "prompt"
    asked: str
    """The person's message without its stamp: what a judge is shown."""
    recipe: tuple[str, str] = ("", "")
    """Its name and hash; so are the two that follow."""
    base: str = ""
    """The built-in recipe that this one was copied from."""
    prompts: tuple[str, str] = ("", "")
    phase: str = ""
    k: int = 1
    n: int | None = None
    counted: str = ""
    """The text behind the phase's where its turns are counted, unfilled."""
    blocks: tuple[SystemBlock, ...] = ()
    memory: tuple[Block, ...] = ()
    """Only what was sent."""
    messages: tuple[SentMessage, ...] = ()
    params: Params = Params()
    settled: int = 0
    schema: str | None = None
    dialect: str = ""
    model: str = ""
    """The model's name on the wire."""
    model_id: str = ""
    """provider:name."""
    wire_hash: str = ""
    """SHA-256 of the bytes that were sent."""
    redacted: bool = False
    """Something in it is gone: it can be read, and not replayed."""
    origin: str = ""
    """The program that it was brought over from."""

    @property
    def data(self) -> str:
        """The JSON that it is stored as and named by."""
        return _encoder.encode(self).decode()

    @property
    def hash(self) -> str:
        """Its name."""
        return content_hash(self.data)

    def request(self) -> Request:
        """The request that was sent."""
        stable = JOIN.join(part.text for part in self.blocks)
        system: tuple[SystemPart, ...] = (SystemPart(stable),) if stable else ()
        system += tuple(SystemPart(block.text, stable=False) for block in self.memory)
        return Request(
            system=system,
            messages=tuple(ChatMessage(message.role, message.text) for message in self.messages),
            params=self.params,
            settled=self.settled,
            schema=self.schema,
        )

    @property
    def takes_prompt(self) -> bool:
        """True if another prompt can be put in."""
        return self.templated or bool(self.origin)

    @property
    def templated(self) -> bool:
        """True if a block shows where the identity stood."""
        return any(part.template and part.kind != "protocol" for part in self.blocks)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Context)


def read(data: str) -> Context:
    """A stored context. Raises msgspec.MsgspecError for what is none."""
    return _decoder.decode(data)


def with_prompt(context: Context, text: str, field: Field | None = None) -> Context:
    """The same context for an advisor whose prompt (or description) is `text`; where it is not said
    which of them, the unchanged text is what it was, another one a prompt."""
    if text:
        context = placed(context)
    if text == context.versioned and field in (None, context.field):
        return context
    if not context.takes_prompt:
        raise Invalid(
            "This context does not show where its advisor's prompt stood.",
            "Make the assertion again from a newer answer of this advisor.",
        )
    identity = brief = text.strip()
    if field == "description":
        brief = short(text).strip()
        if traits_of(context.base or context.recipe[0]).persona:
            named = Advisor(context.advisor_id, context.slug, context.name, description=text)
            identity = brief = kernel(named)
    values = {"name": context.name, "identity": identity, "short": brief}
    return msgspec.structs.replace(
        context,
        versioned=text,
        field=field or "prompt",
        identity=identity,
        brief=brief,
        blocks=_filled(context, values),
    )


def placed(context: Context) -> Context:
    """A context of another program with a place for the identity in its system text: wherever the
    description stands, else at the sentence that names the advisor, else before everything. One of
    ours as it is."""
    if not context.origin or context.templated:
        return context
    system = JOIN.join(part.text for part in context.blocks)
    own = prompt_set("full").text("identity")
    if context.identity and context.identity in system:
        template = system.replace(context.identity, "{identity}")
    else:
        named = re.search(rf"(?<!\w){re.escape(context.name)}(?!\w)", system)
        start, end = _sentence(system, *named.span()) if named else (0, 0)
        around = (system[:start].strip(), own, system[end:].strip())
        template = JOIN.join(part for part in around if part)
    values = {"name": context.name, "identity": context.identity, "short": context.brief}
    block = SystemBlock("identity", "", template)
    context = msgspec.structs.replace(context, blocks=(block,))
    return msgspec.structs.replace(context, blocks=_filled(context, values))


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence around a stretch of a text begins and ends."""
    marks = ".!?\n"
    ends = [at + 1 for mark in marks if (at := text.find(mark, end)) >= 0]
    return max(text.rfind(mark, 0, start) for mark in marks) + 1, min(ends, default=len(text))


def with_phase(context: Context, name: str, text: str) -> Context:
    """The same context under a recipe whose phase `name` says `text`. Where another phase was in
    force, it makes no difference."""
    if name != context.phase:
        return context
    part = next(
        (part for part in context.blocks if part.kind == "protocol" and part.template), None
    )
    if part is None:
        raise Invalid(
            f"This context does not show where the text of the phase {name!r} stood.",
            "Make the assertion again from a newer answer of this advisor.",
        )
    if text == part.template:
        return context
    filled = phase_text(text, context.counted, context.k, context.n)
    new = SystemBlock("protocol", filled, text)
    blocks = (new if block is part else block for block in context.blocks)
    return msgspec.structs.replace(context, blocks=tuple(block for block in blocks if block.text))


def in_other_words(context: Context, asked: str) -> Context | None:
    """The same context with the person's last message put otherwise; None where it does not show
    where that message stood."""
    at = len(context.messages) - 1
    while at >= 0 and context.messages[at].kind != "current":
        at -= 1
    if at < 0 or not context.asked or context.messages[at].text.count(context.asked) != 1:
        return None
    sent = context.messages[at]
    text = sent.text.replace(context.asked, asked)
    message = SentMessage(sent.kind, sent.role, text, sent.refs)
    messages = (*context.messages[:at], message, *context.messages[at + 1 :])
    return msgspec.structs.replace(context, asked=asked, messages=messages)


def under_phase(context: Context, recipe: Recipe, name: str) -> Context:
    """The same context in another phase of its recipe, at that phase's beginning. Where the recipe
    has no such phase or the context no protocol, it stays as it is."""
    names = [phase.name for phase in recipe.phases]
    part = next((part for part in context.blocks if part.kind == "protocol"), None)
    if name == context.phase or name not in names or part is None:
        return context
    at = names.index(name)
    phase, n = recipe.phases[at], recipe.phases[at].answers
    before = sum(earlier.answers or 0 for earlier in recipe.phases[:at])
    prompts = prompt_set("compact" if context.prompts[0] == "compact" else "full")
    counted = prompts.text("turn") if recipe.count_turns and n is None else ""
    k = before + 1 if n is None else 1
    text = phase.text or prompts.text(name)
    new = SystemBlock("protocol", phase_text(text, counted, k, n), text)
    blocks = tuple(new if block is part else block for block in context.blocks)
    return msgspec.structs.replace(context, phase=name, k=k, n=n, counted=counted, blocks=blocks)


def phase_text(text: str, counted: str, k: int, n: int | None) -> str:
    """A protocol as it is sent in turn k (of n)."""
    whole = f"{text}\n\n{counted}".strip() if counted else text
    return fill(whole, {"k": str(k), "n": "" if n is None else str(n)})


def captured(receipt: Receipt, advisor: Advisor, recipe: Recipe | None, asked: str) -> Context:
    """The context of an answer, from its receipt. `advisor` is who it was then: that name, that
    prompt version; `recipe` the one in force now under the receipt's name, to find templates in."""
    draft = receipt.draft
    spoken = embodied(advisor) if draft.persona else advisor
    values = {
        "name": label(advisor.name),
        "identity": spoken.identity.strip(),
        "short": (spoken.prompt or short(spoken.description)).strip(),
    }
    prompts = prompt_set("compact" if draft.prompts == "compact" else "full")
    counted = prompts.text("turn") if recipe and recipe.count_turns and draft.n is None else ""
    blocks = []
    for block in draft.blocks:
        if block.kind == "protocol":
            template = _phase_template(block.text, recipe, prompts, draft, counted)
        elif advisor.id in (ASSISTANT_ID, SYNTHESIS_ID):
            template = ""
        else:
            known = recipe.texts.get(block.kind) if recipe else None
            template = _template(block.text, known or prompts.text(block.kind), values)
        blocks.append(SystemBlock(block.kind, block.text, template))
    sent = receipt.sent
    return Context(
        advisor_id=advisor.id,
        slug=advisor.slug,
        name=values["name"],
        identity=values["identity"],
        brief=values["short"],
        versioned=advisor.identity,
        field="prompt" if advisor.prompt else "description",
        asked=asked,
        recipe=(draft.recipe, draft.recipe_hash),
        base=draft.base,
        prompts=(draft.prompts, draft.prompts_hash),
        phase=draft.phase,
        k=draft.k,
        n=draft.n,
        counted=counted,
        blocks=tuple(blocks),
        memory=draft.memory if draft.memory_sent else (),
        messages=tuple(
            SentMessage(
                line.kind, line.role, line.text, tuple(source for source in line.sources if source)
            )
            for line in draft.lines
        ),
        params=draft.params,
        settled=draft.settled,
        schema=draft.schema,
        dialect=sent.dialect if sent else "",
        model=sent.model if sent else "",
        model_id=sent.model_id if sent else "",
        wire_hash=sent.wire_hash if sent else "",
        redacted=not receipt.exact,
    )


def _template(text: str, known: str, values: Mapping[str, str]) -> str:
    """Find the template of a block: the one of today where it gives that text, else the text
    around the identity, where it stands in there once. Empty: the block holds nothing of it."""
    slots = ("{identity}", "{short}")
    if any(slot in known for slot in slots) and fill(known, values).strip() == text:
        return known
    for slot, value in zip(slots, (values["identity"], values["short"]), strict=True):
        if value and text.count(value) == 1:
            around = text.replace(value, slot)
            if fill(around, values).strip() == text:
                return around
    return ""


def _phase_template(
    text: str, recipe: Recipe | None, prompts: PromptSet, draft: Draft, counted: str
) -> str:
    for phase in recipe.phases if recipe else ():
        known = phase.text or prompts.text(phase.name)
        if phase.name == draft.phase and phase_text(known, counted, draft.k, draft.n) == text:
            return known
    # Of another recipe than today's: a text without numbers in it is its own template.
    return text if not counted and fill(text, {"k": "", "n": ""}) == text else ""


def _filled(context: Context, values: Mapping[str, str]) -> tuple[SystemBlock, ...]:
    """The blocks with an identity put in; what is empty then is left out, as ever."""
    blocks = []
    for part in context.blocks:
        if part.template and part.kind != "protocol":
            part = SystemBlock(part.kind, fill(part.template, values).strip(), part.template)
        if part.text:
            blocks.append(part)
    return tuple(blocks)
