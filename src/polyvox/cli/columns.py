"""Answers side by side: columns in a wide terminal, one below the other in a narrow one.

`draw` gives the lines of a whole picture. With a height it shows the newest lines of each answer,
as many as fit; without one it shows all of everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from polyvox.cli import words
from polyvox.cli.answers import AnswerView, Board, WatchedAnswer
from polyvox.cli.output import printable, say
from polyvox.cli.screen import console

WIDE = 100
"""Columns of the terminal from which answers stand side by side."""
LONGEST = 60_000
"""Characters; longer answers are not laid out in columns but written as they are."""
NARROWEST = 46
READABLE = 96
"""A single answer is not drawn wider than this: longer lines are hard to read."""
GAP = 3
MOST = 3
STATES = {"pending": "waiting", "streaming": "writing"}
COLORS = {"failed": "red", "stopped": "yellow", "interrupted": "yellow"}


def draw(
    console: Console, board: Board, width: int, height: int | None = None, waiting: str = ""
) -> list[Text]:
    """The lines of a picture of that width, and of at most that height."""
    groups = board.groups()
    if not groups:
        return [Text(waiting or "waiting", "dim")]
    shown = groups if height is None else groups[-1:]
    lines: list[Text] = []
    for group in shown:
        if lines:
            lines.append(Text())
        if group[0].kind == "exchange":
            lines += [Text(f"Round {group[0].round}", "bold"), Text()]
        room = None if height is None else height - len(lines)
        lines += _group(console, group, width, room, waiting)
    return lines


def columns_for(number: int, width: int) -> int:
    """Number of answers that stand side by side."""
    if width < WIDE or number == 1:
        return 1
    most = min(MOST, number, (width + GAP) // (NARROWEST + GAP))
    return 2 if number == 4 and most == 3 else most


def _group(
    console: Console, group: Sequence[WatchedAnswer], width: int, height: int | None, waiting: str
) -> list[Text]:
    across = columns_for(len(group), width)
    each = (width - GAP * (across - 1)) // across if across > 1 else min(width, READABLE)
    rows = [group[at : at + across] for at in range(0, len(group), across)]
    if height is not None and height < 4 * len(rows) - 1:
        return [_one_line(answer, width, waiting) for answer in group][:height]
    limit = None if height is None else height - 3 * len(rows) + 1
    bodies = [[_body(console, answer, each, limit) for answer in row] for row in rows]
    tall = [max(len(body) for body in row) for row in bodies]
    kept = tall if limit is None else share(tall, limit)
    lines: list[Text] = []
    for row, parts, most in zip(rows, bodies, kept, strict=True):
        if lines:
            lines.append(Text())
        heads = [_head(answer, each, waiting) for answer in row]
        cut = [_newest(part, most) for part in parts]
        lines += _beside([[*head, *body] for head, body in zip(heads, cut, strict=True)], each)
    return lines


def _one_line(answer: WatchedAnswer, width: int, waiting: str) -> Text:
    """An answer where there is no room for more: name, state, its newest words."""
    line = Text(answer.advisor_name, f"bold {answer.color}", no_wrap=True)
    line += Text("  ") + _state(answer, waiting) + Text("  ")
    room = width - cell_len(line.plain)
    if room > 12:
        line.append(" ".join(tail(answer.text, room, 0).split())[-room // 2 :])
    line.truncate(width, overflow="ellipsis")
    return line


def _newest(lines: list[Text], most: int) -> list[Text]:
    """The last lines; where there are few, none of them is wasted on a gap."""
    if len(lines) <= most:
        return lines
    kept = [line for line in lines if line.plain.strip()] if most < 6 else lines
    return kept[-most:]


def share(wanted: Sequence[int], room: int) -> list[int]:
    """Share the room: the modest get what they want, the others equal parts."""
    given = [0] * len(wanted)
    left = room
    for order, at in enumerate(sorted(range(len(wanted)), key=lambda i: wanted[i])):
        given[at] = max(1, min(wanted[at], left // (len(wanted) - order)))
        left -= given[at]
    return given


def _head(answer: WatchedAnswer, width: int, waiting: str) -> list[Text]:
    """Name and state in one line, and a rule under it."""
    state = _state(answer, waiting)
    name = Text(answer.advisor_name, f"bold {answer.color}", no_wrap=True)
    if answer.state == "completed" and answer.model:
        short = answer.model.partition(":")[2].rpartition("/")[2]
        if cell_len(name.plain) + cell_len(short) + cell_len(state.plain) + 5 <= width:
            state = Text(f"{short} · ", "dim") + state
    room = width - cell_len(state.plain) - 2
    if room < 6:
        state, room = Text(), width
    name.truncate(room, overflow="ellipsis")
    gap = width - cell_len(name.plain) - cell_len(state.plain)
    line = name + Text(" " * gap) + state
    return [line, Text("─" * width, answer.color)]


def _state(answer: WatchedAnswer, waiting: str) -> Text:
    if answer.state == "completed":
        excluded = "excluded · " if answer.excluded else ""
        return Text(f"{excluded}{words.spent(answer.usage)}", "dim")
    word = STATES.get(answer.state, answer.state)
    if answer.state == "pending" and waiting:
        word = waiting
    elif answer.state == "streaming" and not answer.text:
        word = "thinking"
    return Text(word, COLORS.get(answer.state, "dim"))


def _body(console: Console, answer: WatchedAnswer, width: int, limit: int | None) -> list[Text]:
    if answer.kind == "synthesis" and answer.state == "pending":
        return [Text("bringing the answers together", "dim")]
    lines: list[Text] = []
    if answer.text:
        text = answer.text if limit is None else tail(answer.text, width, limit)
        lines = markdown(console, text, width)
    elif answer.thinking and answer.state == "streaming":
        shown = tail(answer.thinking, width, min(limit or 4, 4))
        lines = _wrap(console, shown, width, "dim italic")[-4:]
    if answer.failure is not None:
        if lines:
            lines.append(Text())
        lines += _wrap(console, answer.failure.message, width)
        if answer.failure.hint:
            lines += _wrap(console, answer.failure.hint, width, "dim")
    return lines or [Text()]


def markdown(console: Console, text: str, width: int) -> list[Text]:
    """An answer drawn by Rich. Addresses stay visible: a link could hide where it leads."""
    from rich.markdown import Markdown  # 0.1 s, when the first words have come

    drawn = Markdown(printable(text), code_theme="ansi_dark", hyperlinks=False)
    rows = console.render_lines(drawn, console.options.update(width=width), pad=False)
    lines = [Text.assemble(*((part.text, part.style or "") for part in row)) for row in rows]
    for line in lines:
        line.rstrip()
    return lines


def _wrap(console: Console, text: str, width: int, style: str = "") -> list[Text]:
    """The text as it was written, wrapped."""
    plain = Text(printable(text).expandtabs(4).strip("\n"), style)
    return list(plain.wrap(console, width, overflow="fold")) or [Text()]


def tail(text: str, width: int, height: int) -> str:
    """Cut a text to the end that can be seen, so that a long one costs no more to draw."""
    room = width * (height + 2)
    if len(text) <= room:
        return text
    cut = text[-room:]
    start = cut.find("\n")
    return cut[start + 1 :] if 0 <= start < room // 2 else cut[cut.find(" ") + 1 :]


def _beside(parts: Sequence[Sequence[Text]], width: int) -> list[Text]:
    if len(parts) == 1:
        return list(parts[0])
    lines = []
    for at in range(max(len(part) for part in parts)):
        line = Text(no_wrap=True)
        for number, part in enumerate(parts):
            cell = part[at].copy() if at < len(part) else Text()
            cell.truncate(width, pad=number < len(parts) - 1)
            line.append_text(cell)
            if number < len(parts) - 1:
                line.append(" " * GAP)
        lines.append(line)
    return lines


class Drawn(AnswerView):
    """For a terminal: live columns, and in the end all of every answer, to stay."""

    @contextmanager
    def watching(self, board: Board, waiting: Callable[[], str]) -> Iterator[None]:
        """Put up an empty picture; give the terminal back in the end."""
        self._since = time.monotonic()
        self._live = Live(
            self,
            console=console(),
            auto_refresh=False,
            transient=True,
            vertical_overflow="crop",
        )
        with super().watching(board, waiting), self._live:
            self._live.refresh()
            yield

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = max(4, console.size.height - 3)
        seconds = int(time.monotonic() - self._since)
        waiting = f"{self._waiting()} {seconds} s" if seconds >= 2 else self._waiting()
        yield from draw(console, self._board, options.max_width, height, waiting)
        yield Text("\nCtrl-C stops the answers", "dim")

    def tick(self) -> None:
        """Draw it anew."""
        self._live.refresh()

    def end(self) -> None:
        """Leave the whole answers in place of the live picture."""
        print_board(self._board)


def print_board(board: Board) -> None:
    """All of every answer, side by side where there is room."""
    if any(len(answer.text) > LONGEST for answer in board.answers.values()):
        for answer in board.answers.values():
            say(f"{answer.advisor_name}\n\n{answer.text}\n")
        return
    screen = console()
    for line in draw(screen, board, screen.width):
        screen.print(line, no_wrap=True, overflow="ignore", crop=False)
    screen.print()
