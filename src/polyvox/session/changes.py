"""Changes to a conversation that are set rather than said: details, head, exclusions.

Each is stored with the event that tells it, in one commit, so that every tab and device that
watches comes to the same picture. Setting something to what it is already tells nobody anything.
Invariant: a change that is refused is refused before anything of it is written.
"""

from __future__ import annotations

from dataclasses import replace

from polyvox.errors import Conflict
from polyvox.events import ConversationChanged, Event
from polyvox.memory import excluding
from polyvox.memory.tables import companions
from polyvox.resources import Resources
from polyvox.store import conversations, summaries, turns
from polyvox.store.conversations import ConversationDetails
from polyvox.store.database import Tx
from polyvox.values import REDACTED, Answer, Conversation, Scope, Turn


async def change(
    resources: Resources,
    scope: Scope,
    conversation_id: str,
    details: ConversationDetails,
    head: str | None,
) -> Conversation:
    """Change what is named, all of it or nothing. `head` is the turn that the next message answers
    to: to go on from another branch."""

    def act(tx: Tx) -> tuple[Conversation, list[Event]]:
        old = conversations.get(tx, conversation_id)
        if head is not None:
            turns.move_head(tx, conversation_id, head)
        conversations.update(tx, conversation_id, details)
        new = conversations.get(tx, conversation_id)
        changes: list[Event] = []
        if _details(old) != _details(new):
            changes.append(ConversationChanged("details", new.id))
        if new.head_id is not None and new.head_id != old.head_id:
            excluding.follow_head(tx, new.id, old.head_id, new.head_id, resources.clock())
            changes.append(ConversationChanged("head", new.head_id))
        return new, changes

    await resources.database.read(lambda tx: conversations.get(tx, conversation_id), scope)
    new, numbered = await resources.journal.do(scope, conversation_id, act, now=True)
    return replace(new, last_number=numbered[-1].number) if numbered else new


def _details(conversation: Conversation) -> tuple[object, ...]:
    return (
        conversation.title,
        conversation.recipe,
        conversation.advisors,
        conversation.council_id,
        conversation.recall,
        conversation.phases,
    )


async def exclude_answer(
    resources: Resources, scope: Scope, answer_id: str, excluded: bool
) -> Answer:
    """Keep an answer out of every later request, or let it in again."""

    def act(tx: Tx) -> tuple[Answer, list[Event]]:
        old = turns.get_answer(tx, answer_id)
        if old.redacted and old.text == REDACTED and not excluded:
            raise Conflict("This answer was forgotten.", "Regenerate it, if you need another one.")
        turns.set_excluded(tx, "answers", answer_id, excluded)
        changes: list[Event] = [ConversationChanged("answer", answer_id)]
        if old.excluded == excluded:
            return turns.live_answer(tx, answer_id), []
        _followed(tx, resources, old.turn_id)
        return turns.live_answer(tx, answer_id), changes

    stored = await resources.database.read(lambda tx: turns.get_answer(tx, answer_id), scope)
    return (await resources.journal.do(scope, stored.conversation_id, act, now=True)).value


async def exclude_message(
    resources: Resources, scope: Scope, message_id: str, excluded: bool
) -> Turn:
    """Keep a message, and with it the answers to it, out of every later request; or undo it."""

    def act(tx: Tx) -> tuple[Turn, list[Event]]:
        old = turns.turn_of_message(tx, message_id)
        if old.redacted and not excluded:
            raise Conflict("This message was forgotten.", "Say it again, if you want it back.")
        turns.set_excluded(tx, "turns", old.id, excluded)
        changes: list[Event] = [ConversationChanged("message", message_id)]
        if old.excluded == excluded:
            return old, []
        return _followed(tx, resources, old.id), changes

    stored = await resources.database.read(lambda tx: turns.turn_of_message(tx, message_id), scope)
    return (await resources.journal.do(scope, stored.conversation_id, act, now=True)).value


def check_there(turn: Turn) -> None:
    """Refuse to have a forgotten message answered."""
    if turn.redacted:
        raise Conflict("The message of this turn was forgotten.", "Say it again, as a new message.")


def _followed(tx: Tx, resources: Resources, turn_id: str) -> Turn:
    """A turn of which something is kept out now, or let in again, with what follows: neither
    memory nor a running summary tells of what is kept out."""
    turn, now = turns.get_turn(tx, turn_id), resources.clock()
    answers = turns.answers_of(tx, turn_id)
    refs = {f"u{turn_id}", *(f"a{answer.id}" for answer in answers)}
    summaries.drop_covering(tx, turn.conversation_id, refs, now)
    excluding.follow(tx, turn, answers, now)
    companions.drop_packets(tx)  # a session may have been told of it at its start
    return turn
