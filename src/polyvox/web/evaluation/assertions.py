"""Routes of assertions: make, list, change, lint, suggest, export, import."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from polyvox.errors import Invalid
from polyvox.evaluation import assertion as assertion_room
from polyvox.evaluation import language
from polyvox.evaluation.assertion import (
    LONGEST,
    MOST,
    Action,
    AssertionOut,
    History,
    checked,
    lines,
    typed,
)
from polyvox.evaluation.checks import KNOWN
from polyvox.evaluation.lint import LintedWording, LintReport, lint
from polyvox.evaluation.suggest import Suggestions, suggest
from polyvox.evaluation.tables import assertions as rows
from polyvox.evaluation.tables.assertions import AssertionDetails, AssertionFilter, Kind, Wording
from polyvox.fields import Body, Filled, Id, Message, ModelName, Text
from polyvox.interop import assertion_file, assertion_import
from polyvox.interop.report import Report
from polyvox.shapes import shape
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.web.dependencies import App, Key, Who, while_wanted
from polyvox.web.errors import responses
from polyvox.web.export import SAFE, disposition, file_name
from polyvox.web.openapi import Router, file

router = Router("assertions")

YAML = "application/yaml"
Searched = Annotated[Text, Query(max_length=500)]
Words = Annotated[Text, Field(max_length=LONGEST)]
Tag = Annotated[Filled, Field(min_length=1, max_length=60)]
PhaseName = Annotated[Filled, Field(min_length=1, max_length=60)]
Args = dict[str, Any]


class AssertionTexts(Body):
    """Texts of assertions: `texts`, or `text` with one per line."""

    text: Annotated[Text, Field(max_length=LONGEST * MOST)] | None = None
    texts: Annotated[list[Words], Field(max_length=MOST)] | None = None
    kind: Kind = "judge"
    args: Args | None = None

    def wordings(self) -> list[Wording]:
        """The texts, each with its kind; a check may have no words."""
        given = [*(self.texts or ()), *lines(self.text or "")]
        if not given and self.kind != "judge":
            given = [""]
        return [Wording(text, self.kind, self.args or {}) for text in given]


class AssertionCreate(AssertionTexts):
    """New assertions: drawn from an answer, or by hand for an advisor."""

    answer_id: Id | None = None
    advisor_id: Id | None = None
    """Its id or slug."""
    tags: list[Tag] = Field(default_factory=list, max_length=20)
    user_input: Message | None = None
    """By hand: what to ask. Without one it holds in every stored context of its advisor."""
    phase: PhaseName | None = None
    """The phase whose answers are meant. Null: the answer's own; by hand, the one without end
    (`ongoing`)."""


class AssertionPatch(Body):
    """Changes to an assertion; another text, kind or args makes a new version."""

    text: Words | None = None
    kind: Kind | None = None
    args: Args | None = None
    tags: Annotated[list[Tag], Field(max_length=20)] | None = None
    active: bool | None = None
    user_input: Message | None = None
    phase: PhaseName | None = None
    """Null: the phase of each context."""


class BulkBody(Body):
    """The same for many assertions."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=5000)]
    action: Action
    tag: Tag | None = None


class LintBody(AssertionTexts):
    """Texts to look at, beside the active assertions of an advisor (or of an answer's)."""

    advisor_id: Id | None = None
    answer_id: Id | None = None
    beside: Id | None = None
    """An assertion that is being edited: it is not compared with itself."""
    phase: PhaseName | None = None
    """The phase whose answers are meant; null: as for new assertions."""


class ContextsBody(Body):
    """Contexts to add: how many, and for which assertions (null: the active ones)."""

    count: int = Field(3, ge=1, le=50)
    assertion_ids: Annotated[list[Id], Field(min_length=1, max_length=5000)] | None = None


class SuggestAssertions(Body):
    """The number of proposals, and the model that is asked for them."""

    count: int = Field(6, ge=1, le=12)
    model: ModelName | None = None


class ImportBody(Body):
    """The text of a file: our YAML, or what SPACE Terminal stored."""

    content: Annotated[str, Field(min_length=1)]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class MadeOut(AssertionOut):
    """The assertion that was made (of several, the first), all of them, and their lint."""

    assertions: list[AssertionOut]
    lint: list[LintedWording]
    """One for each of them, without findings: POST /api/assertions/lint asks for some."""


@dataclass(frozen=True, slots=True)
class AssertionPage:
    """An advisor's assertions in the order they were made; `next` is the `after` of the next
    page."""

    advisor_id: str
    advisor_name: str
    items: list[AssertionOut]
    next: str | None
    tags: list[str]
    """Every tag that the advisor's assertions have."""


@dataclass(frozen=True, slots=True)
class BulkOut:
    """The assertions that were changed."""

    ids: list[str]


@dataclass(frozen=True, slots=True)
class ContextsOut:
    """The number of contexts that were added."""

    added: int


@dataclass(frozen=True, slots=True)
class KindOut:
    """A kind of assertion and the arguments it takes."""

    kind: Kind
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KindsOut:
    """The kinds of assertions."""

    kinds: list[KindOut]
    languages: dict[str, str]
    """That the check `language` can tell, by code."""


@dataclass(frozen=True, slots=True)
class AssertedOut:
    """Answers of a conversation that assertions were drawn from."""

    answers: list[str]
    badges: bool
    """True if new answers are judged as they come."""


@router.post("/api/assertions", status_code=201, responses=responses(404, 409))
async def make_assertions(app: App, who: Who, body: AssertionCreate) -> MadeOut:
    """New assertions, one per text or line: from an answer, with what its advisor had been sent;
    or by hand for an advisor. One that is there word for word is given as it is. Where no kind is
    given, "at most 150 words" and the like is a check in code, and anything else is judged."""
    wordings = body.wordings()
    if "kind" not in body.model_fields_set:
        wordings = typed(wording.text for wording in wordings)
    if (body.answer_id is None) == (body.advisor_id is None):
        raise Invalid("Give an answer_id or an advisor_id.", "One of them.", param="answer_id")
    if body.answer_id is not None:
        if body.user_input is not None:
            raise Invalid(
                "What is drawn from an answer has that answer's question.",
                "Leave user_input out.",
                param="user_input",
            )
        made = await assertion_room.from_answer(
            app.resources, who, body.answer_id, wordings, body.tags, body.phase
        )
    else:
        advisor = body.advisor_id or ""
        made = await assertion_room.by_hand(
            app.resources, who, advisor, wordings, body.tags, body.user_input, body.phase
        )
    linted = [LintedWording(row.text) for row in made]
    shown = [AssertionOut.of(row) for row in made]
    return shape(MadeOut, shown[0], assertions=shown, lint=linted)


@router.get("/api/assertions/kinds", responses=responses())
async def list_kinds() -> KindsOut:
    """The kinds of assertions, and what each takes."""
    return KindsOut(
        kinds=[KindOut(kind, tuple(args)) for kind, args in KNOWN.items()],
        languages=language.NAMES,
    )


@router.post("/api/assertions/bulk", responses=responses(404))
async def change_assertions(app: App, who: Who, body: BulkBody) -> BulkOut:
    """Activate, deactivate, tag, untag or remove many, all or none."""
    return BulkOut(
        ids=await assertion_room.bulk(app.resources, who, body.ids, body.action, body.tag)
    )


@router.post("/api/assertions/lint", responses=responses(402, 404))
async def lint_assertions(app: App, who: Who, request: Request, body: LintBody) -> LintReport:
    """Warnings of the judge's model about texts that are not stored yet, and checks in code that
    say the same. Without such a model the note says so."""
    wordings = checked(body.wordings())

    def read(tx: Tx) -> tuple[list[Wording], str]:
        known = _others(tx, body)
        if body.phase is None and body.advisor_id is None and body.answer_id is None:
            return known, ""
        return known, assertion_room.phase_of(tx, app.resources, body.phase, body.answer_id)

    known, phase = await app.database.read(read, who)
    return await while_wanted(request, lint(app.resources, who, wordings, known, phase))


def _others(tx: Tx, body: LintBody) -> list[Wording]:
    advisor = body.advisor_id
    if advisor is None and body.answer_id is not None:
        advisor = turns.get_answer(tx, body.answer_id).advisor_id
    if advisor is None:
        return []
    wanted = AssertionFilter(advisor_id=rows.owner(tx, advisor)[0], active=True)
    return [row.wording for row in rows.list_all(tx, wanted) if row.id != body.beside]


@router.get("/api/assertions/{assertion}", responses=responses(404))
async def get_assertion(app: App, who: Who, assertion: Key) -> AssertionOut:
    """One assertion, with its source's texts whole."""
    return AssertionOut.of(
        await app.database.read(lambda tx: rows.get(tx, assertion), who), whole=True
    )


@router.patch("/api/assertions/{assertion}", responses=responses(404))
async def change_assertion(
    app: App, who: Who, assertion: Key, body: AssertionPatch
) -> AssertionOut:
    """Change an assertion. Saying something else makes a new version; verdicts keep the old."""
    details: AssertionDetails = {}
    for key, value in body.model_dump(exclude_unset=True).items():
        if value is not None or key in ("user_input", "phase"):
            details[key] = value  # type: ignore[literal-required]  # the body's keys are these
    if not details:
        raise Invalid(
            "Nothing to change.", "Give text, kind, args, tags, active or phase.", param="text"
        )
    return AssertionOut.of(await assertion_room.change(app.resources, who, assertion, details))


@router.delete("/api/assertions/{assertion}", status_code=204, responses=responses(404))
async def remove_assertion(app: App, who: Who, assertion: Key) -> None:
    """Take it off the list, with its source and, unless another needs it, its context."""
    await app.database.write(lambda tx: rows.remove(tx, assertion, app.clock()), who)


@router.get("/api/assertions/{assertion}/history", responses=responses(404))
async def assertion_history(app: App, who: Who, assertion: Key) -> History:
    """Every version, newest first, and the runs that came with it from another program."""
    return await app.database.read(lambda tx: assertion_room.history(tx, assertion), who)


@router.get("/api/advisors/{advisor}/assertions", responses=responses(404))
async def list_assertions(
    app: App,
    who: Who,
    advisor: Key,
    q: Searched = "",
    tag: Searched | None = None,
    kind: Kind | None = None,
    active: bool | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Searched | None = None,
) -> AssertionPage:
    """An advisor's assertions with their sources in short, in the order they were made. Those of a
    removed advisor are found by its id; `synthesis` and `assistant` have theirs too."""

    def read(tx: Tx) -> AssertionPage:
        owner, name = rows.owner(tx, advisor)
        wanted = AssertionFilter(owner, q, tag and tag.casefold(), kind, active)
        page = rows.list_page(tx, wanted, limit, after)
        items = [AssertionOut.of(row) for row in page.items]
        return AssertionPage(owner, name, items, page.next, rows.tags_of(tx, owner))

    return await app.database.read(read, who)


@router.post("/api/advisors/{advisor}/assertions/contexts", responses=responses(404))
async def add_contexts(app: App, who: Who, advisor: Key, body: ContextsBody) -> ContextsOut:
    """Try assertions in contexts of other conversations with this advisor too. Those with a
    question of their own stay as they are."""
    ids, count = body.assertion_ids, body.count
    return ContextsOut(await assertion_room.add_contexts(app.resources, who, advisor, ids, count))


@router.get(
    "/api/advisors/{advisor}/assertions/export",
    response_class=Response,
    responses=responses(404) | file("The file, as a download.", YAML, schema="object"),
)
async def export_assertions(app: App, who: Who, advisor: Key) -> Response:
    """An advisor's assertions as YAML, with the contexts they need."""

    def read(tx: Tx) -> tuple[str, str]:
        owner = rows.owner(tx, advisor)
        return assertion_file.export(tx, [owner]), owner[1]

    text, name = await app.database.read(read, who)
    title = f"{file_name(name, 'advisor')} assertions.yaml"
    headers = {**SAFE, "Content-Type": YAML, "Content-Disposition": disposition(title)}
    return Response(text.encode("utf-8", "replace"), headers=headers)


@router.post("/api/advisors/{advisor}/assertions/import", responses=responses(404))
async def import_assertions(app: App, who: Who, advisor: Key, body: ImportBody) -> Report:
    """Take assertions from a file, for this advisor. Taking the same file twice adds nothing."""
    owner = await app.advisors.get(who, advisor)
    return await _take(app, who, body, into=owner.id)


@router.post("/api/assertions/import", responses=responses())
async def import_all_assertions(app: App, who: Who, body: ImportBody) -> Report:
    """Take assertions from a file, each for the advisor that the file names."""
    return await _take(app, who, body)


async def _take(app: App, who: Who, body: ImportBody, into: str | None = None) -> Report:
    parsed = await asyncio.to_thread(assertion_import.understand, body.content, "The file")
    phase = partial(assertion_room.open_phase, resources=app.resources)
    return await assertion_import.store(
        app.database, who, app.clock(), parsed, into=into, phase=phase, dry=body.dry_run
    )


@router.get("/api/answers/{answer}/assertions", responses=responses(404))
async def answer_assertions(app: App, who: Who, answer: Key) -> list[AssertionOut]:
    """Assertions that were drawn from an answer."""

    def read(tx: Tx) -> list[AssertionOut]:
        turns.get_answer(tx, answer)
        wanted = AssertionFilter(answer_id=answer)
        return [AssertionOut.of(row) for row in rows.list_all(tx, wanted)]

    return await app.database.read(read, who)


@router.post("/api/answers/{answer}/assertions/suggest", responses=responses(402, 404, 409))
async def suggest_assertions(
    app: App, who: Who, answer: Key, request: Request, body: SuggestAssertions | None = None
) -> Suggestions:
    """Assertions that hold of an answer: by rules, and by the judge's model where there is one.
    Nothing is made; pick, then POST them."""
    wanted = body or SuggestAssertions(count=6)
    work = suggest(app.resources, who, answer, wanted.count, wanted.model)
    return await while_wanted(request, work)


@router.get("/api/conversations/{conversation}/asserted", responses=responses(404))
async def asserted_answers(app: App, who: Who, conversation: Key) -> AssertedOut:
    """The answers of a conversation that assertions were drawn from: the quiet marks."""
    await app.conversations.get(who, conversation)
    answers = await app.database.read(lambda tx: rows.asserted(tx, conversation), who)
    return AssertedOut(answers, app.settings.evaluation.badges)
