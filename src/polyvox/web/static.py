"""The page: its address gives index.html, /page/… the files it is made of. Nothing private is here.

Files are read when first asked for, compressed once, and kept with their ETag; a file that changed
on disk is read anew. Names are matched letter by letter before they touch the disk, so there is no
way out of the folder and nothing but the page's own kinds of files is given. The import graph of
the page's scripts is put into its head, so that a browser fetches all of them at once instead of
discovering them file by file.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import html
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import APIRouter, Request, Response

from polyvox.errors import NotFound

FOLDER = Path(__file__).parent / "page"
START = "js/main.js"
"""The script that imports all the others."""

PAGES = (
    "/c/{one}",
    "/advisors",
    "/advisors/{one}",
    "/assertions",
    "/assertions/{one}",
    "/assertions/{one}/improve",
    "/assertions/{one}/improve/{one}",
    "/assertions/{one}/runs/{one}",
    "/recipes",
    "/recipes/{one}",
    "/memory",
    "/memory/open-loops",
    "/memory/profile",
    "/memory/days",
    "/sessions",
    "/sessions/{one}",
    "/usage",
    "/settings",
    "/search",
)
"""Where the page is opened, besides /. A new room adds its line here."""

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
"""What is given out, by ending. Anything else in the folder is not there."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; media-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dompurify"
)
"""Only our own files run, and no text becomes elements except through the sanitiser."""

FILE = {
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""On every file: no other page may use it, and opened by itself it can do nothing. Some sixty of
them are a first load, so the headers that only count for a page are on the page alone (30 kB less).
`no-cache`: kept by the browser, but asked for again by its ETag, so that a new version is seen at
once and an old one costs a 304."""
DOCUMENT = {
    **FILE,
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Vary": "Accept, Accept-Encoding",
}
"""On the page."""

_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_IMPORT = re.compile(
    r"""(?:^|[;}\s])(?:import|export)\b(?:[^"'();]*?\bfrom)?\s*["'](\.{1,2}/[^"']+)["']"""
)
_PAGE = re.compile("|".join(re.escape(p).replace(r"\{one\}", "[^/]+") for p in ("/", *PAGES)))


def is_page(path: str) -> bool:
    """True if the page is opened at this path."""
    return _PAGE.fullmatch(path) is not None


def is_open(path: str) -> bool:
    """True if anybody may read what is at this path: the page, or a file it is made of."""
    return path.startswith("/page/") or is_page(path)


@dataclass(frozen=True, slots=True)
class File:
    """A file ready to be sent, as it is and compressed (where that helps)."""

    kind: str
    plain: bytes
    packed: bytes | None
    tag: str
    stamp: tuple[int, int] = (0, 0)
    """When it was changed and how long it was: how we see that it is another one."""
    imports: tuple[str, ...] = ()


def _file(kind: str, plain: bytes, stamp: tuple[int, int], imports: tuple[str, ...]) -> File:
    packed = None if kind == KINDS[".woff2"] else gzip.compress(plain, 9, mtime=0)
    if packed is not None and len(packed) >= len(plain):
        packed = None
    return File(kind, plain, packed, hashlib.sha256(plain).hexdigest()[:16], stamp, imports)


def imports_of(name: str, script: str) -> tuple[str, ...]:
    """The files that a script imports before it runs; `import()` waits until it is needed."""
    here = posixpath.dirname(name)
    names = (posixpath.normpath(posixpath.join(here, to)) for to in _IMPORT.findall(script))
    return tuple(dict.fromkeys(names))


@dataclass
class StaticPage:
    """The files of a folder, and the index made from them."""

    folder: Path = FOLDER
    _files: dict[str, File] = field(default_factory=dict)
    _index: tuple[tuple[str, ...], File] | None = None

    def file(self, name: str) -> File:
        """A file of the page, or NotFound."""
        if _NAME.fullmatch(name) and (kind := KINDS.get(posixpath.splitext(name)[1])):
            file = self._read(name, kind)
            if file is not None:
                return file
        raise NotFound("The page has no such file.", "Open / in a browser.")

    def index(self) -> File:
        """index.html with every script that the first one needs in its head."""
        raw = self._read("index.html", "text/html; charset=utf-8")
        if raw is None:
            raise NotFound("The page is not part of this installation.", "Install Polyvox anew.")
        scripts = self._graph()
        key = (raw.tag, *scripts)
        if self._index is None or self._index[0] != key:
            links = "".join(
                f'<link rel="modulepreload" href="/page/{html.escape(name)}">\n' for name in scripts
            )
            plain = raw.plain.replace(b"</head>", links.encode() + b"</head>", 1)
            self._index = key, _file(raw.kind, plain, raw.stamp, ())
        return self._index[1]

    def _graph(self) -> list[str]:
        """The start and what it imports, directly or not, the nearest first."""
        graph: dict[str, None] = {}
        nearest = [START]
        for name in nearest:
            if name in graph or not _NAME.fullmatch(name):
                continue
            script = self._read(name, KINDS[".js"])
            if script is not None:
                graph[name] = None
                nearest.extend(script.imports)
        return list(graph)

    def _read(self, name: str, kind: str) -> File | None:
        path = self.folder / name
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._files.get(name)
            if known is not None and known.stamp == stamp:
                return known
            plain = path.read_bytes()
        except OSError:
            return None
        imports = imports_of(name, plain.decode()) if kind == KINDS[".js"] else ()
        made = self._files[name] = _file(kind, plain, stamp, imports)
        return made


def _matches(wanted: str, tag: str) -> bool:
    """True if an If-None-Match names this ETag."""
    names = (name.strip().removeprefix("W/") for name in wanted.split(","))
    return any(name in ("*", tag) for name in names)


def accepts(header: str, wanted: str) -> bool:
    """True if an Accept or Accept-Encoding header names this, by its own name."""
    for part in header.lower().split(","):
        name, _, more = part.strip().partition(";")
        if name.strip() == wanted:
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", more)
    return False


def send(
    request: Request, file: File, given: Mapping[str, str] = FILE, status: int = 200
) -> Response:
    """A file as this client wants it: compressed, or not at all because it has it."""
    packed = file.packed if accepts(request.headers.get("accept-encoding", ""), "gzip") else None
    tag = f'"{file.tag}-gz"' if packed is not None else f'"{file.tag}"'
    headers = {"Vary": "Accept-Encoding", **given, "ETag": tag}
    if status == 200 and _matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    if packed is not None:
        headers["Content-Encoding"] = "gzip"
    headers["Content-Type"] = file.kind
    return Response(file.plain if packed is None else packed, status, headers=headers)


router = APIRouter(include_in_schema=False)
_page = StaticPage()


async def send_index(request: Request) -> Response:
    """The page."""
    return send(request, await asyncio.to_thread(_page.index), DOCUMENT)


def wants_page(request: Request) -> bool:
    """True if a browser asks for a place of the page, also for one that does not exist."""
    machines = request.url.path.startswith(("/api/", "/v1/", "/page/"))
    html_wanted = accepts(request.headers.get("accept", ""), "text/html")
    return request.method in ("GET", "HEAD") and html_wanted and not machines


async def send_nowhere(request: Request) -> Response:
    """The page, which says that nothing is at this address."""
    return send(request, await asyncio.to_thread(_page.index), DOCUMENT, status=404)


for _path in PAGES:
    _parts = enumerate(_path.split("/"))  # FastAPI wants a name of its own for each
    _named = "/".join(f"{{one{n}}}" if part == "{one}" else part for n, part in _parts)
    router.add_api_route(_named, send_index, methods=["GET", "HEAD"])


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
async def send_file(request: Request, name: str) -> Response:
    """A file of the page."""
    return send(request, await asyncio.to_thread(_page.file, name))
