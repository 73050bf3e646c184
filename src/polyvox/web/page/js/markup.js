// @ts-check
// From Markdown to nodes. Everything passes the sanitiser, and nothing is loaded from anywhere: a
// picture becomes a link, HTML of the answer's own is shown as the text it is.
import "../vendor/purify.js";
import { Marked } from "../vendor/marked.js";

const TAGS = [
  "a", "blockquote", "br", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "span",
  "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const CLEAN = {
  ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ["href", "title", "class", "start", "align"], ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i, RETURN_DOM_FRAGMENT: true,
};
const CLASSES = /^(?:math|task|language-[\w+#.-]{1,30}|hljs(?:-[\w]+)?|[\w]+_)$/;

const purify = globalThis.DOMPurify;
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  }
  if (node.hasAttribute?.("class")) {
    const kept = node.getAttribute("class").split(/\s+/).filter((name) => CLASSES.test(name));
    if (kept.length) node.setAttribute("class", kept.join(" "));
    else node.removeAttribute("class");
  }
});

/** Clean nodes of a piece of HTML. */
export const clean = (text) => purify.sanitize(text, CLEAN);

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => text.replace(/[&<>"']/g, (char) => ESCAPES[char]);

/* Maths is shown as the text it is, kept from Markdown's emphasis. A price is no formula, and a
 * formula has no empty lines. One that is still being written runs to the end of what there is. */
const FORMULA = /^\$(?!\s)((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)/;
const formula = (text) => /[\\^_{}=+<>]|^[A-Za-z]$/.test(text);
const BLOCKS = [
  [/^\$\$((?:(?!\n[ \t]*\n)[\s\S])+?)\$\$[ \t]*(?:\n+|$)/, /^\$\$((?:(?!\n[ \t]*\n|\$\$)[\s\S])*)$/],
  [/^\\\[((?:(?!\n[ \t]*\n)[\s\S])+?)\\\][ \t]*(?:\n+|$)/, /^\\\[((?:(?!\n[ \t]*\n|\\\])[\s\S])*)$/],
];
const EMPTY = /\n[ \t]*\n/;
let growing = false;
const maths = [
  {
    name: "mathBlock", level: "block",
    start: (src) => src.slice(0, EMPTY.exec(src)?.index).match(/^(?:\$\$|\\\[)/m)?.index,
    tokenizer(src) {
      for (const [closed, open] of BLOCKS) {
        const match = closed.exec(src);
        if (match) return { type: "mathBlock", raw: match[0], text: match[1].trim() };
        const begun = growing && open.exec(src);
        if (begun) return { type: "mathBlock", raw: begun[0], text: begun[1].trim(), open: true };
      }
      return undefined;
    },
    renderer: ({ text }) => `<div class="math">${escape(text)}</div>\n`,
  },
  {
    name: "math", level: "inline",
    start: (src) => src.match(/\$|\\\(/)?.index,
    tokenizer(src) {
      const round = /^\\\((.+?)\\\)/.exec(src);
      const match = round ?? FORMULA.exec(src);
      return match && (round || formula(match[1])) ? { type: "math", raw: match[0], text: match[1] } : undefined;
    },
    renderer: ({ text }) => `<span class="math">${escape(text)}</span>`,
  },
];

const marked = new Marked({
  gfm: true,
  extensions: maths,
  renderer: {
    html: ({ text }) => (/^<br\s*\/?>$/i.test(text.trim()) ? "<br>" : escape(text)),
    image: ({ href, title, text }) => {
      const titled = title ? ` title="${escape(title)}"` : "";
      return `<a href="${escape(href)}"${titled}>picture: ${escape(text || href)}</a>`;
    },
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
    },
    checkbox: ({ checked }) => `<span class="task">${checked ? "☑" : "☐"}</span> `,
  },
});

/**
 * The pieces of a text. `links` are references that were defined before it; `grows`: more of it may
 * come.
 * @param {string} text
 * @param {{ links?: Record<string, any>, grows?: boolean }} options
 */
export function lex(text, { links, grows = false } = {}) {
  const lexer = new marked.Lexer(marked.defaults);
  Object.assign(lexer.tokens.links, links);
  growing = grows;
  try {
    return lexer.lex(text);
  } finally {
    growing = false;
  }
}

/** Clean nodes of some pieces. */
export const draw = (tokens) => clean(marked.parser(tokens));

// Colours for code, fetched when the first code of a language is shown.
const OTHER = {
  js: "javascript", jsx: "javascript", mjs: "javascript", node: "javascript", ts: "typescript", tsx: "typescript",
  py: "python", python3: "python",
  sh: "bash", shell: "bash", zsh: "bash", console: "bash", html: "xml", svg: "xml", yml: "yaml", rs: "rust",
  golang: "go", "c++": "cpp", h: "c", hpp: "cpp",
  toml: "ini", patch: "diff", postgresql: "sql", sqlite: "sql", jsonc: "json",
};
const KNOWN = new Set([
  "bash", "c", "cpp", "css", "diff", "go", "ini", "java", "javascript", "json", "python", "rust", "sql", "typescript",
  "xml", "yaml"
]);
const MOST = 60_000; // colouring more than this would hold up the page

let core = null;
const languages = new Map();

async function load(name) {
  core ??= import("../vendor/highlight/core.js").then((module) => module.default);
  const tool = await core;
  if (!languages.has(name)) {
    languages.set(
      name, import(`../vendor/highlight/${name}.js`).then((module) => tool.registerLanguage(name, module.default))
    );
  }
  await languages.get(name);
  return tool;
}

/** Colour an element's code in place; of a language we do not know it stays as it is. */
export async function highlight(code, language) {
  const wanted = language.toLowerCase();
  const name = OTHER[wanted] ?? wanted;
  const text = code.textContent;
  if (!KNOWN.has(name) || text.length > MOST) return;
  const tool = await load(name);
  code.replaceChildren(clean(tool.highlight(text, { language: name, ignoreIllegals: true }).value));
}
