"""`polyvox ask`: one turn, its answers side by side, one after another in a pipe, or as JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.answers import print_closing, view_for
from polyvox.cli.command import Council, Earlier, Phases, Recipe
from polyvox.cli.failure import FAILED, report, tell
from polyvox.cli.lookup import SCOPE, People, choose_conversation, read_phases
from polyvox.cli.output import say_json
from polyvox.cli.prompt import read_message
from polyvox.cli.run import run
from polyvox.cli.talk import Outcome, Talk, tell_stopped
from polyvox.errors import Invalid, PolyvoxError
from polyvox.events import usage_data
from polyvox.values import Answer


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
    phases: Phases = None,
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

    A new conversation begins with answers; --phases N lets each advisor first ask you something.
    Ctrl-C stops the answers and keeps what they have. Ends with 0 if an answer was completed.
    """

    async def work(app: Polyvox) -> int:
        content = read_message(message, app.settings.limits.message_chars)
        most = app.settings.limits.exchange_rounds
        if (exchange or 0) > most:  # refused before anything is asked
            hint = "limits.exchange_rounds sets the most."
            raise Invalid(f"An exchange has 1 to {most} rounds.", hint)
        chosen = await choose_conversation(app, conversation, recipe, council)
        talk = Talk(
            app,
            view_for(json),
            chosen,
            recipe=recipe,
            council=council,
            only=advisor,
            model=model,
        )
        if phases is not None:
            await talk.set_phases(read_phases(phases))
        elif chosen is None:
            talk.phases = await _phases_of(app, council)
        if not json:
            await talk.note_tiny_model()
        outcomes = [await talk.send(content)]
        try:
            if exchange is not None and not outcomes[-1].stopped:
                outcomes.append(await talk.exchange(exchange))
            if synthesize and not outcomes[-1].stopped:
                outcomes.append(await talk.synthesize())
        except PolyvoxError as error:  # without answers there is nothing to respond to
            report(error)
        return await _finish(talk, outcomes, json=json)

    run(work, {"models.default": model} if model else None)


async def _phases_of(app: Polyvox, council: str | None) -> int:
    """Who asks once wants an answer: advisors only ask first where their council says so."""
    own = (await app.councils.get(SCOPE, council)).phases if council is not None else None
    return own or 0


async def _finish(talk: Talk, outcomes: list[Outcome], *, json: bool) -> int:
    answers = [answer for outcome in outcomes for answer in outcome.answers]
    if json:
        people = await People.of(talk.app, SCOPE)
        say_json(as_data(talk.conversation_id, outcomes[0].turn_id, answers, people))
    else:
        print_closing(talk.conversation_id, answers)
    if outcomes[-1].stopped:
        return tell_stopped(answers)
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
    rows = [
        {
            "answer": answer.id,
            "advisor": people.get(answer.advisor_id).slug,
            "state": answer.state,
            "text": answer.text,
            "error": answer.failure,
            "usage": usage_data(answer.usage),
        }
        | ({"kind": answer.kind, "round": answer.round} if several else {})
        for answer in answers
    ]
    return {"conversation": conversation_id, "turn": turn_id, "answers": rows}
