"""The page over HTTP: what is given, with which headers, to whom; and what is never given."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from tests.web.house import House, Reply, open_house
from tests.web.test_guard import TOKEN, raw

from polyvox.errors import NotFound
from polyvox.web import static
from polyvox.web.static import (
    FOLDER,
    KINDS,
    PAGES,
    StaticPage,
    accepts,
    imports_of,
    is_open,
    is_page,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SHOWN = [path.replace("{one}", "%C3%9Cmlaut%20x") for path in PAGES]
GIVEN = [
    path.relative_to(FOLDER).as_posix()
    for path in sorted(FOLDER.rglob("*"))
    if path.is_file() and path.suffix in KINDS
]


def check_headers(reply: Reply) -> None:
    policy = dict(
        part.partition(" ")[::2] for part in reply.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "style-src", "connect-src", "font-src", "manifest-src"):
        assert policy[kind] == "'self'", "nothing inline, nothing from elsewhere"
    assert policy["img-src"] == "'self' data:"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "dompurify"
    for kind in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[kind] == "'none'"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "microphone=(self)" in reply.headers["Permissions-Policy"]
    assert "camera=()" in reply.headers["Permissions-Policy"]
    assert reply.headers["Cache-Control"] == "no-cache"


# -- the page --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", *SHOWN])
async def test_the_page_is_opened_at_every_place_of_it(house: House, path: str) -> None:
    reply = await house.get(path, headers=BROWSER)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.text.startswith("<!doctype html>")
    check_headers(reply)
    head = await house.ask("HEAD", path, headers=BROWSER)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["ETag"] == reply.headers["ETag"]
    check_headers(head)


@pytest.mark.parametrize("accept", ["*/*", "", "text/plain", "application/json", "text/html;q=0"])
async def test_who_does_not_want_a_page_is_told_in_plain_text(house: House, accept: str) -> None:
    reply = await house.get("/", headers={"Accept": accept})
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "Accept" in reply.headers["Vary"]
    assert "/openapi.json" in reply.text


@pytest.mark.parametrize(
    "path", ["/nowhere", "/c", "/c/a/b", "/advisors/a/b", "/index.html", "/favicon.ico"]
)
async def test_elsewhere_the_page_says_so(house: House, path: str) -> None:
    reply = await house.get(path, headers=BROWSER)
    assert reply.status == 404
    assert reply.text.startswith("<!doctype html>")
    check_headers(reply)
    known = {**BROWSER, "If-None-Match": reply.headers["ETag"]}
    assert (await house.get(path, headers=known)).status == 404
    for accept in ("*/*", "application/json"):
        reply = await house.get(path, headers={"Accept": accept})
        assert (reply.status, reply.error["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/api/nowhere", "/v1/nowhere", "/page/nowhere.js", "/page/"])
async def test_who_calls_the_api_is_told_in_its_words(house: House, path: str) -> None:
    reply = await house.get(path, headers=BROWSER)
    assert (reply.status, reply.error["code"]) == (404, "not_found")
    assert (await house.ask("POST", "/nowhere", {}, headers=BROWSER)).error["code"] == "not_found"


async def test_the_page_has_nothing_inline(house: House) -> None:
    text = (await house.get("/", headers=BROWSER)).text
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    for link in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert link.startswith("/page/"), "nothing is loaded from elsewhere"
        assert (await house.get(link)).status == 200, link


async def test_every_script_that_the_first_one_needs_is_in_the_head(house: House) -> None:
    text = (await house.get("/", headers=BROWSER)).text
    head = text.partition("</head>")[0]
    told = re.findall(r'<link rel="modulepreload" href="/page/([^"]+)">', head)
    assert told[0] == "js/main.js"
    assert len(set(told)) == len(told)
    for name in told:
        script = (await house.get(f"/page/{name}")).text
        assert set(imports_of(name, script)) <= set(told), name


# -- its files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
async def test_every_file_of_the_page_is_given(house: House, name: str) -> None:
    plain = (FOLDER / name).read_bytes()
    reply = await raw(house, f"GET /page/{name} HTTP/1.1\nhost: localhost")
    assert reply.status == 200
    assert reply.body == plain
    assert reply.headers["Content-Type"] == KINDS[Path(name).suffix]
    assert "Content-Encoding" not in reply.headers
    packed = await raw(
        house, f"GET /page/{name} HTTP/1.1\nhost: localhost\naccept-encoding: br, gzip;q=0.9"
    )
    assert packed.headers["Vary"] == "Accept-Encoding"
    if "Content-Encoding" in packed.headers:
        assert gzip.decompress(packed.body) == plain
        assert len(packed.body) < len(plain)
        assert packed.headers["Etag"] != reply.headers["Etag"], "other bytes, another tag"
    else:
        assert packed.body == plain
        assert name.endswith(".woff2") or len(gzip.compress(plain)) >= len(plain)
    for one in (reply, packed):
        known = f"host: localhost\nif-none-match: {one.headers['Etag']}"
        packing = "\naccept-encoding: gzip" if one is packed else ""
        same = await raw(house, f"GET /page/{name} HTTP/1.1\n{known}{packing}")
        assert (same.status, same.body) == (304, b"")
        assert same.headers["Etag"] == one.headers["Etag"]


async def test_a_file_has_few_headers_and_strict_ones(house: House) -> None:
    for method in ("GET", "HEAD"):
        for name in ("icon.svg", "js/ui.js", "css/base.css", "vendor/licences/htm.txt"):
            reply = await house.ask(method, f"/page/{name}")
            assert reply.status == 200
            assert reply.headers["Content-Security-Policy"] == "default-src 'none'"
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
            assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert reply.headers["Cache-Control"] == "no-cache"
            assert sum(len(key) + len(value) for key, value in reply.headers.items()) < 400


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/js",
        "/page/js/",
        "/page/index.html",
        "/page/vendor/README.md",
        "/page/nowhere.js",
        "/page/../static.py",
        "/page/%2e%2e/static.py",
        "/page/js/../../static.py",
        "/page/js/%2e%2e/%2e%2e/static.py",
        "/page/..%2fstatic.py",
        "/page/js/../icon.svg",
        "/page//etc/passwd",
        "/page/%2fetc%2fpasswd",
        "/page/js%5c..%5cicon.svg",
        "/page/icon.svg%00.js",
        "/page/.hidden.js",
        "/page/js/.git/config.js",
        "/page/ICON.SVG",
        "/page/icon.svg/",
        "/page/" + "a/" * 2000 + "b.js",
        "/page/" + "a" * 5000 + ".js",
        "/page/%F0%9F%8E%88.js",
    ],
)
async def test_nothing_else_is_given(house: House, path: str) -> None:
    for method in ("GET", "HEAD"):
        reply = await raw(house, f"{method} {path} HTTP/1.1\nhost: localhost")
        assert reply.status == 404
        if method == "GET":
            assert reply.error["code"] == "not_found"
            assert "static.py" not in reply.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_the_page_is_only_read(house: House, method: str) -> None:
    for path in ("/", "/usage", "/page/icon.svg"):
        reply = await house.ask(method, path, {})
        assert reply.status == 405, path
        assert set(reply.headers["Allow"].split(", ")) == {"GET", "HEAD"}


async def test_health_has_a_head(house: House) -> None:
    reply = await house.ask("HEAD", "/healthz")
    assert (reply.status, reply.body) == (200, b"")


async def test_the_first_load_is_light(house: House) -> None:
    """Everything that the page needs before it shows something, compressed: under 300 kB."""
    head = (await house.get("/", headers=BROWSER)).text.partition("</head>")[0]
    total = 0
    for name in set(re.findall(r'(?:src|href)="/page/([^"]+)"', head)):
        total += len(
            (
                await raw(
                    house, f"GET /page/{name} HTTP/1.1\nhost: localhost\naccept-encoding: gzip"
                )
            ).body
        )
    assert 20_000 < total < 300_000


async def test_the_page_is_not_on_the_openapi_page(house: House) -> None:
    paths = (await house.get("/openapi.json")).json()["paths"]
    assert "/" in paths
    assert not set(paths) & {*PAGES, "/page/{name}"}


# -- who is let in ---------------------------------------------------------------------------------

LINK = "sec-fetch-site: cross-site\nsec-fetch-mode: navigate\nsec-fetch-dest: document"


async def test_a_link_elsewhere_leads_to_the_page_and_nowhere_else(house: House) -> None:
    for path in ("/", "/c/abc", "/settings"):
        ask = f"{path} HTTP/1.1\nhost: localhost\naccept: text/html\n{LINK}"
        assert (await raw(house, f"GET {ask}")).status == 200
        assert (await raw(house, f"POST {ask}")).status == 403
    for path in ("/api/advisors", "/page/js/ui.js", "/openapi.json", "/healthz", "/nowhere"):
        refused = await raw(house, f"GET {path} HTTP/1.1\nhost: localhost\n{LINK}")
        assert refused.status == 403, path


@pytest.mark.parametrize(
    "how",
    [
        "sec-fetch-site: cross-site",
        "sec-fetch-site: cross-site\nsec-fetch-mode: no-cors\nsec-fetch-dest: image",
        "sec-fetch-site: cross-site\nsec-fetch-mode: cors\nsec-fetch-dest: empty",
        "sec-fetch-site: cross-site\nsec-fetch-mode: navigate\nsec-fetch-dest: iframe",
        "sec-fetch-site: cross-site\nsec-fetch-mode: navigate\nsec-fetch-dest: embed",
        f"{LINK}\nsec-fetch-dest: iframe",
        f"{LINK}\norigin: http://evil.example",
        "origin: http://evil.example",
        "origin: null",
    ],
)
async def test_no_page_elsewhere_takes_the_page_in(house: House, how: str) -> None:
    for path in ("/", "/usage", "/page/js/ui.js"):
        reply = await raw(house, f"GET {path} HTTP/1.1\nhost: localhost\n{how}")
        assert reply.status == 403, path


async def test_under_a_foreign_name_there_is_no_page(house: House) -> None:
    for path in ("/", "/usage", "/page/js/ui.js"):
        assert (await raw(house, f"GET {path} HTTP/1.1\nhost: evil.example\n{LINK}")).status == 403


@pytest.fixture(name="locked")
async def locked_house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, server={"token": TOKEN}) as house:
        yield house


@pytest.mark.asyncio(loop_scope="function")
async def test_the_page_needs_no_token_and_all_else_does(locked: House) -> None:
    for path in ("/", *SHOWN, "/page/js/ui.js", "/page/icon.svg", "/page/nowhere.js"):
        for method in ("GET", "HEAD"):
            reply = await raw(locked, f"{method} {path} HTTP/1.1\nhost: localhost")
            assert reply.status in (200, 404), path
            assert TOKEN not in reply.text
        assert (await raw(locked, f"POST {path} HTTP/1.1\nhost: localhost")).status == 401
    closed = ["/api/advisors", "/v1/models", "/openapi.json", "/metrics", "/page", "/nowhere"]
    closed += ["/c", "/c/a/b", "//", "/usage/x", "/pages/x", "/api/page/x", "/api/conversations"]
    for path in closed:
        assert (await raw(locked, f"GET {path} HTTP/1.1\nhost: localhost")).status == 401, path
    for path in ("/page/../api/advisors", "/page%2f../api/advisors", "/page/%2e%2e/api/advisors"):
        reply = await raw(locked, f"GET {path} HTTP/1.1\nhost: localhost")
        assert reply.status == 404, "open, and no way out"


async def test_what_is_open() -> None:
    assert all(is_page(path) for path in ("/", "/c/x", "/advisors", "/advisors/x", "/search"))
    assert not any(is_page(path) for path in ("", "//", "/c/", "/c/x/y", "/api", "/page/x", "/c\n"))
    assert is_open("/page/js/main.js")
    assert not any(is_open(path) for path in ("/page", "/pages/x", "/api/page/x", "/v1/models"))


# -- how it is made --------------------------------------------------------------------------------


@pytest.fixture(name="page")
def small_page(tmp_path: Path) -> StaticPage:
    (tmp_path / "js").mkdir()
    (tmp_path / "vendor").mkdir()
    files = {
        "index.html": "<!doctype html><html><head><title>P</title></head><body></head></body>",
        "js/main.js": 'import { a } from "./a.js";\nimport "../vendor/side.js";\n'
        'const later = () => import("./later.js");\nexport * from "./b.js";\nimport "./gone.js";',
        "js/a.js": 'import {\n  one,\n  two,\n} from "./b.js";\nimport "./main.js";',
        "js/b.js": "import{x as y}from'../vendor/lib.js';let from = \"./never.js\";",
        "js/later.js": 'import "./never.js";',
        "js/never.js": "",
        "vendor/lib.js": 'var a=1;import*as n from"./deep.js";import d,{e}from"https://x.example/y.js";',
        "vendor/deep.js": "",
        "vendor/side.js": 'import "../../outside.js"; import "/etc/passwd.js";',
        "tiny.css": "a{}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path.parent / "outside.js").write_text("secret")
    return StaticPage(tmp_path)


async def test_the_graph_is_followed_by_static_imports_alone(page: StaticPage) -> None:
    text = page.index().plain.decode()
    told = re.findall(r'href="/page/([^"]+)"', text)
    assert told == [
        "js/main.js",
        "js/a.js",
        "vendor/side.js",
        "js/b.js",
        "vendor/lib.js",
        "vendor/deep.js",
    ]
    assert text.index("</head>") > text.rindex("modulepreload"), "in the head, the real one"
    assert text.count("modulepreload") == len(told)


async def test_files_are_read_when_wanted_and_again_when_changed(page: StaticPage) -> None:
    first = page.index()
    assert page.index() is first
    assert page.file("tiny.css") is page.file("tiny.css")
    old = page.file("js/never.js")
    path = page.folder / "js/a.js"
    path.write_text('import "./never.js"; // now')
    os.utime(path, ns=(1, 1))
    assert "js/never.js" in page.index().plain.decode()
    assert page.index().tag != first.tag
    (page.folder / "js/never.js").write_text("let it = 1;")
    assert page.file("js/never.js").tag != old.tag
    path.unlink()
    with pytest.raises(NotFound):
        page.file("js/a.js")
    assert "js/a.js" not in page.index().plain.decode()


async def test_compressing_what_grows_by_it_is_left(page: StaticPage) -> None:
    assert page.file("tiny.css").packed is None


async def test_an_installation_without_a_page_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        StaticPage(tmp_path).index()
    assert "not part of this installation" in caught.value.message


@pytest.mark.parametrize(
    ("header", "wanted", "yes"),
    [
        ("gzip, deflate, br", "gzip", True),
        ("deflate, GZIP;q=1.0", "gzip", True),
        ("gzip;q=0", "gzip", False),
        ("gzip; q=0.0", "gzip", False),
        ("gzip;q=0.5", "gzip", True),
        ("", "gzip", False),
        ("*", "gzip", False),
        ("x-gzip", "gzip", False),
        ("text/html", "text/html", True),
        ("text/html;level=1", "text/html", True),
        ("application/xhtml+xml, */*", "text/html", False),
    ],
)
async def test_what_a_client_accepts(header: str, wanted: str, yes: bool) -> None:
    assert accepts(header, wanted) is yes


@pytest.mark.parametrize(
    ("wanted", "known"),
    [('"T"', True), ('W/"T"', True), ('"a", "T"', True), ("*", True), ('"a"', False), ("", False)],
)
async def test_if_none_match(page: StaticPage, wanted: str, known: bool) -> None:
    file = page.file("tiny.css")
    header = wanted.replace("T", file.tag).encode()
    request = Request({"type": "http", "headers": [(b"if-none-match", header)]})
    assert (static.send(request, file).status_code == 304) is known
