// @ts-check
// What is remembered and will be used: shown before a message that opens a session, each with a veto.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { Dialog, notifyFailure } from "../dialog.js";
import { Failed, useLoaded } from "../load.js";
import { pref } from "../prefs.js";
import { html, useCallback, useEffect, useId, useState } from "../ui.js";
import { moment, plural } from "../words.js";
import { sentence } from "./trace-words.js";

const KINDS = {
  handover: "From before", bridge: "A moment ago", steering: "From yesterday", instruction: "You asked for this",
  profile: "About you", loop: "Still open",
};
const ENOUGH = 90;

/** What the next message's session would be told; null while that is not known. */
function useStart(query, changes) {
  const [start, setTold] = useState(null);
  const look = useCallback(() => {
    api.get(`/api/memory/start?${query}`).then(setTold, (failure) => setTold({ failure }));
  }, [query]);
  useEffect(look, [look, changes]);
  useCurrent(look);
  // A session that was going on when we looked may have gone idle since.
  useEffect(() => {
    const came = ({ target }) => target.id === "composer" && look();
    document.addEventListener("focusin", came);
    return () => document.removeEventListener("focusin", came);
  }, [look]);
  return start;
}

/** The beginning of a text, to know it by. */
function glimpse(text) {
  const line = text.trim().replace(/\s+/g, " ");
  const cut = line.length > ENOUGH
    ? `${line.slice(0, line.lastIndexOf(" ", ENOUGH) > 40 ? line.lastIndexOf(" ", ENOUGH) : ENOUGH)} …`
    : line;
  return cut.replace(/[.;,]$/, "");
}

/** One of each: what rests on the same words is one thing, whatever lines it is told in. */
function things(items) {
  const byId = new Map();
  for (const item of items) if (!byId.has(item.id) || item.when === "start") byId.set(item.id, item);
  return [...byId.values()];
}

/** How much is told at the start, how much only if it comes up, and how much was set aside. */
function summary(lines, out) {
  const items = things(lines);
  const used = items.filter(({ id }) => !out.includes(id));
  const now = used.filter(({ when }) => when === "start").length;
  const later = used.length - now;
  const aside = items.length - used.length;
  const known = `I remember ${plural(items.length, "thing")}`;
  const single = items.length === 1;
  if (now === items.length) return `${known} and will use ${single ? "it" : "them"}`;
  if (later === items.length) return `${known}, for when ${single ? "it comes" : "they come"} up`;
  if (aside === items.length) return `${known} and will use none`;
  const parts = [
    now && `${now} told at the start`, later && `${later} if ${later === 1 ? "it comes" : "they come"} up`,
    aside && `${aside} set aside`
  ];
  return `${known}: ${parts.filter(Boolean).join(", ")}`;
}

/** Where it comes from; words that stand in the text already are not said twice. */
function Source({ source, text }) {
  if (!source || (!source.quote && !source.said_at)) return null;
  const when = source.said_at && moment(source.said_at);
  const place = when
    && (source.session_id && !source.elsewhere
      ? html`<a href=${`/sessions/${source.session_id}`}>${when}</a>`
      : html`<span>${when}${source.elsewhere ? ", elsewhere" : ""}</span>`);
  const quote = source.quote && !text.includes(source.quote.slice(0, 24)) && source.quote;
  return html`
    <p class="source">${quote && html`<q dir="auto">${quote}</q> `}${place}</p>`;
}

function Item({ item, out, onToggle }) {
  return html`
    <li class=${out ? "out" : ""}>
      <span class="label">${KINDS[item.kind] ?? item.kind}</span>
      <div><p class="what" dir="auto">${item.text}</p><${Source} source=${item.source} text=${item.text} /></div>
      <button type="button" class="quiet" aria-pressed=${out}
        aria-label=${`Don’t use this now: ${glimpse(item.text)}`} onClick=${onToggle}>
        ${out ? "Not used now" : "Don’t use this now"}
      </button>
    </li>`;
}

const GROUPS = [
  ["start", { new: "Told at the start", running: "Told when it began" }],
  ["later", { new: "Used only if it comes up", running: "Used only if it comes up" }]
];

function Group({ name, items, out, onToggle }) {
  const id = useId();
  if (!items.length) return null;
  return html`
    <h3 id=${id} class="when">${name}</h3>
    <ul class="items" aria-labelledby=${id}>
      ${items.map((item) => html`
        <${Item} key=${`${item.id} ${item.text}`} item=${item} out=${out.has(item.id)}
          onToggle=${() => onToggle(item.id)} />`)}
    </ul>`;
}

/** The list itself, with what to do about it. What rests on the same words is set aside together. */
function Items({ start, vetoed, onChange }) {
  const out = new Set(vetoed);
  const toggle = (id) => onChange(out.has(id) ? vetoed.filter((other) => other !== id) : [...vetoed, id]);
  return html`
    ${GROUPS.map(([when, names]) => html`
      <${Group} key=${when} name=${names[start.session]} items=${start.items.filter((item) => item.when === when)}
        out=${out} onToggle=${toggle} />`)}
    ${start.missing.map((text, i) => html`<p key=${i} class="soft small">${sentence({ text })}</p>`)}
    <p class="soft small">
      What you set aside here is left alone in this session. <a href="/memory">
        Correct or forget it
      </a> to change it for good.
    </p>`;
}

/** `name` is whose draft it goes with, `query` what is asked of the server, `changes` what makes it look again. */
export function Strip({ name, query, changes }) {
  const start = useStart(query, changes);
  const vetoed = pref(`veto.${name}`, []);
  const [open, setOpen] = useState(false);
  const list = useId();
  if (start?.failure?.status >= 500) {
    return html`<p class="soft small">What I remember cannot be shown: ${start.failure.message}</p>`;
  }
  if (start?.session !== "new" || !start.items.length) return null;
  const ids = new Set(start.items.map(({ id }) => id));
  const out = vetoed.value.filter((id) => ids.has(id));
  const used = start.items.filter(({ id }) => !out.includes(id));
  const teaser = (used.length ? used : start.items).slice(0, 3).map(({ text }) => glimpse(text)).join(" · ");
  return html`
    <section class=${open ? "start-strip open" : "start-strip"} aria-label="What I remember and will use">
      <button type="button" class="line" aria-expanded=${open} aria-controls=${list} onClick=${() => setOpen(!open)}>
        <b>${summary(start.items, out)}</b>
        <span class="teaser">${open ? "" : `. ${teaser}`}</span>
        <span class="show">${open ? "hide" : "show"}</span>
      </button>
      <div id=${list} hidden=${!open} class="inside" tabindex=${open ? "0" : undefined}>
        ${open && html`<${Items} start=${start} vetoed=${out} onChange=${(next) => { vetoed.value = next; }} />`}
      </div>
    </section>`;
}

// What the session that goes on was told at its start, and each thing's veto: from the next message on.
const read = (id) => api.get(`/api/memory/start?conversation=${encodeURIComponent(id)}`);

/** A running session keeps its own vetoes; before one begins they wait beside the draft. */
function useVetoes(id, start, setTold) {
  const waiting = pref(`veto.${id}`, []);
  if (start?.session !== "running") return [waiting.value, (next) => { waiting.value = next; }];
  const change = async (items) => {
    try {
      setTold(await api.put(`/api/conversations/${id}/memory/veto`, { items }));
    } catch (error) {
      notifyFailure(error);
      setTold(await read(id).catch(() => start)); // the session may have ended meanwhile
    }
  };
  return [[...new Set(start.items.filter(({ vetoed }) => vetoed).map((item) => item.id))], change];
}

const LEADS = {
  running: "What you set aside is not told again, from your next message on.",
  new: "Your next message begins a session. What you set aside is not told in it.",
};

export function StartSheet({ id, onClose }) {
  const [first, failure, again] = useLoaded(() => read(id), [id]);
  const [newer, setTold] = useState(null);
  const start = newer ?? first;
  const [vetoed, change] = useVetoes(id, start, setTold);
  return html`
    <${Dialog} title="What I remember and use here" onClose=${onClose} wide>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!start && !failure && html`<p class="soft" role="status">Asking memory …</p>`}
      ${start && !start.memory && html`
        <p>Memory is switched off for this conversation’s recipe, so nothing from before is told.</p>`}
      ${start?.memory && !start.items.length && html`<p>Nothing from before is told in this session.</p>`}
      ${start?.items.length > 0 && html`
        <p class="soft">${LEADS[start.session]}</p><${Items} start=${start} vetoed=${vetoed} onChange=${change} />`}
    <//>`;
}
