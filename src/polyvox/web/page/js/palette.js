// @ts-check
// The command palette: whatever can be done or found, by typing a few letters of it.
import { api } from "./api.js";
import { Dialog } from "./dialog.js";
import { advisors, colorOf, conversations, moreConversations } from "./lists.js";
import { go } from "./router.js";
import { commands, letterKeys, nameOf, canRun, sheet, strokes } from "./shortcuts.js";
import { asQuery, Snippet } from "./snippet.js";
import { html, signal, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./ui.js";
import { monogram, plural, stamp } from "./words.js";

const WAIT = 180;
const FEW = 6;
const start = signal("");

/** Open the palette, with something in it already where that is given. */
export function openPalette(text = "") {
  start.value = text;
  sheet.value = "palette";
}

const normalise = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** How well a name fits what was typed: lower is better, null not at all. */
export function fit(name, typed) {
  const text = normalise(name);
  let sum = 0;
  for (const word of normalise(typed).split(/\s+/).filter(Boolean)) {
    const at = text.indexOf(word);
    if (at < 0) return null;
    sum += at === 0 ? 0 : /\W/.test(text[at - 1]) || text.includes(` ${word}`) ? 1 : 2;
  }
  return sum;
}

/** Whether a command that names somebody is meant: its verb was begun. Who types only the name looks
 * for whose it is. */
const fitsVerb = ({ verb }, typed) =>
  !verb || normalise(typed).split(/\s+/).some((word) => word && verb.startsWith(word));

function best(rows, typed, most) {
  if (!typed) return rows.slice(0, most);
  return rows.filter((row) => fitsVerb(row, typed))
    .map((row) => ({ row, score: fit(row.name, typed) }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => a.score - b.score).slice(0, most).map(({ row }) => row);
}

const commandRows = () => commands.value.filter((command) => canRun(command) && !command.unlisted)
  .map((command) => ({
    id: `do-${command.id}`, name: nameOf(command), verb: command.verb, keys: command.keys, run: command.run
  }));
const conversationRows = (items) => items.map((conversation) => ({
  id: `talk-${conversation.id}`, name: conversation.title || "Untitled conversation",
  aside: stamp(conversation.updated_at), run: () => go(`/c/${conversation.id}`),
}));
const advisorRows = () => advisors.value.map((advisor) => ({
  id: `advisor-${advisor.id}`, name: advisor.name, color: colorOf(advisor.id),
  aside: advisor.active ? "" : "not on the council",
  run: () => go(`/advisors/${advisor.slug}`),
}));
const hitRows = (hits) => hits.map((hit) => ({
  id: `hit-${hit.id}`, name: hit.snippet, marks: hit.marks, aside: hit.title || "Untitled conversation",
  run: () => go(`/c/${hit.conversation_id}${hit.turn_id ? `#${hit.turn_id}` : ""}`),
}));

function sections(typed, items, hits) {
  const everywhere = typed
    ? [
      {
        id: "search-all", name: `Search every text for “${typed}”`,
        run: () => go(`/search?q=${encodeURIComponent(typed)}`)
      }
    ]
    : [];
  const recent = { name: "Conversations", rows: best(conversationRows(items), typed, FEW) };
  const acts = { name: "Do", rows: best(commandRows(), typed, typed ? FEW : 40) };
  return [
    ...(typed ? [acts, recent] : [recent, acts]),
    { name: "Advisors", rows: typed ? best(advisorRows(), typed, FEW) : [] },
    {
      name: "In the texts",
      rows: [...everywhere, ...(typed ? hitRows(hits.filter((hit) => hit.kind !== "title")) : [])]
    },
  ].filter(({ rows }) => rows.length);
}

/** The conversations there are, and where the words occur; both may come late or not at all. */
function useMatches(typed) {
  const [items, setItems] = useState(conversations.value);
  const [hits, setHits] = useState([]);
  const [failure, setFailure] = useState(null);
  useEffect(() => {
    if (moreConversations.value) {
      api.get("/api/conversations?limit=200").then((page) => setItems(page.items), setFailure);
    }
  }, []);
  useEffect(() => {
    if (!typed) { setHits([]); return undefined; }
    const stop = new AbortController();
    const later = setTimeout(() => {
      api.get(`/api/search?limit=${FEW}&q=${asQuery(typed)}`, { signal: stop.signal })
        .then(setHits, (error) => error.name !== "AbortError" && setFailure(error));
    }, WAIT);
    return () => { clearTimeout(later); stop.abort(); };
  }, [typed]);
  return { items, hits, failure };
}

function Option({ row, id, chosen, onRun, onPoint }) {
  return html`
    <div id=${id} role="option" aria-selected=${chosen ? "true" : "false"} onClick=${onRun} onMouseMove=${onPoint}>
      ${row.color && html`
        <span class="mono" data-c style=${{ "--c": row.color }} aria-hidden="true">${monogram(row.name)}</span>`}
      <span class=${row.marks ? "what quote" : "what"}>
        ${row.marks ? html`<${Snippet} text=${row.name} marks=${row.marks} />` : row.name}
      </span>
      ${row.aside && html`<span class="stamp">${row.aside}</span>`}
      ${row.keys?.length > 0 && html`<${Keys} keys=${row.keys.slice(0, 1)} />`}
    </div>`;
}

function Open() {
  const box = useRef(null);
  const list = useRef(null);
  const name = useId();
  const [text, setText] = useState(start.value);
  const [chosen, choose] = useState(""); // by id: what comes late must not move the choice
  const typed = text.trim();
  const { items, hits, failure } = useMatches(typed);
  const shown = useMemo(() => sections(typed, items, hits), [typed, items, hits, commands.value, advisors.value]);
  const rows = shown.flatMap((section) => section.rows);
  const here = Math.max(0, rows.findIndex((row) => row.id === chosen));

  // At once, before the next key is typed; closing gives the focus back.
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  useEffect(() => {
    list.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [here, shown]);

  const close = () => { start.value = ""; sheet.value = ""; };
  // The browser gives the focus back when the dialog closes; only then may a command move it.
  const run = (row) => { box.current.close(); close(); row?.run(); };
  const to = (at) => choose(rows[at].id);
  const KEYS = {
    ArrowDown: () => to((here + 1) % rows.length), ArrowUp: () => to((here + rows.length - 1) % rows.length),
    PageDown: () => to(Math.min(rows.length - 1, here + FEW)), PageUp: () => to(Math.max(0, here - FEW)),
    Enter: () => run(rows[here]),
  };
  const onKeyDown = (event) => {
    if (event.isComposing || !KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (rows.length) KEYS[event.key]();
  };
  const optionId = (row) => `${name}-${row.id}`;

  return html`
    <dialog ref=${box} class="sheet palette" aria-label="Do or find anything"
      onMouseDown=${(event) => event.target === box.current && close()}
      onCancel=${(event) => { event.preventDefault(); close(); }}>
      <div class="palette-line">
        <span class="caret" aria-hidden="true">›</span>
        <input type="text" role="combobox" aria-label="What to do or find" aria-expanded="true"
          aria-autocomplete="list"
          aria-controls=${`${name}-list`} aria-activedescendant=${rows[here] ? optionId(rows[here]) : undefined}
          placeholder="Do or find anything" autofocus autocomplete="off" spellcheck=${false} value=${text}
          onInput=${(event) => { setText(event.target.value); choose(""); }} onKeyDown=${onKeyDown} />
        <button type="button" class="quiet" onClick=${close}>Close</button>
      </div>
      <div ref=${list} id=${`${name}-list`} class="palette-list" role="listbox" aria-label="What there is">
        ${shown.map((section) => html`
          <div key=${section.name} role="group" aria-label=${section.name}>
            <span class="label" aria-hidden="true">${section.name}</span>
            ${section.rows.map((row) => html`
              <${Option} key=${row.id} row=${row} id=${optionId(row)} chosen=${row === rows[here]}
                onRun=${() => run(row)} onPoint=${() => row !== rows[here] && choose(row.id)} />`)}
          </div>`)}
      </div>
      ${failure && html`<p class="err"><b>${failure.message}</b> ${failure.hint}</p>`}
      <p class="aside" role="status">${plural(rows.length, "choice")}</p>
    </dialog>`;
}

export function Palette() {
  return sheet.value === "palette" ? html`<${Open} />` : null;
}

// The sheet of keyboard shortcuts, made from the commands there are at this moment.
const ORDER = ["Everywhere", "Go"];

function grouped() {
  const groups = new Map(ORDER.map((name) => [name, []]));
  for (const command of commands.value) {
    if (!command.keys.length) continue;
    if (!groups.has(command.group)) groups.set(command.group, []);
    groups.get(command.group).push(command);
  }
  return [...groups].filter(([, rows]) => rows.length);
}

/** The keys of a command, as they are printed on the keyboard. */
export function Keys({ keys }) {
  return html`<span class="keys">${keys.map((shortcut, i) => html`
    ${i > 0 && html`<i> or </i>`}
    ${strokes(shortcut).map((stroke, n) => html`
      ${n > 0 && html`<i> then </i>`}
      ${stroke.map((key) => html`<kbd>${key}</kbd>`)}`)}`)}</span>`;
}

function Group({ name, rows }) {
  return html`
    <section class="keyring">
      <h3>${name}</h3>
      <dl>${rows.map((command) => html`
        <div key=${command.id}><dt>${nameOf(command)}</dt><dd><${Keys} keys=${command.keys} /></dd></div>`)}</dl>
    </section>`;
}

export function Help() {
  if (sheet.value !== "help") return null;
  return html`
    <${Dialog} title="Keyboard shortcuts" wide onClose=${() => { sheet.value = ""; }}>
      <p class="soft">Letters act when you are not writing in a field. No shortcut deletes anything.</p>
      <div class="keyrings">
        ${grouped().map(([name, rows]) => html`<${Group} key=${name} name=${name} rows=${rows} />`)}
      </div>
      <label class="tick">
        <input type="checkbox" checked=${letterKeys.value}
          onChange=${(event) => { letterKeys.value = event.target.checked; }} />
        <span>
          Letters alone are shortcuts. Switch this off if you speak to your computer; those
          with ${strokes("mod+k")[0][0]} stay.
        </span>
      </label>
    <//>`;
}
