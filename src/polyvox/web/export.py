"""A conversation as a file: out in three formats, and back in."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import quote

from fastapi import Request, Response
from pydantic import BaseModel

from polyvox.errors import Invalid, TooLarge
from polyvox.interop import files, jsonl
from polyvox.interop.conversation import Whole, read_whole, store_whole
from polyvox.interop.transcript import POLICY, Format, written
from polyvox.receive import mended_name
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.openapi import Router, file

router = Router("conversations")

LINES = "application/x-ndjson"
KINDS: dict[Format, tuple[str, str]] = {
    "jsonl": (LINES, ".jsonl"),
    "markdown": ("text/markdown; charset=utf-8", ".md"),
    "html": ("text/html; charset=utf-8", ".html"),
}
"""The type and the ending of each format."""

SAFE = {
    "Content-Security-Policy": f"{POLICY}; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What models wrote must not act in our name, even if a browser shows it instead of saving it."""

LONGEST_NAME = 80
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_TAKEN = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""What Windows does not take as a file's name."""


def file_name(title: str, otherwise: str) -> str:
    """A title as a file's name that every system takes, without its ending."""
    line = _NOT_IN_NAMES.sub(" ", mended_name(title, len(title)))
    name = " ".join(line.split())[:LONGEST_NAME].strip(". ")
    return otherwise if not name or _TAKEN.fullmatch(name) else name


def disposition(name: str) -> str:
    """The header that names a download (RFC 6266): plain letters, and the whole name beside it."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


@router.get(
    "/api/conversations/{conversation}/export",
    response_class=Response,
    responses=file(
        "The file, as a download.", *(kind.partition(";")[0] for kind, _ in KINDS.values())
    ),
)
async def export_conversation(
    app: App,
    who: Who,
    conversation: Key,
    format: Format = "markdown",  # noqa: A002 - its name in the address
) -> Response:
    """Write it as a file: `jsonl` keeps everything, `markdown` and `html` are to read."""
    whole = await app.database.read(lambda tx: read_whole(tx, conversation), who)
    text = await asyncio.to_thread(written, whole, format)
    kind, ending = KINDS[format]
    name = file_name(whole.conversation.title, whole.conversation.id)
    headers = {**SAFE, "Content-Type": kind, "Content-Disposition": disposition(name + ending)}
    return Response(text.encode("utf-8", "replace"), headers=headers)


class Imported(BaseModel):
    """The result of an import."""

    id: str
    """The conversation's id, the one it had where it was written."""
    new: bool
    """False: it was here already, and nothing was added."""
    report: list[str]
    """What was taken and what there is to know of it, in lines to read."""


@router.post(
    "/api/conversations/import",
    status_code=201,
    openapi_extra={
        "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
    },
)
async def import_conversation(app: App, who: Who, request: Request) -> Imported:
    """Take a conversation from the JSON Lines of an export. Taking it twice adds nothing."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != LINES:
        raise Invalid(
            "The body does not say that it is JSON Lines.",
            f"Send it as {LINES}.",
            param="Content-Type",
        )
    whole = await asyncio.to_thread(_read, await request.body())
    report = await store_whole(app.database, app.settings, who, app.clock(), whole)
    return Imported(id=whole.conversation.id, new=bool(report.taken), report=report.lines())


def _read(data: bytes) -> Whole:
    if len(data) > jsonl.LARGEST:
        raise TooLarge(f"The file has more than {jsonl.LARGEST:,} bytes.", "Split it.")
    return jsonl.parse(files.decoded(data, "The file").split("\n"))
