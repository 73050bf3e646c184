"""What holds for the whole run of a command: where its settings come from, and how much it tells.

`command` gives every command the options --config, --database and --debug, so that they may stand
before its name or behind it; the later word wins.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from polyvox.settings import Settings

Config = Annotated[str | None, typer.Option(metavar="FILE", help="The configuration file.")]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The database: sqlite:///path or postgresql://…"),
]
Debug = Annotated[
    bool, typer.Option("--debug", help="One line on stderr for each call of a model.")
]


@dataclass(slots=True)
class Invocation:
    """The options that every command shares."""

    config: str | None = None
    database: str | None = None
    debug: bool = False
    home: Path | None = None
    """Where this run keeps its data, once the settings are read."""

    def reset(self) -> None:
        """A new command begins."""
        self.config = self.database = self.home = None
        self.debug = False

    def take(self, config: str | None, database: str | None, debug: bool) -> None:
        """Note what was given; what was not stays."""
        self.config = config or self.config
        self.database = database or self.database
        self.debug = debug or self.debug

    def settings(self, overrides: Mapping[str, str] | None = None) -> Settings:
        """The settings of this run."""
        from polyvox.settings import load

        words = dict(overrides or {})
        if self.database:
            words["database"] = self.database
        if self.debug and not os.environ.get("POLYVOX_DEBUG"):
            words["debug"] = "debug"
        found = load(self.config, overrides=words)
        self.home = found.home
        return found


current = Invocation()
"""Of this process: it runs one command."""

Command = Callable[..., None]


def command(group: typer.Typer, name: str, *, shown: bool = False) -> Callable[[Command], Command]:
    """Make a function the command `name` of a group. `shown`: its help lists the shared options
    (elsewhere only the help of `polyvox` itself does, to keep the others short)."""

    def decorate(function: Command) -> Command:
        group.command(name)(shared(function, shown=shown))
        return function

    return decorate


def shared(function: Command, *, shown: bool) -> Command:
    """The function with the shared options behind its own."""

    @wraps(function)
    def with_options(**given: Any) -> None:  # noqa: ANN401 - whatever the function takes
        current.take(given.pop("config"), given.pop("database"), given.pop("debug"))
        function(**given)

    own = inspect.signature(function, eval_str=True)
    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_worded(kind, shown)
        )
        for name, kind, default in (
            ("config", Config, None),
            ("database", Database, None),
            ("debug", Debug, False),
        )
    ]
    whole = own.replace(parameters=[*own.parameters.values(), *more])
    del with_options.__dict__["__wrapped__"]
    with_options.__dict__["__signature__"] = whole
    with_options.__annotations__ = {
        each.name: each.annotation for each in whole.parameters.values()
    } | {"return": None}
    return with_options


def _worded(kind: Any, shown: bool) -> Any:  # noqa: ANN401 - an Annotated type
    from copy import copy

    plain, option = kind.__origin__, copy(kind.__metadata__[0])
    option.hidden = not shown
    return Annotated[plain, option]
