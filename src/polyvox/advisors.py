"""The starter council, and the plain assistant: the advisors that exist before anyone made one.

Their texts are data in `starter/council.yaml`; here they become values ready to be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

from polyvox.ids import new_id
from polyvox.values import ASSISTANT_ID, Advisor


def starter_council(now: int = 0, make_id: Callable[[], str] = new_id) -> tuple[Advisor, ...]:
    """Six advisors for a first run, in their order, all active. Their prompt versions are made by
    whoever stores them."""
    import yaml  # costs 20 ms, and only a first run needs it

    text = (resources.files("polyvox") / "starter" / "council.yaml").read_text(encoding="utf-8")
    return tuple(
        Advisor(
            id=make_id(),
            slug=row["slug"],
            name=row["name"],
            description=row["description"].strip(),
            color=row["color"],
            position=position,
            created_at=now,
            updated_at=now,
        )
        for position, row in enumerate(yaml.safe_load(text))
    )


def plain_assistant(now: int = 0) -> Advisor:
    """The advisor that answers when no other is active. Its words come from the prompt set, unless
    it is given a prompt of its own."""
    return Advisor(
        id=ASSISTANT_ID,
        slug="assistant",
        name="Assistant",
        description="Answers when no advisor is active.",
        color="#6d675c",
        created_at=now,
        updated_at=now,
    )
