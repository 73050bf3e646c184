"""Markdown whose beginning is not yet what its end makes of it: for every text here, however it is
cut into pieces, the page must come to look as if it had come whole."""

from __future__ import annotations

LISTS = (
    "1. one\n\n2. two\n\n   more of two\n\n3. three\n\nand a paragraph\n",
    "- a\n- b\n\n  - c\n    - d\n\n\n- e\n\n* another\n* list\n\n1) and\n2) another\n",
    "- a\n\n not in it\n\n- [ ] to do\n- [x] done\n\n-\n- \n",
    "para\n1. joins\n2. in\n\npara\n2. does not\n\n10. ten\n11. eleven\n",
    "- a\n#\n- b\n#no\n- c\n> d\nlazy\n\n- ```\n  code\n  ```\n\n  after\n",
)
BLOCKS = (
    "# One\ntext\n## Two ##\n\n#notone\n\npara\n#\n\npara\n#foo\n",
    "Title\n===\n\nTitle\n---\n\n---\n\n***\n\n***bold***\n\npara\n***\nx\n\npara\n***bold***\n",
    "> quote\nlazy\n>\n> more\n\n> > deeper\n> again\n\n> ```\n> code\n\nout\n",
    "```python\ndef f(x):\n\n    return x  # ```\n```\nafter\n\n~~~\n```\n~~~\n\n````\n```\n````\n",
    "para\n```a`b\nstill para\n\n```\nnever closed\n\n# not a heading\n",
    "    indented\n\n    still\n\nnot\n\n\n\n\tab\n",
    "para one  \nbroken\\\nagain<br>and<br/>again\n\n\n\npara two\n",
)
TABLES = (
    "| a | b |\n|---|:-:|\n| 1 | **2** |\n| `3` | [4](https://a.example) |\nlast row\n\nafter\n",
    "para\n| a |\n|-x|\nnone\n\npara\n| a | b |\n|-|-|\n| c |\n# heading\n",
    "a | b\n-|-\n1 | 2 \\| 3\n\n| only |\n| head |\n",
)
INLINE = (
    "*a **b*** _c_ __d__ ~~e~~ `f` ``g ` h`` ***i*** * j * k_l_m\n",
    "[a](https://a.example \"t\") <https://b.example> https://c.example/x_y_z. www.d.example mail@e.example\n",
    "![alt](https://a.example/p.png \"t\") [![x](https://a.example/y.png)](https://b.example)\n",
    "[late][ref] and [ref] and [none][no]\n\nmore [ref]\n\n[ref]: https://a.example \"title\"\n",
    "[ref]: https://a.example\n\n[early][ref]\n\nagain [ref]\n\n[two]: https://b.example\n'its title'\n\n[two]\n",
    "[two]: <https://b.example>\n\"not closed\n\npara [two] \\[escaped\\] \\*not\\* &amp; &lt; &copy; &#x1F600; &nope;\n",
)
MATHS = (
    "Euler: $e^{i\\pi} + 1 = 0$, $5 and $6, $x$, \\(a_1 * b_1\\).\n\n$$\na * b\n- c\n= d\n$$\n\nafter\n",
    "para\n$$x_1$$\nmore\n\n$$y$$ is not alone\n\n$$ cheap\n\n$$\nopen\n\nnot a formula $$\n\nend\n",
    "\\[\na\n\\]\n\n\\[ b \\] and text\n\npara\n\\[ c\n\nnever closed\n\n$$\nnever",
)
HTML = (
    "<div onclick=\"x\">\n*not emphasised*\n\n*emphasised*\n</div>\n\n<b>inline</b> <!-- gone --> text\n",
    "<pre>\n\n*raw*\n\n</pre>\n\nafter\n\n<script>\nalert(1)\n\n</script>\n\n<!-- open\n\nswallows",
    "<details>\n<summary>s</summary>\n\n- a\n\n</details>\n\nx < y > z && a<b\n",
)
LETTERS = (
    "Astral 😀👩‍👩‍👧‍👦 🏳️‍🌈 𝒳 combining e\u0301 a\u0308\u0323 z\u030c\u0301, right to left שלום مرحبا, ideographs 漢字 𠀀.\n",
    "CRLF\r\n\r\n- one\r\n- two\r\n\r\n```\r\ncode\r\n```\r\n\r\nlone\rreturn\r\n",
    "zero\u200bwidth, no\u00a0break, \u2028line\u2029para, \ufeffmark, tab\there, \u202eoverride\u202c.\n",
    "   leading\n  \n \n\ttrailing   \n   ",
)
MIXED = (
    "\n\n".join(("# All of it", "1. x", "| a |\n|---|\n| b |", "```js\nlet a;\n```", "$$\nz\n$$", "> q"))
    + "\n",
)

TEXTS = (*LISTS, *BLOCKS, *TABLES, *INLINE, *MATHS, *HTML, *LETTERS, *MIXED)
