"""`polyvox ask`: one turn, its answers side by side, one after another in a pipe, or as JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Council, Earlier, Recipe
from polyvox.cli.failure import FAILED, STOPPED, report, tell
from polyvox.cli.lookup import (
    SCOPE,
    begin_conversation,
    check_council,
    check_recipe,
    find_conversation,
)
from polyvox.cli.output import say_json
from polyvox.cli.people import People
from polyvox.cli.prompt import read_message
from polyvox.cli.run import run
from polyvox.cli.show.transcript import print_closing
from polyvox.cli.show.views import view_for
from polyvox.cli.talk import Outcome, Talk, note_unknown_mention, tiny_note
from polyvox.errors import Invalid, PolyvoxError
from polyvox.events import usage_data
from polyvox.values import Answer, Conversation


def ask(
    message: Annotated[
        str | None,
        typer.Argument(metavar="MESSAGE", help="What to ask; - (or nothing, in a pipe): stdin."),
    ] = None,
    advisor: Annotated[
        list[str] | None,
        typer.Option("--advisor", "-a", metavar="SLUG", help="Ask only this one; repeatable."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="P:M", help="Ask all with this model, this once."),
    ] = None,
    conversation: Earlier = None,
    recipe: Recipe = None,
    council: Council = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    synthesize: Annotated[
        bool, typer.Option("--synthesize", help="Then bring the answers together.")
    ] = False,
    exchange: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Then let them respond to each other, N rounds."),
    ] = None,
) -> None:
    """Ask the council one question.

    Ctrl-C stops the answers and keeps what they have. Ends with 0 if an answer was completed.
    """

    async def work(app: Polyvox) -> int:
        words = read_message(message, app.settings.limits.message_chars)
        _check_rounds(app, exchange)
        talk = Talk(app, view_for(json), model)
        talk.note = "" if json else await tiny_note(app, advisor)
        chosen = await _conversation(app, conversation, recipe, council)
        if advisor is None:
            await note_unknown_mention(app, words)
        try:
            first = await talk.send(chosen.id, words, advisor)
        except PolyvoxError:
            if conversation is None:
                await app.conversations.delete(SCOPE, chosen.id)
            raise
        outcomes = [first]
        if not first.stopped:
            outcomes += await _then(talk, chosen.id, first.turn_id, exchange, synthesize)
        return await _finish(talk, chosen, outcomes, json=json)

    run(work, {"models.default": model} if model else None)


def _check_rounds(app: Polyvox, rounds: int | None) -> None:
    """Refuse before anything is asked, not after the answers have come."""
    most = app.settings.limits.exchange_rounds
    if rounds is not None and rounds > most:
        raise Invalid(
            f"An exchange has 1 to {most} rounds.", "limits.exchange_rounds sets the most."
        )


async def _conversation(
    app: Polyvox, name: str | None, recipe: str | None, council: str | None
) -> Conversation:

    chosen = await find_conversation(app, name) if name else None
    await check_recipe(app, recipe, chosen)
    await check_council(app, council, chosen)
    if chosen is not None:
        return chosen
    return await begin_conversation(app, recipe, council)


async def _then(
    talk: Talk, conversation_id: str, turn_id: str, rounds: int | None, synthesize: bool
) -> list[Outcome]:
    """Run the exchange and the synthesis that were asked for; without answers, say why not."""
    outcomes: list[Outcome] = []
    try:
        if rounds is not None:
            outcomes.append(await talk.exchange(conversation_id, turn_id, rounds))
        if synthesize and not any(outcome.stopped for outcome in outcomes):
            outcomes.append(await talk.synthesize(conversation_id, turn_id))
    except PolyvoxError as error:
        report(error)
    return outcomes


async def _finish(
    talk: Talk, conversation: Conversation, outcomes: list[Outcome], *, json: bool
) -> int:

    answers = [answer for outcome in outcomes for answer in outcome.answers]
    if json:
        people = await People.of(talk.app, SCOPE)
        say_json(as_data(conversation.id, outcomes[0].turn_id, answers, people))
    else:
        print_closing(conversation.id, answers)
    if any(outcome.stopped for outcome in outcomes):
        kept = any(answer.text for answer in answers)
        tell("stopped; what had come is kept." if kept else "stopped before any words came.")
        return STOPPED
    if any(answer.state == "completed" for answer in outcomes[0].answers):
        return 0
    first = next((answer.failure for answer in answers if answer.failure is not None), None)
    tell(
        "no answer was completed.",
        f"{first.message} {first.hint}" if first is not None else "Ask again.",
    )
    return FAILED


def as_data(
    conversation_id: str, turn_id: str, answers: list[Answer], people: People
) -> dict[str, Any]:
    """The body of --json. `kind` is there when there is more than the advisors' answers."""
    several = any(answer.kind != "advisor" for answer in answers)
    rows: list[dict[str, Any]] = []
    for answer in answers:
        failure = answer.failure
        row: dict[str, Any] = {
            "answer": answer.id,
            "advisor": people.get(answer.advisor_id).slug,
            "state": answer.state,
            "text": answer.text,
            "error": None
            if failure is None
            else {
                "category": failure.category,
                "message": failure.message,
                "hint": failure.hint,
            },
            "usage": usage_data(answer.usage),
        }
        if several:
            row |= {"kind": answer.kind, "round": answer.round}
        rows.append(row)
    return {"conversation": conversation_id, "turn": turn_id, "answers": rows}
