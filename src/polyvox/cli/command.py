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
from typing import Annotated, Any, TypedDict, get_args, get_type_hints

import typer
from typer.core import TyperGroup

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
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would be taken; change nothing.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Phases = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Answers in which advisors only ask, at most; off: none; recipe: as the recipe says.",
    ),
]
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


class Named(TypedDict, total=False):
    """The option --name of what can be renamed."""

    name: Annotated[str, typer.Option(metavar="TEXT", help="What it is called.")]


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

Command = Callable[..., Any]
"""A function of its options. One that is async takes the app first, and answers the exit code."""


def new_group(default: str = "list") -> typer.Typer:
    """Make a group of commands; its name alone runs `default`."""
    group = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

    @group.callback()
    def alone(context: typer.Context) -> None:
        if context.invoked_subcommand is None and isinstance(context.command, TyperGroup):
            chosen = context.command.commands[default]
            chosen.invoke(chosen.make_context(default, [], parent=context))

    return group


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
    """Put the shared options behind the function's own.

    `**options: Unpack[Options]` of a function stands for the options that this TypedDict lists; the
    function is given those that the person gave.
    """
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    needs_app = inspect.iscoroutinefunction(function)
    if needs_app:
        del own[0]
    listed: dict[str, Any] = {}
    if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
        (options,) = get_args(own.pop().annotation)
        listed = get_type_hints(options, include_extras=True)
    shared = {"config": Config, "database": Database, "debug": Debug}

    @wraps(function)
    def wrapped(**given: Any) -> None:  # noqa: ANN401 - whatever the function takes
        current.take(*(given.pop(name) for name in shared))
        for name in listed:
            if given[name] is None:
                del given[name]
        if needs_app:
            from polyvox.cli.run import run  # the app is imported with the first command

            run(lambda app: function(app, **given))
        else:
            function(**given)

    own += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "debug" else None,
            annotation=_option(kind, shown) if name in shared else kind,
        )
        for name, kind in (listed | shared).items()
    ]
    del wrapped.__dict__["__wrapped__"]
    wrapped.__dict__["__signature__"] = inspect.Signature(own)
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
    return wrapped


def _option(kind: Any, shown: bool) -> Any:  # noqa: ANN401 - an Annotated type
    plain, option = kind.__origin__, copy(kind.__metadata__[0])
    option.hidden = not shown
    return Annotated[plain, option]
