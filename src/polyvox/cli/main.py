"""From the words on the command line to an exit code, whatever happens between.

Nothing heavy is imported here: `polyvox --help` answers at once. The module of a command is
imported when that command, or its help, is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from polyvox import __version__
from polyvox.cli.command import Config, Database, Debug, current, single
from polyvox.cli.failure import BAD_INPUT, FAILED, STOPPED, report, report_bug, tell
from polyvox.errors import PolyvoxError

COMMANDS = {
    "serve": "Serve the web app and the API.",
    "ask": "Ask the council one question.",
    "chat": "Talk with the council, or (--recipe companion) with one companion who remembers you.",
    "agent": "Talk with one advisor as an agent: alone, with its own prompt and nothing else.",
    "optimize": (
        "Look for a better prompt: rewrite it, try it on the assertions,"
        " confirm the best one afresh."
    ),
    "receipt": "What an advisor was sent for an answer, and why.",
    "trace": "What an advisor was told beside its own texts, and why; how long each step took.",
    "doctor": (
        "Check the configuration, the database, the models and the port; say what to do next."
    ),
    "usage": "Tokens and cost by day, advisor, model or conversation.",
    "worker": "Do background work apart from the server: remember, summarise, evaluate, optimise.",
    "advisors": "The advisors: who they are and what they are told.",
    "councils": "Named sets of advisors.",
    "conversations": "The conversations: find, read, keep, delete.",
    "sessions": "Sessions: stretches of talk, ended by idleness or by you.",
    "memory": "Memory: search, correct, undo, delete and forget.",
    "assertions": "How advisors should answer: assertions, to be judged or checked in code.",
    "eval": "Run the assertions of advisors as a test suite: each answers anew, and is judged.",
    "models": "The models that can be asked, and whether they answer.",
    "jobs": "Background work: what waits, what failed and why, and trying it again.",
}
"""Each command and its line in `polyvox --help`."""
MODULES = {
    "agent": "chat",
    "optimize": "optimisation",
    "receipt": "receipts",
    "trace": "receipts",
    "worker": "serve",
    "eval": "evaluation",
}
"""The modules of commands whose module has another name. A module has a `group`, or functions named
like its commands."""


class LazyGroup(TyperGroup):
    """The commands above. Their modules are imported on demand; the list needs none of them."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - whatever Typer gives a group
        stubs = [TyperCommand(name, help=line) for name, line in COMMANDS.items()]
        super().__init__(**{**attributes, "commands": stubs})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - Typer's own
        """Import the command's module and build the command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"polyvox.cli.{MODULES.get(cmd_name, cmd_name)}")
        if (group := getattr(module, "group", None)) is None:
            group = single(getattr(module, cmd_name), cmd_name)
        command = typer.main.get_command(group)
        command.name = cmd_name
        command.help = command.help or COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Typer's own
        """List the commands without importing them."""
        TyperGroup(commands=dict(self.commands)).format_commands(ctx, formatter)


app = typer.Typer(
    name="polyvox",
    cls=LazyGroup,
    # Rich help costs 0.2 s of imports, more than everything else together.
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def polyvox(
    context: typer.Context,
    config: Config = None,
    database: Database = None,
    debug: Debug = False,
    version: Annotated[bool, typer.Option("--version", help="Say the version and end.")] = False,
    host: Annotated[str | None, typer.Option(hidden=True)] = None,
    port: Annotated[int | None, typer.Option(hidden=True)] = None,
    open_: Annotated[bool, typer.Option("--open", hidden=True)] = False,
) -> None:
    """Ask several AI advisors at once, each in its own thread, side by side.

    Without a command it serves the web app and the API. --config, --database and --debug may also
    stand behind a command.
    """
    if version:
        typer.echo(f"polyvox {__version__}")
        raise typer.Exit
    current.take(config, database, debug)
    if context.invoked_subcommand is None:
        import_module("polyvox.cli.serve").serve(host=host, port=port, open_=open_)


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
    current.reset()
    try:
        code = typer.main.get_command(app).main(
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
    except PolyvoxError as error:
        return report(error)
    except Exception as error:  # noqa: BLE001 - the last net: the traceback goes to the log
        return report_bug(error)
    return code if isinstance(code, int) else 0


def _nobody_reads() -> int:
    """The reader of our output has left: say nothing more, not even at the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILED
