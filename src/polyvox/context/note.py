"""The note of a bookends window: exactly how many messages are not shown, or the stored summary of
exactly those. Nothing in it is invented."""

from __future__ import annotations

from polyvox.context.budget import estimate
from polyvox.context.draft import Line
from polyvox.context.promptset import PromptSet, fill
from polyvox.context.window import NOTE_ABOVE, Selected, messages_in
from polyvox.context.words import Made, quoted
from polyvox.thread import Thread, ThreadSummary


class Notes:
    """The note for any number of units that the budget drops beyond what the window left out."""

    def __init__(self, thread: Thread, selected: Selected, prompts: PromptSet) -> None:
        self._thread = thread
        self._selected = selected
        self._prompts = prompts

    def size(self, dropped: int) -> int:
        """Estimated tokens of the note, 0 where there is none."""
        line = self.line(dropped)
        return estimate(len(line.text)) if line is not None else 0

    def line(self, dropped: int) -> Line | None:
        """The note, or None where too little is left out to be worth one."""
        count = self._selected.missing + messages_in(self._selected.units[:dropped])
        if count <= NOTE_ABOVE:
            return None
        if (summary := self._summary(dropped, count)) is not None:
            values = {"count": str(count), "summary": quoted(summary.text)}
            text = fill(self._prompts.text("summary"), values)
            ends = (summary.covers[0], summary.covers[-1]) if summary.covers else ()
            return Line("note", "user", "", text, Made(text, whole=True, sources=ends))
        made = Made(self._prompts.text("note"), values=(("count", str(count)),))
        return Line("note", "user", "", made.render({}), made)

    def _summary(self, dropped: int, count: int) -> ThreadSummary | None:
        """The stored summary, if it is of exactly what lies between the turns that are shown."""
        summary, units, head = self._thread.summary, self._selected.units, self._selected.head
        if summary is None or summary.messages != count:
            return None
        if 0 < dropped < head:
            return None  # part of the head is gone too: two stretches, and no summary is of both
        after = units[head - 1].turn_id if dropped < head else ""
        rest = units[max(head, dropped) :]
        before = rest[0].turn_id if rest else self._thread.current.turn_id
        return summary if (summary.after_id, summary.before_id) == (after, before) else None
