"""A conversation to read: each message, and under it every answer, with the ids to go on with."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from polyvox.cli import words
from polyvox.cli.output import is_terminal, say, say_styled
from polyvox.cli.people import People
from polyvox.cli.show.board import Board
from polyvox.session.inspect import View
from polyvox.values import Answer, Turn


def print_transcript(seen: View, people: People, zone: str) -> None:
    """The turns of a view, oldest first."""
    conversation = seen.conversation
    say(conversation.title or "(without a title)")
    _dim(f"conversation {conversation.id} · {conversation.recipe}")
    if seen.more:
        _dim("older turns are left out; --limit shows more of them")
    if not seen.turns:
        _dim("nothing has been said yet")
    for turn, answers in seen.turns:
        say()
        _message(turn, zone)
        say()
        _answers(answers, people)
        for answer in answers:
            if answer.current:
                _dim(
                    f"{people.get(answer.advisor_id, answer.advisor_name).name}: answer {answer.id}"
                )
    spent = [answer for _, answers in seen.turns for answer in answers]
    say()
    _dim(total(spent))
    forks = sum(len(ids) - 1 for ids in seen.branches.values())
    if forks:
        _dim(f"{words.count(forks, 'other branch', 'other branches')} not shown")


def _message(turn: Turn, zone: str) -> None:
    excluded = " · excluded" if turn.excluded else ""
    line = f"you · {words.when(turn.said_at, zone)}{excluded}"
    if is_terminal():
        say_styled((line, "dim"))
        say_styled(("› ", "dim"), (turn.content, "bold"))
    else:
        say(f"# {line}\n\n{turn.content}")


def _answers(answers: tuple[Answer, ...], people: People) -> None:
    shown = [answer for answer in answers if answer.current]
    board = Board(people)
    board.settle(shown, answers)
    if is_terminal():
        from polyvox.cli.show.columns import print_board

        print_board(board)
        return
    for watched in board.answers.values():
        again = f" (round {watched.round})" if watched.kind == "exchange" else ""
        state = "" if watched.state == "completed" else f" [{watched.state}]"
        excluded = " [excluded]" if watched.excluded else ""
        say(f"## {watched.speaker.name}{again}{state}{excluded}\n\n{watched.text}")
        if watched.failure is not None:
            say(f"{watched.failure.message} {watched.failure.hint}".rstrip())
        say()


def _dim(text: str) -> None:
    if text:
        say_styled((text, "dim"), soft_wrap=True)


def print_closing(conversation_id: str, answers: Sequence[Answer]) -> None:
    """Print the last line under answers: tokens, cost, the conversation where its id is new.

    A pipe gets the answers and nothing else.
    """
    if not is_terminal():
        return
    named = f"conversation {conversation_id}" if conversation_id else ""
    parts = [part for part in (total(answers), named) if part]
    between = " · " if sum(map(len, parts)) + 3 <= shutil.get_terminal_size().columns else "\n"
    say_styled((between.join(parts), "dim"), soft_wrap=True)


def total(answers: Sequence[Answer]) -> str:
    """Tokens and cost of all of them; what has no known price is counted apart."""
    spent = [answer.usage for answer in answers if answer.usage is not None]
    if not spent:
        return ""
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in spent)
    priced = [usage.cost for usage in spent if usage.cost is not None]
    cost = words.money(sum(priced) if priced else None)
    unknown = len(spent) - len(priced)
    if priced and unknown:
        cost += f" and {words.count(unknown, 'answer')} of unknown price"
    return f"{words.count(len(answers), 'answer')} · {words.count(tokens, 'token')} · {cost}"
