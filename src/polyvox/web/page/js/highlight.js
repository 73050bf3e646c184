// Colours for code, fetched when the first code of a language is shown.
import { clean } from "./markup.js";

const OTHER = {
  js: "javascript", jsx: "javascript", mjs: "javascript", node: "javascript", ts: "typescript", tsx: "typescript", py: "python", python3: "python",
  sh: "bash", shell: "bash", zsh: "bash", console: "bash", html: "xml", svg: "xml", yml: "yaml", rs: "rust", golang: "go", "c++": "cpp", h: "c", hpp: "cpp",
  toml: "ini", patch: "diff", postgresql: "sql", sqlite: "sql", jsonc: "json",
};
const KNOWN = new Set(["bash", "c", "cpp", "css", "diff", "go", "ini", "java", "javascript", "json", "python", "rust", "sql", "typescript", "xml", "yaml"]);
const MOST = 60_000; // colouring more than this would hold up the page

let core = null;
const languages = new Map();

async function load(name) {
  core ??= import("../vendor/highlight/core.js").then((module) => module.default);
  const tool = await core;
  if (!languages.has(name)) languages.set(name, import(`../vendor/highlight/${name}.js`).then((module) => tool.registerLanguage(name, module.default)));
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
