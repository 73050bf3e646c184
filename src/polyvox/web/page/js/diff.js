// @ts-check
// What changed between two texts, word by word. Myers' algorithm in its linear-space form: two
// searches, one from each end, meet in the middle, and each half is done again.
import { html } from "./ui.js";

const ELEMENTS = { same: "span", in: "ins", out: "del" };

/** What `diff` gave, to read. */
export const Difference = ({ parts }) => html`
  <div class="changes">${parts.map(({ kind, text }, at) => html`<${ELEMENTS[kind]} key=${at}>${text}<//>`)}</div>`;

/** Beyond this many differences within one stretch, it counts as rewritten: bounds the time. */
const MOST = 2500;

const TOKENS = /\s+|[\p{L}\p{N}\p{M}'’_]+|[^\s\p{L}\p{N}\p{M}'’_]/gu;
const tokens = (text) => text.match(TOKENS) || [];

/**
 * The way from `before` to `after` as a list of `{kind, text}`, kind "same", "out" or "in".
 * "same" and "out" together are exactly `before`, "same" and "in" exactly `after`.
 */
export function diff(before, after) {
  const a = tokens(before);
  const b = tokens(after);
  const parts = [];
  compare(a, 0, a.length, b, 0, b.length, parts);
  return slide(tidy(parts));
}

/** How many words came and went, for a line like "12 words added, 3 removed". */
export function counted(parts) {
  const words = (kind) => parts.filter((part) => part.kind === kind)
    .reduce((sum, part) => sum + (part.text.match(/[\p{L}\p{N}]+(['’][\p{L}\p{N}]+)*/gu) || []).length, 0);
  return { added: words("in"), removed: words("out") };
}

function add(parts, kind, list, from, to) {
  if (from < to) parts.push({ kind, text: list.slice(from, to).join("") });
}

function compare(a, a0, a1, b, b0, b1, parts) {
  const [start, end] = [a0, a1];
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) { a0++; b0++; }
  while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) { a1--; b1--; }
  add(parts, "same", a, start, a0);
  const middle = a0 < a1 && b0 < b1 ? snake(a, a0, a1, b, b0, b1) : null;
  if (middle) {
    compare(a, a0, middle.x, b, b0, middle.y, parts);
    compare(a, middle.x, a1, b, middle.y, b1, parts);
  } else {
    add(parts, "out", a, a0, a1);
    add(parts, "in", b, b0, b1);
  }
  add(parts, "same", a, a1, end);
}

/** A point on a shortest way through the middle; null where the two have too little in common. */
function snake(a, a0, a1, b, b0, b1) {
  const n = a1 - a0;
  const m = b1 - b0;
  const delta = n - m;
  const odd = delta % 2 !== 0;
  const most = Math.min(Math.ceil((n + m) / 2), MOST);
  const zero = most + 1;
  const down = new Int32Array(2 * zero + 1);
  const up = new Int32Array(2 * zero + 1);
  for (let d = 0; d <= most; d++) {
    for (let k = -d; k <= d; k += 2) {
      let x = further(down, zero + k, k, d);
      let y = x - k;
      while (x < n && y < m && a[a0 + x] === b[b0 + y]) { x++; y++; }
      down[zero + k] = x;
      if (odd && Math.abs(delta - k) < d && x + up[zero + delta - k] >= n) return inside(x, y, n, m, a0, b0);
    }
    for (let k = -d; k <= d; k += 2) {
      let x = further(up, zero + k, k, d);
      let y = x - k;
      while (x < n && y < m && a[a1 - 1 - x] === b[b1 - 1 - y]) { x++; y++; }
      up[zero + k] = x;
      if (!odd && Math.abs(delta - k) <= d && x + down[zero + delta - k] >= n) {
        return inside(n - x, m - y, n, m, a0, b0);
      }
    }
  }
  return null;
}

/** Where the diagonal k can begin at d differences: from the neighbour that got further. */
function further(reach, at, k, d) {
  return k === -d || (k !== d && reach[at - 1] < reach[at + 1]) ? reach[at + 1] : reach[at - 1] + 1;
}

/** A corner is no middle: splitting there would go on for ever. */
function inside(x, y, n, m, a0, b0) {
  const corner = (x <= 0 && y <= 0) || (x >= n && y >= m);
  return corner || x < 0 || y < 0 || x > n || y > m ? null : { x: a0 + x, y: b0 + y };
}

/** Neighbours of one kind joined; a word or a space that is left alone between two changes goes
 * with them, since a phrase reads better than its pieces. */
function tidy(parts) {
  const done = [];
  let out = "";
  let into = "";
  const flush = () => {
    if (out) done.push({ kind: "out", text: out });
    if (into) done.push({ kind: "in", text: into });
    out = into = "";
  };
  parts.forEach((part, i) => {
    if (part.kind === "out") out += part.text;
    else if (part.kind === "in") into += part.text;
    else if ((out || into) && slight(part.text) && changes(parts[i + 1])) { out += part.text; into += part.text; }
    else {
      flush();
      const last = done.at(-1);
      if (last?.kind === "same") last.text += part.text;
      else done.push({ ...part });
    }
  });
  flush();
  return done;
}

const slight = (text) => !/\n/.test(text) && text.trim().length < 4;
const changes = (part) => part !== undefined && part.kind !== "same";

/** Text that was put in or taken out between two spaces begins with its word, not with the space. */
function slide(parts) {
  for (let i = 1; i + 1 < parts.length; i++) {
    const [before, change, after] = [parts[i - 1], parts[i], parts[i + 1]];
    const space = change.text.match(/^\s+/)?.[0];
    const alone = before.kind === "same" && after.kind === "same" && change.kind !== "same";
    if (!alone || !space || !after.text.startsWith(space) || change.text.length === space.length) continue;
    before.text += space;
    change.text = change.text.slice(space.length) + space;
    after.text = after.text.slice(space.length);
  }
  return parts.filter((part) => part.text);
}
