"""Fields of a request, however they were sent: as a form, as a form with files, or as JSON.

A form with files is read by the mail parser of the standard library, which knows the same format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import HTTP
from typing import cast
from urllib.parse import parse_qsl

import msgspec

from polyvox.errors import BadInput

KINDS = ("multipart/form-data", "application/x-www-form-urlencoded", "application/json")


@dataclass(frozen=True, slots=True)
class Form:
    """Texts and files by their names."""

    texts: Mapping[str, str]
    files: Mapping[str, bytes]


def read(kind: str, body: bytes) -> Form:
    """The fields of a body; `kind` is its whole Content-Type."""
    name = kind.partition(";")[0].strip().lower()
    if name == "application/json":
        return Form(_json(body), {})
    if name == "application/x-www-form-urlencoded":
        return Form(_encoded(body), {})
    if name == "multipart/form-data":
        return _parts(kind, body)
    raise BadInput(
        "The request's Content-Type is not one that can be read here.",
        f"Send one of: {', '.join(KINDS)}.",
    )


def _json(body: bytes) -> dict[str, str]:
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadInput("The body is not valid JSON.", "Send an object of texts.") from None
    if not isinstance(data, dict):
        raise BadInput("The body is not a JSON object.", "Send an object of texts.")
    given = {name: value for name, value in data.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, str):
            raise BadInput(f"{name} is not a text.", "Send it as a text.", param=str(name))
    return given


def _encoded(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise BadInput("The form is not readable text.", "Send it as UTF-8.") from None


def _parts(kind: str, body: bytes) -> Form:
    try:
        head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1")
    except UnicodeEncodeError:
        raise _broken() from None
    whole = message_from_bytes(head + body, policy=HTTP)
    texts, files = {}, {}
    parts = whole.get_payload() if whole.is_multipart() else None
    if not isinstance(parts, list):
        raise _broken()
    for part in cast("list[EmailMessage]", parts):
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise _broken()
        if part.get_filename() is not None or part.get_content_maintype() != "text":
            files[name] = content
            continue
        try:
            texts[name] = content.decode()
        except UnicodeDecodeError:
            raise BadInput(
                f"{name} is not readable text.", "Send it as UTF-8.", param=name
            ) from None
    return Form(texts, files)


def _broken() -> BadInput:
    return BadInput("The form cannot be read.", "Send a whole multipart/form-data body.")
