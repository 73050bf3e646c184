"""Writes the pages of the documentation that the code itself tells: settings, commands, HTTP.

python tools/docs.py            write them
python tools/docs.py --check    fail, naming the pages, when one is not what the code says
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs` from the code; edit the code instead. -->\n\n"


def settings_page() -> str:
    """Every setting with its default, one sentence, and whether the page can change it."""
    from polyvox.settings import MAPS, ModelFactsSetting, Provider, Settings, known_keys
    from polyvox.settings.layers import PROVIDER_ON_PAGE
    from polyvox.settings.schema import changeable

    rows, free = known_keys(Settings), changeable()
    lines = [
        "# Settings",
        "",
        "A setting comes from the environment, else from `polyvox.toml` (`--config`,",
        "`POLYVOX_CONFIG`, or the user's configuration directory), else from what was changed",
        "on the page, else it has its default. Its variable is its name in capitals behind",
        "`POLYVOX_`, with underscores for the dots: `limits.max_tokens` is",
        "`POLYVOX_LIMITS_MAX_TOKENS`. Data lives under `POLYVOX_HOME`. Unknown names are refused,",
        "and the nearest known one is named.",
        "",
        "Those with a pencil can be changed on the page, without a file and without a restart: see",
        "[below](#on-the-page).",
        "",
        "| setting | default | what it does | page |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {_default(field)} | {_cell(field.description)} | {_pencil(name in free)} |"
        for name, field in rows.items()
        if name not in MAPS
    ]
    for title, prefix, model in (
        ("Providers", "providers.NAME", Provider),
        ("What to know of a model", 'models.known."PROVIDER:NAME"', ModelFactsSetting),
    ):
        lines += [
            "",
            f"## {title}: `[{prefix}]`",
            "",
            "| key | default | what it does | page |",
            "|---|---|---|---|",
        ]
        free_here = PROVIDER_ON_PAGE if model is Provider else ()
        lines += [
            f"| `{name}` | {_default(field)} | {_cell(field.description)}"
            f" | {_pencil(name in free_here)} |"
            for name, field in model.model_fields.items()
        ]
    lines += ["", "## Recipes: `[recipes.NAME]`", "", "See [context](context.md).", "", ON_PAGE]
    return "\n".join(lines)


ON_PAGE = """## On the page

What is changed on the page is checked like a file, kept in the home, and used from the next message
on; answers that are being written go on as they began. What `polyvox.toml`, the environment or the
command line say cannot be changed there: the page shows where it is set. Commands read the same.

- `settings.toml` in the home holds the changes, in the shape of `polyvox.toml`, and only what has a
  pencil above. Deleting it undoes them all.
- `keys.toml` in the home holds the keys that were put in, readable by you alone. They are never
  shown again, logged or exported. A key in the environment or in `polyvox.toml` wins over it.
- A key belongs to the machine it was put in for: a provider that is moved to another address loses
  it, and a key of the environment or of `polyvox.toml` is never sent to an address of the page.
- Both files are written whole or not at all. Polyvox reads them when it starts and whenever it
  changes them; with several of them on one home, nothing that one wrote is lost by another, but
  each uses what another changed only after its own next change or start.
"""


def _pencil(free: bool) -> str:
    return "✎" if free else ""


def _default(field: Any) -> str:  # noqa: ANN401 - pydantic's own type
    if field.is_required():
        return "(needed)"
    value = field.get_default(call_default_factory=True)
    if value is None or value == "" or value == () or value == {} or not str(value).strip():
        return "–"
    if isinstance(value, dict):
        value = ", ".join(value)  # the names alone
    shown = "–" if "Secret" in repr(value) else str(value)
    return f"`{shown}`" if shown != "–" else shown


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ")


def commands_page() -> str:
    """Every command with its arguments and options."""
    import typer

    from polyvox.cli.main import app

    command = typer.main.get_command(app)
    lines = ["# Commands", ""]
    for path, one in _commands("polyvox", command):
        lines += [f"## `{path}`", "", (one.help or one.short_help or "").strip(), ""]
        rows = []
        for param in one.params:
            if getattr(param, "hidden", False) or param.name in ("help", "install_completion"):
                continue
            names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
            if param.param_type_name == "argument":
                names = f"`{(param.name or '').upper()}`"
            rows.append(f"| {names} | {_cell(getattr(param, 'help', '') or '')} |")
        if rows:
            lines += ["| option | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - click's own
    yield path, command
    for name in getattr(command, "commands", {}):
        inner = command.get_command(None, name)
        if not inner.hidden:
            yield from _commands(f"{path} {name}", inner)


def http_page() -> str:
    """Every route with its parameters, body and answers."""
    from polyvox.app import Polyvox
    from polyvox.settings import Settings
    from polyvox.web.server import build_api

    page = build_api(Polyvox(Settings())).openapi()
    lines = [
        "# HTTP API",
        "",
        "JSON in, JSON out; `GET /openapi.json` has every detail. Errors have one shape:",
        '`{"error": {"code", "message", "hint", "type", "param"}}`.',
        "",
    ]
    for path, methods in page["paths"].items():
        for method, route in methods.items():
            lines += [f"## `{method.upper()} {path}`", "", route.get("description", ""), ""]
            asked = [f"`{p['name']}` ({p['in']})" for p in route.get("parameters", [])]
            if asked:
                lines += [f"Parameters: {', '.join(asked)}.", ""]
            body = _schema(route.get("requestBody", {}))
            if body:
                lines += [f"Body: {_fields(page, body)}.", ""]
            statuses = [code for code in route["responses"] if code.startswith("2")]
            for code in statuses:
                answer = _schema(route["responses"][code])
                what = _fields(page, answer) if answer else route["responses"][code]["description"]
                lines += [f"{code}: {what}".rstrip(".") + ".", ""]
            errors = [code for code in route["responses"] if not code.startswith("2")]
            lines += [f"Errors: {', '.join(errors)}.", ""]
    return "\n".join(lines)


def _schema(part: dict[str, Any]) -> dict[str, Any]:
    content = part.get("content", {}).get("application/json", {})
    found: dict[str, Any] = content.get("schema", {})
    return found


def _fields(page: dict[str, Any], schema: dict[str, Any]) -> str:
    if "items" in schema:
        return f"a list of {_fields(page, schema['items'])}"
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if choices:
        return " or ".join(_fields(page, one) for one in choices)
    name = schema.get("$ref", "").rpartition("/")[2]
    known = page["components"]["schemas"].get(name, schema)
    inside = known.get("properties")
    if not inside:
        return f"{known.get('title') or known.get('type', 'JSON')}"
    needed = set(known.get("required", []))
    return ", ".join(f"`{key}`" + ("" if key in needed else "?") for key in inside)


PAGES = {
    "docs/settings.md": settings_page,
    "docs/commands.md": commands_page,
    "docs/http.md": http_page,
}


def main(check: bool) -> int:
    """Write the pages, or say which are not up to date."""
    stale = []
    for name, make in PAGES.items():
        path, text = ROOT / name, NOTE + make().rstrip() + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and stale:
        sys.stderr.write(f"Not what the code says: {', '.join(stale)}. Run `make docs`.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
