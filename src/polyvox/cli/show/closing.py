"""The last line under some answers: what they took, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.cli import words
from polyvox.cli.output import console, is_terminal
from polyvox.values import Answer


def print_closing(conversation_id: str, answers: Sequence[Answer]) -> None:
    """In a terminal only: a pipe gets the answers and nothing else. No id: it was told before."""
    if not is_terminal():
        return
    screen = console()
    named = f"conversation {conversation_id}" if conversation_id else ""
    parts = [part for part in (total(answers), named) if part]
    between = " · " if sum(map(len, parts)) + 3 <= screen.width else "\n"
    screen.print(between.join(parts), style="dim", soft_wrap=True)


def total(answers: Sequence[Answer]) -> str:
    """Tokens and cost of all of them; what has no known price is counted apart."""
    spent = [answer.usage for answer in answers if answer.usage is not None]
    if not spent:
        return ""
    tokens = sum(one.input_tokens + one.output_tokens for one in spent)
    priced = [one.cost for one in spent if one.cost is not None]
    cost = words.money(sum(priced) if priced else None)
    unknown = len(spent) - len(priced)
    if priced and unknown:
        cost += f" and {words.count(unknown, 'answer')} of unknown price"
    return f"{words.count(len(answers), 'answer')} · {words.count(tokens, 'token')} · {cost}"
