"""The page's types of the API say what its OpenAPI document says."""

from __future__ import annotations

from typing import Any

from tools.page import declarations


def route(schema: dict[str, Any]) -> dict[str, Any]:
    return {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}


THING = {"$ref": "#/components/schemas/Thing"}
DOCUMENT = {
    "components": {
        "schemas": {
            "Thing": {
                "properties": {
                    "name": {"type": "string"},
                    "state": {"enum": ["open", "done"]},
                    "sizes": {"type": "array", "items": {"anyOf": [{"type": "integer"}, THING]}},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["name", "state"],
            }
        }
    },
    "paths": {
        "/things/{thing}": {
            "get": route(THING),
            "delete": {"responses": {"204": {"description": "Gone."}}},
        },
        "/things/newest": {"get": route({"type": "array", "items": THING})},
    },
}


def test_a_schema_becomes_a_type() -> None:
    assert (
        'export type Thing = { "name": string; "state": "open" | "done"; '
        '"sizes"?: (number | Thing)[]; "note"?: string | null };'
    ) in declarations(DOCUMENT)


def test_a_route_has_the_type_of_its_reply() -> None:
    text = declarations(DOCUMENT)
    assert '"GET /things/{thing}": Thing;' in text
    assert '"DELETE /things/{thing}": null;' in text


def test_the_most_specific_path_comes_first() -> None:
    text = declarations(DOCUMENT)
    newest = text.index("(path: At<`/things/newest`>, options?: Options): Promise<(Thing)[]>;")
    assert newest < text.index("(path: `/things/${string}`, options?: Options): Promise<Thing>;")
