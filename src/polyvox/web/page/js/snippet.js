// @ts-check
// A piece of a text with the words that were found in it.
import { html } from "./ui.js";

/** The pieces of a text, in order: `{text, found}`. The server counts whole characters, a string
 * here counts halves of those beyond the first 65,536: so the text is taken apart before it is cut. */
export function pieces(text, marks) {
  const chars = Array.from(text);
  const out = [];
  let done = 0;
  const add = (end, found) => {
    if (end > done) out.push({ text: chars.slice(done, end).join(""), found });
    done = Math.max(done, end);
  };
  for (const [start, end] of marks) {
    add(start, false);
    add(end, true);
  }
  add(chars.length, false);
  return out;
}

/** What was typed, as the server wants it: some keyboards write only curly quotes. */
export const asQuery = (typed) => encodeURIComponent(typed.replace(/[“”„«»]/g, '"'));

export function Snippet({ text, marks = [] }) {
  return pieces(text, marks).map(({ text: part, found }) => (found ? html`<mark>${part}</mark>` : part));
}
