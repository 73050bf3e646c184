"""Commands and the options that they share.

`command` gives every command the options --config, --database and --debug, so that they may stand
before its name or behind it; the later word wins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

Config = Annotated[str | None, typer.Option(metavar="FILE", help="The configuration file.")]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The database: sqlite:///path or postgresql://…"),
]
Debug = Annotated[
    bool, typer.Option("--debug", help="One line on stderr for each call of a model.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Earlier = Annotated[
    str | None,
    typer.Option("--conversation", "-c", metavar="ID", help="Go on with this one; or: last."),
]
Recipe = Annotated[
    str | None, typer.Option(metavar="NAME", help="The recipe of a new conversation.")
]
Council = Annotated[
    str | None, typer.Option(metavar="SLUG", help="Begin a new conversation with this council.")
]


@dataclass(slots=True)
class Invocation:
    """The options that every command shares, as they were given."""

    config: str | None = None
    database: str | None = None
    debug: bool = False
    home: Path | None = None
    """The directory of this run's data, once the settings are read."""

    def reset(self) -> None:
        """Forget the options of the command before."""
        self.config = self.database = self.home = None
        self.debug = False

    def take(self, config: str | None, database: str | None, debug: bool) -> None:
        """Note the options that were given; the others stay."""
        self.config = config or self.config
        self.database = database or self.database
        self.debug = debug or self.debug


current = Invocation()
"""Of this process: it runs one command."""

Command = Callable[..., None]


def new_group() -> typer.Typer:
    """Make a group of commands; its name alone lists what there is."""
    return typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


def command(group: typer.Typer, name: str, *, shown: bool = False) -> Callable[[Command], Command]:
    """Make a function the command `name` of a group. `shown`: its help lists the shared options
    (elsewhere only the help of `polyvox` itself does, to keep the others short)."""

    def decorate(function: Command) -> Command:
        group.command(name)(with_shared_options(function, shown=shown))
        return function

    return decorate


def single(function: Command, name: str) -> typer.Typer:
    """Make a function a command that belongs to no group."""
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    command(holder, name, shown=name == "serve")(function)
    return holder


def with_shared_options(function: Command, *, shown: bool = False) -> Command:
    """Put the shared options behind the function's own."""

    @wraps(function)
    def wrapped(**given: Any) -> None:  # noqa: ANN401 - whatever the function takes
        current.take(given.pop("config"), given.pop("database"), given.pop("debug"))
        function(**given)

    own = inspect.signature(function, eval_str=True)
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_option(kind, shown)
        )
        for name, kind, default in (
            ("config", Config, None),
            ("database", Database, None),
            ("debug", Debug, False),
        )
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *shared])
    del wrapped.__dict__["__wrapped__"]
    wrapped.__dict__["__signature__"] = signature
    wrapped.__annotations__ = {
        parameter.name: parameter.annotation for parameter in signature.parameters.values()
    } | {"return": None}
    return wrapped


def _option(kind: Any, shown: bool) -> Any:  # noqa: ANN401 - an Annotated type
    plain, option = kind.__origin__, copy(kind.__metadata__[0])
    option.hidden = not shown
    return Annotated[plain, option]
