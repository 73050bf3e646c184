"""Parents: who is best at something, the newest of equals; and the winner."""

from __future__ import annotations

from collections import Counter

from polyvox.evaluation.optimise.search import best_of, choose_parent, wins
from polyvox.evaluation.optimise.values import AttemptState, PromptAttempt, Scores, Tally
from polyvox.evaluation.replay import Prompt

KEYS = ("a", "b", "c")


def attempt(number: int, *passes: int, state: AttemptState = "scored") -> PromptAttempt:
    tallies = {key: Tally(n, 3 - n) for key, n in zip(KEYS, passes, strict=True)}
    return PromptAttempt(number, 0, Prompt(f"p{number}"), state, Scores(tallies))


def test_who_alone_is_best_at_one_thing_stays_a_parent() -> None:
    made = [attempt(0, 1, 1, 1), attempt(1, 3, 0, 0), attempt(2, 2, 3, 3)]
    assert wins(made, KEYS) == Counter({1: 1, 2: 2})


def test_of_equals_the_newest_is_the_parent_and_the_oldest_the_winner() -> None:
    made = [attempt(0, 2, 2, 2), attempt(1, 2, 2, 2), attempt(2, 2, 2, 2)]
    assert wins(made, KEYS) == Counter({2: 3})
    assert best_of(made, KEYS).number == 0


def test_what_was_refused_given_up_or_held_back_is_no_parent_and_no_winner() -> None:
    made = [
        attempt(0, 1, 1, 1),
        attempt(1, 3, 3, 3, state="guarded"),
        attempt(2, 3, 3, 3, state="hopeless"),
        PromptAttempt(3, 0, Prompt(""), "refused", note="no"),
    ]
    assert wins(made, KEYS) == Counter({0: 3})
    assert best_of(made, KEYS).number == 0


def test_the_choice_is_the_same_for_the_same_seed_and_spread_over_the_front() -> None:
    made = [attempt(0, 0, 0, 0), attempt(1, 3, 0, 0), attempt(2, 0, 3, 3)]
    chosen = [choose_parent(made, KEYS, 7, i).number for i in range(200)]
    assert chosen == [choose_parent(made, KEYS, 7, i).number for i in range(200)]
    counts = Counter(chosen)
    assert set(counts) == {1, 2}
    assert counts[2] > counts[1] > 30


def test_what_is_not_known_counts_as_before() -> None:
    unknown = PromptAttempt(
        1, 0, Prompt("p"), "scored", Scores({"a": Tally(3), "b": Tally(errors=3), "c": Tally(3)})
    )
    made = [attempt(0, 1, 3, 1), unknown]
    assert best_of(made, KEYS).number == 1
    assert unknown.scores.mean(KEYS, made[0].scores) == 1.0
