"""From the words on the command line to an exit code, whatever happens between."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from polyvox.cli.failing import BAD_INPUT, FAILED, STOPPED, report, report_bug, tell


def start(arguments: Sequence[str]) -> int:
    """Run one command; answers the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without a letter still gets the rest
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        return _nobody_reads()
    return code


def _run(arguments: list[str]) -> int:
    from polyvox.cli.invocation import current
    from polyvox.cli.root import app

    current.reset()
    try:
        found = typer.main.get_command(app).main(
            arguments, prog_name="polyvox", standalone_mode=False
        )
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "polyvox"
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        end = "" if message.endswith("?") else "."
        tell(f"{message[:1].lower()}{message[1:]}{end}", f"`{path} --help` shows how.")
        return BAD_INPUT
    except typer.Abort:
        tell("stopped; nothing was done.")
        return FAILED
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last net: the traceback goes to the log
        from polyvox.errors import PolyvoxError

        return report(error) if isinstance(error, PolyvoxError) else report_bug(error)
    return found if isinstance(found, int) else 0


def _nobody_reads() -> int:
    """The reader of our output has left: say nothing more, not even at the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILED
