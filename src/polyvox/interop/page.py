"""A conversation as one HTML page: no script, nothing loaded, every text escaped."""

from __future__ import annotations

from html import escape

from polyvox.interop.telling import Transcript, TranscriptAnswer

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #888; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1rem; color: var(--soft); margin: 3rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
blockquote, .text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }
blockquote { border-left: 3px solid var(--line); padding-left: 1rem; font-weight: 600 }
.answers { display: grid; gap: 1.5rem; margin-top: 1rem }
.answers { grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)) }
article { border-top: 2px solid var(--line); padding-top: .5rem }
article h4 { margin: 0 } small { color: var(--soft) } .failed { color: #c0392b }
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_html(transcript: Transcript) -> str:
    """The whole page."""
    facts = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in transcript.facts
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{escape(transcript.title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(transcript.title)}</h1><dl>{facts}</dl>",
    ]
    for turn in transcript.turns:
        remark = f" ({turn.remark})" if turn.remark else ""
        parts.append(f"<section><h2>{turn.number}. {escape(turn.at + remark)}</h2>")
        parts.append(f"<blockquote>{escape(turn.content)}</blockquote>")
        for title, spoken in turn.groups:
            if title and title != "Synthesis":
                parts.append(f"<h3>{escape(title)}</h3>")
            parts += ['<div class="answers">', *map(_article, spoken), "</div>"]
        parts.append("</section>")
    return "\n".join([*parts, "</body></html>", ""])


def _article(answer: TranscriptAnswer) -> str:
    failed = f'<p class="failed">Failed: {escape(answer.failure)}</p>' if answer.failure else ""
    return (
        f"<article><h4>{escape(answer.name)}</h4><small>{escape(answer.remark)}</small>"
        f'<div class="text">{escape(answer.text)}</div>{failed}</article>'
    )
