"""A terminal for tests: a real pty of a fixed size, and a small screen that understands what the
program writes on it (lines, erasing, moving up)."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

_CODE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07")


class Screen:
    """What a terminal shows, with everything that has scrolled away."""

    def __init__(self) -> None:
        self.lines: list[str] = [""]
        self.row = 0
        self.column = 0

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    def feed(self, data: str) -> None:
        at = 0
        while at < len(data):
            if data[at] == "\x1b":
                code = _CODE.match(data, at)
                assert code is not None, f"unknown code {data[at : at + 12]!r}"
                self._code(code[1] or "", code[2] or "")
                at = code.end()
                continue
            self._put(data[at])
            at += 1

    def _put(self, letter: str) -> None:
        if letter == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif letter == "\r":
            self.column = 0
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter >= " ":
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
            self.column += 1

    def _code(self, numbers: str, kind: str) -> None:
        number = int(numbers) if numbers.isdecimal() else 1
        if kind == "A":
            self.row = max(0, self.row - number)
        elif kind == "K":
            kept = "" if numbers == "2" else self.lines[self.row][: self.column]
            self.lines[self.row] = kept
        elif kind == "J":
            del self.lines[self.row + 1 :]


class Terminal:
    """A program in a terminal of a fixed size."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], columns: int, rows: int
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            # Its own size counts, not that of the terminal in which the tests run.
            env={name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.screen = Screen()
        self.raw = ""
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, true: Callable[[Screen], bool] | str, seconds: float = 60) -> str:
        """Read until the screen is so; answers its text."""
        seen = (lambda screen: true in screen.text) if isinstance(true, str) else true
        end = time.monotonic() + seconds
        while not seen(self.screen):
            assert self._read(end - time.monotonic()), f"it ended without it:\n{self.screen.text}"
            assert time.monotonic() < end, f"it did not come:\n{self.screen.text}"
        return self.screen.text

    def press(self, key: str, true: Callable[[Screen], bool], seconds: float = 60) -> None:
        """Press a key, again after a second (one that falls into the moment in which a prompt is
        put up is lost), until the screen is so or the program has ended."""
        end = time.monotonic() + seconds
        while not true(self.screen) and self.process.poll() is None:
            assert time.monotonic() < end, f"it did not come:\n{self.screen.text}"
            self.type(key)
            again = time.monotonic() + 1
            while time.monotonic() < again and not true(self.screen):
                if not self._read(again - time.monotonic()):
                    return

    def end(self, seconds: float = 60) -> int:
        """Read until the program ends; answers its exit code."""
        end = time.monotonic() + seconds
        while self._read(end - time.monotonic()):
            assert time.monotonic() < end, f"it did not end:\n{self.screen.text}"
        return self.process.wait(seconds)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0, min(seconds, 1)))
        if not ready:
            return self.process.poll() is None or bool(seconds > 0 and self._more())
        return self._more()

    def _more(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed: Linux says EIO
            return False
        if not data:
            return False
        data = self._rest + data
        # A letter or a code may be cut in two; what is not whole waits for the rest.
        text = data.decode("utf-8", "ignore")
        self._rest = data[len(text.encode()) :]
        cut = text.rfind("\x1b")
        if cut >= 0 and not _CODE.match(text, cut):
            self._rest = text[cut:].encode() + self._rest
            text = text[:cut]
        self.raw += text
        self.screen.feed(text)
        return True
