"""All commands as one Typer object. The groups are small modules that import nothing heavy."""

from __future__ import annotations

from typing import Annotated

import typer

from polyvox.cli import (
    advisors,
    agent,
    ask,
    assertions,
    chat,
    conversations,
    councils,
    doctor,
    evaluate,
    jobs,
    memory,
    models,
    optimize,
    receipt,
    serve,
    sessions,
    trace,
    usage,
    worker,
)
from polyvox.cli.invocation import Config, Database, Debug, command, current

app = typer.Typer(
    name="polyvox",
    # Rich help costs 0.2 s of imports, more than everything else together.
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)

command(app, "serve", shown=True)(serve.serve)
command(app, "ask")(ask.ask)
command(app, "chat")(chat.chat)
command(app, "agent")(agent.agent)
app.add_typer(advisors.group, name="advisors")
app.add_typer(councils.group, name="councils")
app.add_typer(conversations.group, name="conversations")
app.add_typer(sessions.group, name="sessions")
app.add_typer(memory.group, name="memory")
app.add_typer(assertions.group, name="assertions")
app.add_typer(evaluate.group, name="eval")
command(app, "optimize")(optimize.optimize)
command(app, "receipt")(receipt.receipt)
command(app, "trace")(trace.trace)
app.add_typer(models.group, name="models")
command(app, "doctor")(doctor.doctor)
command(app, "usage")(usage.usage)
command(app, "worker")(worker.worker)
app.add_typer(jobs.group, name="jobs")


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
        from polyvox import __version__

        typer.echo(f"polyvox {__version__}")
        raise typer.Exit
    current.take(config, database, debug)
    if context.invoked_subcommand is None:
        serve.serve(host=host, port=port, open_=open_)
