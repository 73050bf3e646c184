"""The HTTP contract is frozen: everything that clients knew is still there, with the same type.

`openapi.json` is the document of the version that was frozen, without its prose. Names of
components may change; paths, parameters, fields and their types may not. Additions are allowed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polyvox.app import Polyvox
from polyvox.settings import Settings
from polyvox.web.server import build_api

Schema = dict[str, Any]
FROZEN: Schema = json.loads(Path(__file__).with_name("openapi.json").read_text())
NOW: Schema = build_api(Polyvox(Settings(), env={})).openapi()
PROSE = {"title", "description", "summary", "examples"}
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern", "default"}
"""What narrows a value of a type. Of the server's own values it says nothing that a client uses."""
OPERATIONS = [(path, method) for path, row in FROZEN["paths"].items() for method in row]


def resolve(document: Schema, schema: Schema) -> Schema:
    """A schema without references and prose, its alternatives in a fixed order."""
    if "$ref" in schema:
        target = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return resolve(document, {**target, **{k: v for k, v in schema.items() if k != "$ref"}})
    result: Schema = {}
    for key, value in schema.items():
        if key in PROSE:
            continue
        if key == "type" and isinstance(value, list):  # as `anyOf` says the same
            result["anyOf"] = sorted([{"type": name} for name in value], key=_text)
            continue
        if key == "properties":
            result[key] = {name: resolve(document, inner) for name, inner in value.items()}
        elif key in ("anyOf", "oneOf", "prefixItems"):
            alternatives = [resolve(document, inner) for inner in value]
            ordered = alternatives if key == "prefixItems" else sorted(alternatives, key=_text)
            result[key] = ordered
        elif isinstance(value, dict) and key != "default":
            result[key] = resolve(document, value)
        elif key in ("required", "enum"):
            result[key] = sorted(value, key=str)
        else:
            result[key] = value
    return result


def _text(value: Schema) -> tuple[str, str]:
    return str(value.get("type")), json.dumps(value, sort_keys=True)


def differences(old: Schema, new: Schema, place: str, *, sent: bool) -> list[str]:
    """Everything of `old` that `new` breaks; `sent`: by the client, else by the server."""
    lines = []
    for key in old.keys() | new.keys():
        was, now = old.get(key), new.get(key)
        if was == now or (not sent and (key in BOUNDS or was in (None, False))):
            continue
        if key == "properties":
            after = now or {}
            for name, inner in (was or {}).items():
                if name not in after:
                    lines.append(f"{place}.{name} is gone")
                else:
                    lines += differences(inner, after[name], f"{place}.{name}", sent=sent)
        elif key == "required":
            old_names, new_names = set(was or ()), set(now or ())
            broken = new_names - old_names if sent else old_names - new_names
            lines += [f"{place}.{name} is {'' if sent else 'not '}required" for name in broken]
        elif key in ("anyOf", "oneOf") and was and now and len(was) == len(now):
            for number, (left, right) in enumerate(zip(was, now, strict=True)):
                lines += differences(left, right, f"{place}/{number}", sent=sent)
        elif isinstance(was, dict) and isinstance(now, dict) and key != "default":
            lines += differences(was, now, f"{place}/{key}", sent=sent)
        else:
            lines.append(f"{place}: {key} was {was!r}, is {now!r}")
    return lines


def contents(document: Schema, holder: Schema) -> dict[str, Schema]:
    """The schemas of a body by content type."""
    return {
        kind: resolve(document, inner.get("schema") or inner.get("itemSchema") or {})
        for kind, inner in holder.get("content", {}).items()
    }


def compare_bodies(old: Schema, new: Schema, place: str, *, sent: bool) -> list[str]:
    """Differences of two bodies in every content type."""
    before, after = contents(FROZEN, old), contents(NOW, new)
    lines = [f"{place}: {kind} is gone" for kind in before.keys() - after.keys()]
    for kind in before.keys() & after.keys():
        lines += differences(before[kind], after[kind], place, sent=sent)
    return lines


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{m} {p}" for p, m in OPERATIONS])
def test_an_operation_is_as_it_was(path: str, method: str) -> None:
    old = FROZEN["paths"][path][method]
    new = NOW["paths"].get(path, {}).get(method)
    assert new is not None, "the operation is gone"
    assert new["operationId"] == old["operationId"]
    assert new["tags"] == old["tags"]
    lines = []
    parameters = {(p["in"], p["name"]): p for p in new.get("parameters", [])}
    for parameter in old.get("parameters", []):
        key = (parameter["in"], parameter["name"])
        if key not in parameters:
            lines.append(f"{key} is gone")
            continue
        now = parameters.pop(key)
        if now.get("required") and not parameter.get("required"):
            lines.append(f"{key} is required")
        schemas = resolve(FROZEN, parameter["schema"]), resolve(NOW, now["schema"])
        lines += differences(*schemas, parameter["name"], sent=True)
    lines += [f"{key} is new and required" for key, p in parameters.items() if p.get("required")]
    body, now_body = old.get("requestBody", {}), new.get("requestBody", {})
    if now_body.get("required") and not body.get("required"):
        lines.append("the body is required")
    lines += compare_bodies(body, now_body, "body", sent=True)
    for status, response in old["responses"].items():
        if status not in new["responses"]:
            lines.append(f"status {status} is gone")
            continue
        lines += compare_bodies(response, new["responses"][status], status, sent=False)
    assert not lines


def test_a_broken_contract_is_noticed() -> None:
    number: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    text: Schema = {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}
    empty: Schema = {"type": "object", "properties": {}}
    assert differences(number, text, "body", sent=False)
    assert differences(number, empty, "body", sent=False)
    assert differences(empty, number, "body", sent=True)
    assert not differences(number, number, "body", sent=True)
