// @ts-check
// Markdown as it grows. What is finished is drawn once and stays; only the last piece is drawn again
// when more of it comes. In the end the page is as if the whole text had come at once.
import { copy } from "./dialog.js";
import { draw, highlight, lex } from "./markup.js";
import { unschedule, schedule } from "./pace.js";
import { html, useEffect, useLayoutEffect, useRef } from "./ui.js";

const LONG = 12_000; // a last piece longer than this grows as plain text until it is finished
const SLICE = 6_000; // of a long finished text, this much is drawn at a time
const CHECKED = 200_000; // up to this length the end is compared with the whole
const SLOW = 6; // milliseconds; what takes longer to draw is drawn less often

/** Draws a text into an element and keeps up with it. */
export class Scribe {
  constructor(root) {
    this.root = root;
    this.begin();
  }

  begin() {
    this.root.replaceChildren();
    this.shown = "";
    this.over = false;
    this.drawn = []; // what is drawn for good, piece by piece, as it was written
    this.done = 0; // how much of the text that is
    this.links = Object.create(null); // the references defined in it
    this.seen = 0; // how far we have looked for finished pieces
    this.left = []; // pieces of a finished text that are still to be drawn
    this.forget();
  }

  forget() {
    this.tail = []; // the nodes of the last piece
    this.plain = null; // its text, where it is too long to be drawn again and again
  }

  /** Show this text soon: before the next frame, if not too much else is to be shown in it. `over`
   * when no more will come. */
  show(text, over) {
    this.wish = { text, over };
    schedule(this);
  }

  close() { unschedule(this); }

  work() {
    if (performance.now() < this.due) { schedule(this); return; }
    const { wish } = this;
    this.wish = null;
    if (wish) this.write(wish.text, wish.over);
    else if (this.left.length) this.slice();
    if (this.left.length) schedule(this);
  }

  /** Show this text now. */
  write(text, over) {
    const flat = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (flat === this.shown && over === this.over) return;
    if (this.over || !flat.startsWith(this.shown)) this.begin();
    const began = performance.now();
    this.shown = flat;
    this.over = over;
    if (over) this.finish();
    else this.grow();
    const took = performance.now() - began;
    this.due = !over && took > SLOW ? performance.now() + took * 8 : 0;
  }

  /** More has come, and more may. */
  grow() {
    const long = this.shown.length - this.done > LONG;
    if (!this.plain || this.shown.length - this.done > this.tried * 1.5) this.settle();
    const rest = this.shown.slice(this.done);
    if (rest.length > LONG && long) { this.growPlain(rest); return; }
    this.drop();
    const made = draw(lex(rest, { links: this.links, grows: true }));
    this.tail = [...made.childNodes];
    this.root.append(made);
  }

  /** Draw for good what is finished. Only whole lines tell: the beginning of one may be anything. */
  settle() {
    const end = this.shown.lastIndexOf("\n") + 1;
    this.tried = this.shown.length - this.done;
    if (end <= this.seen) return;
    this.seen = end;
    const tokens = lex(this.shown.slice(this.done, end), { links: this.links, grows: true });
    const sure = tokens.slice(0, firstOpen(tokens));
    if (!sure.length) return;
    this.drop();
    this.put(sure);
    this.links = known(tokens, sure.length, this.links);
    this.tried = this.shown.length - this.done;
  }

  /** A very long last piece: add to its plain text. */
  growPlain(rest) {
    if (!this.plain) {
      this.drop();
      const box = document.createElement("pre");
      box.className = "raw";
      this.plain = box.appendChild(document.createTextNode(""));
      this.tail = [box];
      this.root.append(box);
    }
    this.plain.appendData(rest.slice(this.plain.length));
  }

  /** No more will come. What was taken for finished is compared with the whole: a reference that was
   * defined late gives earlier words their link, and Markdown has more corners than we know. */
  finish() {
    this.drop();
    if (this.shown.length > CHECKED) {
      this.left = lex(this.shown.slice(this.done), { links: this.links });
    } else {
      const tokens = lex(this.shown);
      const late = this.drawn.length && Object.keys(tokens.links).length;
      if (late || this.drawn.some((raw, i) => tokens[i]?.raw !== raw)) {
        this.root.replaceChildren();
        this.drawn = [];
        this.done = 0;
      }
      this.left = tokens.slice(this.drawn.length);
    }
    this.slice();
    if (this.left.length) schedule(this);
  }

  /** Draw the next pieces of a finished text. */
  slice() {
    let size = 0;
    let count = 0;
    while (count < this.left.length && size < SLICE) size += this.left[count++].raw.length;
    this.put(this.left.slice(0, count));
    this.left = this.left.slice(count);
  }

  put(tokens) {
    const made = draw(tokens);
    dress(made);
    this.root.append(made);
    for (const { raw } of tokens) {
      this.drawn.push(raw);
      this.done += raw.length;
    }
  }

  drop() {
    for (const node of this.tail) node.remove();
    this.forget();
  }
}

/** The first piece that may still change. A new piece can only begin once the one before is finished;
 * but a definition may get its title from the next line, and a formula turn out to be none. */
function firstOpen(tokens) {
  let at = tokens.length - 1;
  while (at > 0 && tokens[at].type === "space") at -= 1;
  for (; at > 0; at -= 1) {
    const before = tokens[at - 1];
    const title = before.type === "def" && !before.raw.endsWith("\n\n");
    if (!title && !(tokens[at].open && before.type === "paragraph")) break;
  }
  return Math.max(at, 0);
}

/** The references of what is finished: one that is still open may get its title yet. */
function known(tokens, end, before) {
  const links = Object.assign(Object.create(null), tokens.links);
  for (const { type, tag } of tokens.slice(end)) if (type === "def" && !before[tag]) delete links[tag];
  return links;
}

/** Code gets its colours and a way to copy it; a wide table a place to scroll in. */
function dress(made) {
  for (const code of made.querySelectorAll("pre > code")) {
    const language = [...code.classList].find((name) => name.startsWith("language-"))?.slice(9);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy-code";
    button.textContent = "Copy code";
    const source = code.textContent;
    button.addEventListener("click", () => copy(source, "Code copied."));
    code.parentElement.tabIndex = 0;
    code.parentElement.append(button);
    if (language) highlight(code, language);
  }
  for (const table of made.querySelectorAll("table")) {
    const box = document.createElement("div");
    box.className = "wide-table";
    box.tabIndex = 0;
    table.replaceWith(box);
    box.append(table);
  }
}

// Markdown as a component.
/** `live` while more may come. */
export function Prose({ text, live = false }) {
  const root = useRef(null);
  const scribe = useRef(null);
  useLayoutEffect(() => {
    scribe.current ??= new Scribe(root.current);
    scribe.current.show(text, !live);
  }, [text, live]);
  useEffect(() => () => scribe.current?.close(), []);
  return html`<div class="prose" ref=${root} data-live=${live || undefined}></div>`;
}
