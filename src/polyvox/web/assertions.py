"""Routes of assertions: made, listed, changed, looked at, suggested, in files and out."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from polyvox.errors import Invalid
from polyvox.evaluation import assertion as asserting
from polyvox.evaluation import language as languages
from polyvox.evaluation.checks import KNOWN
from polyvox.evaluation.proposing import suggest
from polyvox.evaluation.tables import assertions as rows
from polyvox.evaluation.tables.assertions import Details, Wanted
from polyvox.evaluation.values import Kind
from polyvox.evaluation.wordings import Wording, checked
from polyvox.interop import assertion_import, assertion_reading
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.web.assertion_shapes import (
    AssertedOut,
    AssertionCreate,
    AssertionOut,
    AssertionPage,
    AssertionPatch,
    BulkBody,
    BulkOut,
    HistoryOut,
    ImportBody,
    KindOut,
    KindsOut,
    LintBody,
    LintedOut,
    LintOut,
    MadeOut,
    ProposedOut,
    ReportOut,
    SuggestAssertions,
    SuggestedAssertions,
    told,
)
from polyvox.web.dependencies import App, Who, while_wanted
from polyvox.web.errors import responses
from polyvox.web.export import SAFE, disposition, file_name
from polyvox.web.fields import Key, Text

router = APIRouter(tags=["assertions"])

YAML = "application/yaml"
Searched = Annotated[Text, Query(max_length=500)]


@router.post("/api/assertions", status_code=201, responses=responses(404, 409))
async def make_assertions(app: App, who: Who, body: AssertionCreate) -> MadeOut:
    """New assertions, one per text or line: from an answer, with what its advisor had been sent;
    or by hand for an advisor. One that is there word for word is given as it is."""
    said = body.wordings()
    if (body.answer_id is None) == (body.advisor_id is None):
        raise Invalid("Give an answer_id or an advisor_id.", "One of them.", param="answer_id")
    if body.answer_id is not None:
        if body.user_input is not None:
            raise Invalid(
                "What is drawn from an answer has that answer's question.",
                "Leave user_input out.",
                param="user_input",
            )
        made = await asserting.from_answer(app.resources, who, body.answer_id, said, body.tags)
    else:
        advisor = body.advisor_id or ""
        made = await asserting.by_hand(
            app.resources, who, advisor, said, body.tags, body.user_input
        )
    ids = {one.id for one in made}
    others = [
        Wording(one.text, one.kind, one.args)
        for one in await app.database.read(
            lambda tx: rows.list_all(tx, Wanted(advisor_id=made[0].advisor_id, active=True)), who
        )
        if one.id not in ids
    ]
    linted = [LintedOut.of(Wording(one.text, one.kind, one.args), others) for one in made]
    return MadeOut(**told(made[0]), assertions=[AssertionOut.of(one) for one in made], lint=linted)


@router.get("/api/assertions/kinds", responses=responses())
async def list_kinds() -> KindsOut:
    """The kinds of assertions, and what each takes."""
    return KindsOut(
        kinds=[KindOut(kind=kind, args=list(args)) for kind, args in KNOWN.items()],
        languages=languages.NAMES,
    )


@router.post("/api/assertions/bulk", responses=responses(404))
async def change_assertions(app: App, who: Who, body: BulkBody) -> BulkOut:
    """Activate, deactivate, tag, untag or remove many, all or none."""
    return BulkOut(ids=await asserting.bulk(app.resources, who, body.ids, body.action, body.tag))


@router.post("/api/assertions/lint", responses=responses(404))
async def lint_assertions(app: App, who: Who, body: LintBody) -> LintOut:
    """Warnings about texts that are not stored yet, and checks in code that say the same."""
    said = checked(body.wordings())
    others = await app.database.read(lambda tx: _others(tx, body), who)
    return LintOut(items=[LintedOut.of(one, others) for one in said])


def _others(tx: Tx, body: LintBody) -> list[Wording]:
    advisor = body.advisor_id
    if advisor is None and body.answer_id is not None:
        advisor = turns.get_answer(tx, body.answer_id).advisor_id
    if advisor is None:
        return []
    advisor_id, _ = asserting.whose(tx, advisor)
    found = rows.list_all(tx, Wanted(advisor_id=advisor_id, active=True))
    return [Wording(one.text, one.kind, one.args) for one in found if one.id != body.beside]


@router.get("/api/assertions/{assertion}", responses=responses(404))
async def get_assertion(app: App, who: Who, assertion: Key) -> AssertionOut:
    """One assertion, with its source's texts whole."""
    return AssertionOut.of(await asserting.get(app.resources, who, assertion), whole=True)


@router.patch("/api/assertions/{assertion}", responses=responses(404))
async def change_assertion(
    app: App, who: Who, assertion: Key, body: AssertionPatch
) -> AssertionOut:
    """Change an assertion. Saying something else makes a new version; verdicts keep the old."""
    said = body.model_dump(exclude_unset=True)
    details: Details = {}
    for key, value in said.items():
        if value is not None or key == "user_input":
            details[key] = value  # type: ignore[literal-required]  # the body's keys are these
    if not details:
        raise Invalid("Nothing to change.", "Give text, kind, args, tags or active.", param="text")
    return AssertionOut.of(await asserting.change(app.resources, who, assertion, details))


@router.delete("/api/assertions/{assertion}", status_code=204, responses=responses(404))
async def remove_assertion(app: App, who: Who, assertion: Key) -> None:
    """Take it off the list, with its source and, unless another needs it, its context."""
    await asserting.remove(app.resources, who, assertion)


@router.get("/api/assertions/{assertion}/history", responses=responses(404))
async def assertion_history(app: App, who: Who, assertion: Key) -> HistoryOut:
    """Every version, newest first, and the runs that came with it from another program."""
    return HistoryOut.of(await asserting.history(app.resources, who, assertion))


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
    wanted = Wanted(query=q, tag=None if tag is None else tag.casefold(), kind=kind, active=active)
    found = await asserting.listed(app.resources, who, advisor, wanted, limit, after)
    return AssertionPage(
        advisor_id=found.advisor_id,
        advisor_name=found.advisor_name,
        items=[AssertionOut.of(one) for one in found.page.items],
        next=found.page.next,
        tags=list(found.tags),
    )


@router.get(
    "/api/advisors/{advisor}/assertions/export",
    response_class=Response,
    responses={
        **responses(404),
        200: {
            "description": "The file, as a download.",
            "content": {YAML: {"schema": {"type": "object"}}},
        },
    },
)
async def export_assertions(app: App, who: Who, advisor: Key) -> Response:
    """An advisor's assertions as YAML, with the contexts they need."""

    def read(tx: Tx) -> tuple[str, str]:
        owner = asserting.whose(tx, advisor)
        return assertion_reading.whole(tx, [owner]), owner[1]

    text, name = await app.database.read(read, who)
    called = f"{file_name(name, 'advisor')} assertions.yaml"
    headers = {**SAFE, "Content-Type": YAML, "Content-Disposition": disposition(called)}
    return Response(text.encode("utf-8", "replace"), headers=headers)


@router.post("/api/advisors/{advisor}/assertions/import", responses=responses(404))
async def import_assertions(app: App, who: Who, advisor: Key, body: ImportBody) -> ReportOut:
    """Take assertions from a file, for this advisor. Taking the same file twice adds nothing."""
    found = await app.advisors.get(who, advisor)
    parsed = await asyncio.to_thread(assertion_reading.understand, body.content, "The file")
    report = await assertion_import.store(
        app.database, who, app.clock(), parsed, into=found.id, dry=body.dry_run
    )
    return ReportOut.of(report)


@router.post("/api/assertions/import", responses=responses())
async def import_all_assertions(app: App, who: Who, body: ImportBody) -> ReportOut:
    """Take assertions from a file, each for the advisor that the file names."""
    parsed = await asyncio.to_thread(assertion_reading.understand, body.content, "The file")
    report = await assertion_import.store(app.database, who, app.clock(), parsed, dry=body.dry_run)
    return ReportOut.of(report)


@router.get("/api/answers/{answer}/assertions", responses=responses(404))
async def answer_assertions(app: App, who: Who, answer: Key) -> list[AssertionOut]:
    """What was drawn from an answer."""
    return [AssertionOut.of(one) for one in await asserting.of_answer(app.resources, who, answer)]


@router.post("/api/answers/{answer}/assertions/suggest", responses=responses(402, 404, 409))
async def suggest_assertions(
    app: App, who: Who, answer: Key, request: Request, body: SuggestAssertions | None = None
) -> SuggestedAssertions:
    """Assertions that hold of an answer: by rules, and by the judge's model where there is one.
    Nothing is made; pick, then POST them."""
    wanted = body or SuggestAssertions(count=6)
    work = suggest(app.resources, who, answer, wanted.count, wanted.model)
    found = await while_wanted(request, work)
    return SuggestedAssertions(
        suggestions=[ProposedOut.of(one) for one in found.proposals],
        model=found.model,
        note=found.note,
    )


@router.get("/api/conversations/{conversation}/asserted", responses=responses(404))
async def asserted_answers(app: App, who: Who, conversation: Key) -> AssertedOut:
    """The answers of a conversation that assertions were drawn from: the quiet marks."""
    await app.conversations.get(who, conversation)
    found = await asserting.asserted(app.resources, who, conversation)
    return AssertedOut(answers=found, badges=app.settings.evaluation.badges)
