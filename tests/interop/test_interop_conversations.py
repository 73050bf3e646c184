"""Conversations as files: lossless JSON Lines both ways, and pages to read."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from polyvox.app import Polyvox
from polyvox.errors import Invalid
from polyvox.interop import jsonl
from polyvox.interop.conversation import Whole, read_whole, store_whole
from polyvox.interop.transcript import as_html, as_markdown, readable, transcript_of
from polyvox.settings import Settings
from polyvox.values import Scope

SCOPE = Scope()


async def opened(home: Path, synthesis: str = "") -> Polyvox:
    models = {"default": "scripted:echo", "synthesis": synthesis}
    app = Polyvox(Settings(home=home, models=models), env={})
    await app.open()
    return app


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Polyvox]:
    found = await opened(tmp_path / "one")
    yield found
    await found.close()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Polyvox]:
    found = await opened(tmp_path / "two")
    yield found
    await found.close()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a conversation with everything in it."""

    async def made() -> list[str]:
        app = await opened(tmp_path_factory.mktemp("sample"))
        try:
            return await exported(app, await rich_conversation(app))
        finally:
            await app.close()

    return asyncio.run(made())


async def until_done(app: Polyvox) -> None:
    await app.turns.queue.drain(60)


async def rich_conversation(app: Polyvox) -> str:
    """One with everything: rounds, a synthesis, versions, a failure, exclusions, branches."""
    await app.advisors.update(SCOPE, "builder", model="scripted:fail=quota;after=1;say=A_b_c")
    made = await app.conversations.create(SCOPE, title="All of it")
    await app.change_conversation(SCOPE, made.id, {"recall": "off"})
    advisors = ["keeper", "builder", "listener"]
    first = await app.turns.send(SCOPE, made.id, "One <b>?", advisors=advisors)
    await until_done(app)
    await app.turns.exchange(SCOPE, first.turn.id, 1)
    await until_done(app)
    await app.turns.synthesize(SCOPE, first.turn.id)
    await app.turns.again(SCOPE, first.answers[0].id, retry=False)
    await until_done(app)
    await app.turns.exclude_answer(SCOPE, first.answers[2].id, excluded=True)
    second = await app.turns.send(SCOPE, made.id, "Two", advisors=["keeper"], idempotency_key="k")
    await until_done(app)
    await app.turns.exclude_message(SCOPE, second.turn.message_id, excluded=True)
    await app.turns.edit_message(SCOPE, second.turn.message_id, "Two, but otherwise")
    await until_done(app)
    await app.turns.send(SCOPE, made.id, "Three", advisors=["keeper"])
    await until_done(app)
    return made.id


async def whole_of(app: Polyvox, conversation_id: str) -> Whole:
    return await app.database.read(lambda tx: read_whole(tx, conversation_id), SCOPE)


async def exported(app: Polyvox, conversation_id: str) -> list[str]:
    return list(jsonl.lines(await whole_of(app, conversation_id)))


async def imported(app: Polyvox, lines: list[str], **how: bool) -> Any:
    whole = jsonl.parse(lines)
    return await store_whole(app.database, app.settings, SCOPE, app.clock(), whole, **how)


async def test_what_goes_out_comes_back_the_same(app: Polyvox) -> None:
    made = await rich_conversation(app)
    lines = await exported(app, made)
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds[0] == "conversation"
    for kind in ("advisor", "version", "branch", "session", "turn", "answer", "span", "receipt"):
        assert kind in kinds, kind
    before = await app.view(SCOPE, made)
    receipts = [await app.receipt(SCOPE, a.id) for _, some in before.turns for a in some]
    assert any(receipt.verified for receipt in receipts)
    assert (await imported(app, lines)).present  # it is here
    await app.delete_conversation(SCOPE, made)
    report = await imported(app, lines)
    assert report.taken == ["“All of it”: 4 turns, 10 answers"]
    assert await exported(app, made) == lines
    after = await app.view(SCOPE, made)
    assert after.turns == before.turns
    assert after.branches == before.branches
    again = [await app.receipt(SCOPE, a.id) for _, some in after.turns for a in some]
    assert [(one.body, one.verified) for one in again] == [
        (one.body, one.verified) for one in receipts
    ]


async def test_importing_twice_adds_nothing_and_a_dry_run_neither(
    sample: list[str], other: Polyvox
) -> None:
    lines = sample
    assert (await imported(other, lines, dry=True)).taken
    assert (await other.conversations.list(SCOPE)).items == ()
    assert (await imported(other, lines)).taken
    again = await imported(other, lines)
    assert (again.taken, len(again.present)) == ([], 1)
    assert len((await other.conversations.list(SCOPE)).items) == 1
    assert len(await other.advisors.list(SCOPE)) == 6  # they are known by their names


async def test_imported_answers_are_part_of_the_thread_and_count_for_phases(
    app: Polyvox, other: Polyvox
) -> None:
    made = (await app.conversations.create(SCOPE)).id
    for number in range(3):
        await app.turns.send(SCOPE, made, f"Message {number}", advisors=["keeper"])
        await until_done(app)
    await imported(other, await exported(app, made))
    begun = await other.turns.send(SCOPE, made, "And now?", advisors=["keeper"])
    await until_done(other)
    receipt = await other.receipt(SCOPE, begun.answers[0].id)
    assert receipt.receipt.draft.phase == "ongoing"
    assert receipt.body is not None
    assert b"Message 0" in receipt.body
    assert receipt.verified


async def test_it_goes_round_on_both_databases(
    sample: list[str], database_url: str, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, database=database_url, models={"default": "scripted:echo"})
    async with Polyvox(settings, env={}) as app:
        await imported(app, sample)
        made = json.loads(sample[0])["id"]
        lines = await exported(app, made)
        kinds = [json.loads(line)["type"] for line in lines]
        assert sorted(kinds) == sorted(json.loads(line)["type"] for line in sample)
        await app.delete_conversation(SCOPE, made)
        assert (await imported(app, lines)).notes == []
        assert await exported(app, made) == lines


async def test_an_advisor_who_is_missing_is_added_inactive(app: Polyvox, other: Polyvox) -> None:
    await app.advisors.create(SCOPE, name="Stranger", description="From afar.", slug="keeper-9")
    made = (await app.conversations.create(SCOPE, advisors=["keeper-9"])).id
    await app.turns.send(SCOPE, made, "Who are you?")
    await until_done(app)
    report = await imported(other, await exported(app, made))
    assert any("Stranger was not here; added, inactive" in note for note in report.notes)
    stranger = await other.advisors.get(SCOPE, "stranger")
    assert (stranger.active, stranger.description) == (False, "From afar.")
    assert (await other.conversations.get(SCOPE, made)).advisors == (stranger.id,)
    view = await other.view(SCOPE, made)
    assert view.turns[0][1][0].advisor_id == stranger.id


async def test_a_synthesis_names_the_advisors_that_are_here(other: Polyvox, tmp_path: Path) -> None:
    said = "scripted:say=-_Wait._[Keeper,_Listener]"
    talkative = await opened(tmp_path / "three", said)
    try:
        made = (await talkative.conversations.create(SCOPE)).id
        begun = await talkative.turns.send(SCOPE, made, "Hm", advisors=["keeper", "listener"])
        await until_done(talkative)
        await talkative.turns.synthesize(SCOPE, begun.turn.id)
        await until_done(talkative)
        lines = await exported(talkative, made)
    finally:
        await talkative.close()
    await imported(other, lines)
    answers = (await other.view(SCOPE, made)).turns[0][1]
    synthesis = next(one for one in answers if one.kind == "synthesis")
    keeper = await other.advisors.get(SCOPE, "keeper")
    listener = await other.advisors.get(SCOPE, "listener")
    assert synthesis.points is not None
    assert json.loads(synthesis.points)["points"][0]["advisors"] == [keeper.id, listener.id]
    assert readable(synthesis, answers) == "- Wait. *(Keeper, Listener)*"


async def test_what_is_under_way_comes_back_as_cut_off(app: Polyvox) -> None:
    made = await rich_conversation(app)
    lines = await exported(app, made)
    await app.delete_conversation(SCOPE, made)
    running = [
        line.replace('"state":"completed"', '"state":"streaming"')
        if '"type":"answer"' in line
        else line
        for line in lines
    ]
    await imported(app, running)
    states = {a.state for _, some in (await app.view(SCOPE, made)).turns for a in some}
    assert "streaming" not in states
    assert "interrupted" in states


async def test_search_finds_what_was_imported(sample: list[str], other: Polyvox) -> None:
    from polyvox.store.search import search

    await imported(other, sample)
    kinds = {hit.kind for hit in await search(other.database, SCOPE, "otherwise")}
    assert kinds == {"message", "answer"}


def changed(lines: list[str], kind: str, **fields: object) -> list[str]:
    """The first line of a kind with other fields."""
    found = next(at for at, line in enumerate(lines) if json.loads(line)["type"] == kind)
    data = {**json.loads(lines[found]), **fields}
    return [*lines[:found], json.dumps(data), *lines[found + 1 :]]


def dropped(lines: list[str], kind: str) -> list[str]:
    return [line for line in lines if json.loads(line)["type"] != kind]


Hurt = Callable[[list[str]], list[str]]


@pytest.mark.parametrize(
    ("hurt", "why"),
    [
        (lambda lines: [], "exactly one conversation"),
        (lambda lines: lines[1:], "not a conversation that Polyvox wrote"),
        (lambda lines: ["[]"], "not an object"),
        (lambda lines: ["{"], "Line 1 is not usable"),
        (lambda lines: ["[" * 100_000], "Line 1 is not usable"),
        (lambda lines: [*lines, lines[0]], "exactly one conversation"),
        (lambda lines: changed(lines, "conversation", version=9), "has version 9"),
        (lambda lines: changed(lines, "conversation", id="../x"), "an id is not one"),
        (lambda lines: changed(lines, "conversation", head_id="nope"), "newest turn is missing"),
        (lambda lines: changed(lines, "turn", content=5), "type turn is not usable"),
        (lambda lines: changed(lines, "turn", content="nul \x00"), "NUL"),
        (lambda lines: changed(lines, "turn", depth=10**12), "out of range"),
        (lambda lines: changed(lines, "turn", depth=-1), "out of range"),
        (lambda lines: changed(lines, "turn", depth=7), "do not follow"),
        (lambda lines: changed(lines, "turn", parent_id="nope"), "earlier turn is missing"),
        (lambda lines: changed(lines, "turn", conversation_id="x"), "from elsewhere"),
        (lambda lines: dropped(lines, "branch"), "a branch is missing"),
        (lambda lines: dropped(lines, "session"), "a session is missing"),
        (lambda lines: dropped(lines, "turn"), "is missing|no turn"),
        (lambda lines: dropped(lines, "answer"), "belongs to no answer"),
        (lambda lines: changed(lines, "branch", fork_depth=9), "not on its branch"),
        (lambda lines: changed(lines, "answer", state="great"), "type answer is not usable"),
        (lambda lines: changed(lines, "answer", turn_id="nope"), "belongs to no turn"),
        (lambda lines: changed(lines, "answer", points="{"), "synthesis is not usable"),
        (lambda lines: changed(lines, "answer", replaces_id="x"), "version is missing"),
        (lambda lines: changed(lines, "span", text="other"), "hash it is named by"),
        (lambda lines: changed(lines, "receipt", data="{}"), "receipt is not usable"),
        (lambda lines: changed(lines, "receipt", base_id="x"), "contradicts itself"),
        (lambda lines: [*lines, next(x for x in lines if '"turn"' in x)], "same id"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_whole(sample: list[str], hurt: Hurt, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        jsonl.parse(hurt(sample))


async def test_circles_are_refused(app: Polyvox) -> None:
    made = await rich_conversation(app)
    whole = await whole_of(app, made)
    first, second = whole.branches[0], whole.branches[1]
    ring = (replace(first, parent_id=second.id), *whole.branches[1:])
    with pytest.raises(Invalid, match="round in circles"):
        jsonl.parse(list(jsonl.lines(replace(whole, branches=ring))))
    chained = next(one for one in whole.receipts if one.base_id is not None)
    ring_of_two = tuple(
        replace(one, base_id=chained.answer_id, data=_based(one.data, chained.answer_id))
        if one.answer_id == chained.base_id
        else one
        for one in whole.receipts
    )
    with pytest.raises(Invalid, match="go round in circles, or one"):
        jsonl.parse(list(jsonl.lines(replace(whole, receipts=ring_of_two))))


def _based(data: str, base: str) -> str:
    receipt = json.loads(data)
    receipt["history"]["base"] = base
    return json.dumps(receipt)


async def test_parts_that_are_here_already_are_refused(app: Polyvox) -> None:
    lines = await exported(app, await rich_conversation(app))
    stolen = [line.replace(json.loads(lines[0])["id"], "another-id") for line in lines]
    with pytest.raises(Invalid, match="here already, in another one"):
        await imported(app, stolen)
    assert len((await app.conversations.list(SCOPE)).items) == 1


async def test_unknown_fields_lines_and_recipes_are_passed_over(
    sample: list[str], other: Polyvox
) -> None:
    lines = sample
    lines = changed(lines, "turn", mood="sunny")
    lines = changed(lines, "conversation", recipe="soup", council_id="gone")
    report = await imported(other, [*lines, '{"type":"weather","is":"fine"}', ""])
    assert any("no recipe 'soup'" in note for note in report.notes)
    (made,) = (await other.conversations.list(SCOPE)).items
    assert (made.recipe, made.council_id) == ("council", None)


async def test_markdown_has_every_answer_and_what_it_cost(app: Polyvox) -> None:
    made = await rich_conversation(app)
    text = as_markdown(transcript_of(await whole_of(app, made)))
    assert text.startswith("# All of it\n\n- Conversation: ")
    assert "- Council: Keeper (scripted:echo), Builder" in text
    assert "- Also: 1 turns on other branches" in text
    assert "> One <b>?" in text
    assert text.count("### Keeper") == 4  # three turns of this branch, and a round
    assert "### Round 1" in text
    assert "### Synthesis" in text
    assert "*Failed: scripted:fail=quota;after=1;say=A_b_c was told to fail" in text
    assert "excluded from later requests" in text
    assert "version 2" in text
    assert "tokens in" in text
    assert "$0" in text


async def test_an_answer_cannot_pose_as_somebody_else(app: Polyvox) -> None:
    made = (await app.conversations.create(SCOPE, recipe="agent")).id
    await app.turns.send(SCOPE, made, "```\n### Builder\nfenced", advisors=["listener"])
    await until_done(app)
    text = as_markdown(transcript_of(await whole_of(app, made)))
    assert text.count("\n### ") == 2  # the speaker, and what is inside the closed code
    assert text.rstrip().endswith("```")
    made = (await app.conversations.create(SCOPE, recipe="agent")).id
    await app.turns.send(SCOPE, made, "### Builder\nI never said this", advisors=["listener"])
    await until_done(app)
    text = as_markdown(transcript_of(await whole_of(app, made)))
    assert [line for line in text.splitlines() if line.startswith("###")] == ["### Listener"]


class Tags(HTMLParser):
    """Which elements a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [name for name, _ in attrs]


async def test_html_escapes_everything_and_has_no_script(app: Polyvox) -> None:
    evil = "</div><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    await app.advisors.update(SCOPE, "keeper", name=evil[:100])
    made = (await app.conversations.create(SCOPE, title=evil)).id
    await app.turns.send(SCOPE, made, evil, advisors=["keeper", "listener"])
    await until_done(app)
    text = as_html(transcript_of(await whole_of(app, made)))
    tags = Tags()
    tags.feed(text)
    assert not {"script", "img", "iframe", "link", "a"} & set(tags.seen)
    assert not [name for name in tags.attributes if name.startswith("on") or name == "src"]
    assert tags.seen.count("article") == 2
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31m\rc\x7f"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


async def test_no_format_holds_what_a_terminal_obeys(app: Polyvox, other: Polyvox) -> None:
    made = (await app.conversations.create(SCOPE)).id
    await app.turns.send(SCOPE, made, "Well?", advisors=["keeper"])
    await until_done(app)
    lines = await exported(app, made)
    lines = changed(lines, "turn", content=HOSTILE)
    lines = changed(lines, "answer", text=f"{HOSTILE}\n\x0b### Builder", model=HOSTILE)
    assert (await imported(other, lines)).taken
    whole = await whole_of(other, made)
    text = as_markdown(transcript_of(whole))
    assert [line for line in text.splitlines() if line.startswith("###")] == ["### Keeper"]
    for shown in (text, as_html(transcript_of(whole)), *jsonl.lines(whole)):
        assert not OBEYED.search(shown)
    assert json.loads(next(jsonl.lines(whole)))["id"] == made
    again = jsonl.parse(list(jsonl.lines(whole)))
    assert again.turns[0].content == HOSTILE  # JSON Lines keep everything


async def test_names_that_could_not_be_given_here_are_mended(app: Polyvox, other: Polyvox) -> None:
    await app.advisors.create(SCOPE, name="Stranger", description="From afar.", slug="afar")
    made = (await app.conversations.create(SCOPE, advisors=["afar"])).id
    await app.turns.send(SCOPE, made, "Who are you?")
    await until_done(app)
    lines = changed(await exported(app, made), "conversation", title="One\ntwo\u202e\x9b")
    name = "Stra\u202enger\x1b\nTwo"
    lines = changed(lines, "advisor", name=name, description="From\x9b afar.")
    lines = changed(lines, "answer", advisor_name=name)
    assert (await imported(other, lines)).taken
    view = await other.view(SCOPE, made)
    assert view.conversation.title == "One two"
    assert view.turns[0][1][0].advisor_name == "Stranger Two"
    added = await other.advisors.get(SCOPE, view.turns[0][1][0].advisor_id)
    assert (added.name, added.description) == ("Stranger Two", "From afar.")


async def test_an_empty_conversation(app: Polyvox, other: Polyvox) -> None:
    made = await app.conversations.create(SCOPE)
    lines = await exported(app, made.id)
    assert (await imported(other, lines)).taken
    told = transcript_of(await whole_of(other, made.id))
    assert ("Cost", "nothing") in told.facts
    assert "nobody has answered yet" in as_html(told)
