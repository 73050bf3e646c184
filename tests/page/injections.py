"""Strings that would like to be more than text, for every field that is shown.

What they would run is `pwned()`, what they would load is at outside.example; both are watched for.
"""

from __future__ import annotations

RUN = "pwned()"
OUT = "https://outside.example"

MARKUP = (
    f"<script>{RUN}</script>",
    f"<script src={OUT}/a.js></script>",
    f"<ScRiPt\n>{RUN}</sCrIpT\t>",
    f"<img src=x onerror={RUN}>",
    f'<img src="{OUT}/p.png" srcset="{OUT}/q.png 2x">',
    f"<svg onload={RUN}><animate onbegin={RUN} attributeName=x dur=1s></svg>",
    f"<svg><script>{RUN}</script><use href='{OUT}/s.svg#x'/><image href='{OUT}/i.png'/></svg>",
    f"<svg><set attributeName=href to=javascript:{RUN} /><a><text y=9>press</text></a></svg>",
    f"<iframe src=javascript:{RUN}></iframe><iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data={OUT}/o></object><embed src={OUT}/e><video src={OUT}/v><audio src={OUT}/a>",
    f"<body onload={RUN}><input autofocus onfocus={RUN}><details open ontoggle={RUN}>",
    f"<form action={OUT}><button formaction=javascript:{RUN}>go</button></form>",
    f"<a href='javascript:{RUN}'>a</a> <a href=' &#106;avascript:{RUN}'>b</a>",
    f"<a href='java\tscript:{RUN}'>c</a> <a href='data:text/html,<script>{RUN}</script>'>d</a>",
    f"<base href={OUT}/><link rel=stylesheet href={OUT}/s.css><meta http-equiv=refresh content=0;{OUT}>",
    f"<style>*{{background:url({OUT}/s.png)}}@import '{OUT}/i.css';</style>",
    f"<div style='background:url({OUT}/d.png);position:fixed;inset:0'>over everything</div>",
    "<div id=page class=sheet><dialog open class='sheet full'>a page in the page</dialog></div>",
    f"<template><img src=x onerror={RUN}></template><noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<x-y contenteditable onfocus={RUN} tabindex=1 autofocus>z</x-y>",
)
MUTATIONS = (
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    f"<svg></p><style><a id='</style><img src=1 onerror={RUN}>'>",
    f"<noembed><img title='</noembed><img src onerror={RUN}>'></noembed>",
    f"<xmp><p title='</xmp><svg/onload={RUN}>'>",
    f"<a title='`><img src=x onerror={RUN}>'>`</a>",
    f"--><img src=x onerror={RUN}><!-- ]]><img src=x onerror={RUN}>",
    f"</textarea><img src=x onerror={RUN}></title></style></script><img src=x onerror={RUN}>",
    f"&lt;img src=x onerror={RUN}&gt; &#60;script&#62;{RUN}&#60;/script&#62; &amp;lt;b&amp;gt;",
    f"\" onmouseover=\"{RUN}\" x=\" ' onfocus='{RUN}' autofocus y=' ` onclick=`{RUN}`",
)
MARKDOWN = (
    f"[press](javascript:{RUN}) [press]( javascript:{RUN} ) [press](JaVaScRiPt:{RUN})",
    f"[press](<java\tscript:{RUN}>) [press](&#x6A;avascript:{RUN}) [press](java&Tab;script:{RUN})",
    f"[press](data:text/html;base64,PHNjcmlwdD5wd25lZCgpPC9zY3JpcHQ+) [press](vbscript:{RUN}) [press](blob:{OUT}/x)",
    f"![p]({OUT}/p.png) ![p](javascript:{RUN}) ![p\" onerror=\"{RUN}]({OUT}/q.png \"t\" onerror={RUN})",
    f"![a](x\"onerror=\"{RUN}) [a](x' onclick='{RUN}) <javascript:{RUN}> <data:text/html,x>",
    f"[ref]\n\n[ref]: javascript:{RUN} \"t\"\n[__proto__]: {OUT}\n[constructor]: javascript:{RUN}",
    f"```\"><img src=x onerror={RUN}>\n</code></pre><img src=x onerror={RUN}>\n```",
    f"```html onload={RUN}\n<script>{RUN}</script>\n```",
    f"`<img src=x onerror={RUN}>` | <img src=x onerror={RUN}> |\n|-|-|\n| <svg onload={RUN}> | a |",
    f"$$<img src=x onerror={RUN}>$$\n\n$<svg/onload={RUN}>=1$ \\(<script>{RUN}</script>\\)",
    f"1. <b onclick={RUN}>a</b>\n\n> <i onmouseover={RUN}>b</i>\n\n# <u onclick={RUN}>c</u>",
)
CODE = (
    "${pwned()} {{pwned()}} {{constructor.constructor('pwned()')()}} <%= pwned() %> #{pwned()}",
    "__proto__ constructor prototype toString hasOwnProperty",
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    "null undefined NaN true false 0 [object Object]",
    "'; DROP TABLE turns; -- \\u003cscript\\u003epwned()\\u003c/script\\u003e \\x3cimg src=x\\x3e",
    "javascript:pwned()//",
    "data:text/html,<script>pwned()</script>",
    f"url({OUT}/c.png) expression(pwned()) red;background:url({OUT}/d.png)",
)
LETTERS = (
    "right \u202eto left\u202c, \u2066isolated\u2069, \u200bzero\u200b \u200dwidth\u2060, \ufefffeff",
    "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 zalgo " + "o" + "\u0336\u0489" * 40,
    "W" * 400,
    "https://outside.example/" + "a/" * 300,
    "\ufdfd" * 30 + " " + "𒐫" * 30,
)

ALL = (*MARKUP, *MUTATIONS, *MARKDOWN, *CODE, *LETTERS)
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def named(longest: int) -> list[str]:
    """Those that the server takes as a name or a title: one line, not turned around, not longer
    than this."""
    lines = (" ".join(one.split())[:longest].strip() for one in ALL)
    return list(dict.fromkeys(line for line in lines if line and not TURNING & set(line)))


def models() -> list[str]:
    """Those that the server takes as the name of a model: without spaces."""
    return ["lab:" + "".join(one.split())[:120] for one in (*MARKUP[:6], *MUTATIONS[-2:], *CODE)]
