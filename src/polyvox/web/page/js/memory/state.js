// @ts-check
// What the parts of the memory room share: news of changes, lists that come page by page, dates.
import { api } from "../api.js";
import { announceChange, onChange, useCurrent } from "../current.js";
import { reading, useReading } from "../place.js";
import { html, signal, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { stamp } from "../words.js";

const news = signal(0);
onChange("memory", refresh);

/** Whoever shows memory here reads it again. */
export function refresh() { news.value += 1; }

/** Something was changed here: this browser's other tabs read it again. */
export const changed = () => announceChange("memory");

/** Runs `again` when memory changed elsewhere: in another tab, or by the work behind it. */
export function useNews(again) {
  const last = useRef(news.value);
  const now = news.value;
  useEffect(() => {
    if (last.current !== now) { last.current = now; again(); }
  }, [now, again]);
  useCurrent(again);
}

const STEP = 30;
const FURTHER = 100; // whoever asks for more has found nothing in the first ones
const MOST = 100;

/**
 * A list that comes page by page from `address(limit, after)`: what is shown is what was read, and
 * all of it is read again. `nameOf(item)` tells items apart. `set(change)` changes the items in
 * place; a newer answer outruns an older one, and one that was asked for before a change.
 */
export function usePages(address, inputs, nameOf) {
  const [state, setState] = useState({ items: null, next: null, failure: null, busy: false });
  const turn = useRef(0);
  const going = useRef(null);
  const shown = useRef(0);
  shown.current = state.items?.length ?? 0;
  const read = useCallback(async (many, after) => {
    const mine = ++turn.current;
    going.current = { many, after };
    try {
      const items = [];
      let next = after;
      do {
        const page = await api.get(address(Math.min(MOST, many - items.length), next));
        if (mine !== turn.current) return;
        items.push(...page.items);
        next = page.next;
      } while (next && items.length < many);
      const names = new Set(items.map(nameOf));
      const before = (now) => (after ? now.items.filter((one) => !names.has(nameOf(one))) : []);
      setState((now) => ({ items: [...before(now), ...items], next, failure: null, busy: false }));
    } catch (failure) {
      if (mine !== turn.current) return;
      setState((now) => ({ ...now, failure, busy: false }));
    }
    going.current = null;
  }, inputs);
  const again = useCallback(() => {
    const { many = 0, after = null } = going.current ?? {};
    return read(Math.max(STEP, shown.current, after ? shown.current + many : many), null);
  }, [read]);
  useEffect(() => {
    setState({ items: null, next: null, failure: null, busy: false });
    read(Math.max(STEP, reading()?.shown ?? 0), null);
    return () => { turn.current += 1; going.current = null; };
  }, [read]);
  useNews(again);
  useReading(state.items?.length ?? null);
  const set = (change) => {
    setState((now) => ({ ...now, items: change(now.items ?? []) }));
    if (going.current) read(going.current.many, going.current.after);
  };
  const more = () => {
    setState((now) => ({ ...now, busy: true }));
    return going.current ? read(shown.current + FURTHER, null) : read(FURTHER, state.next);
  };
  return { ...state, again, set, more };
}

/** 2026-11-15 12:15 of a time as the memory routes write it. */
export const moment = (iso) => (iso ? stamp(Date.parse(iso) * 1000) : "");
/** Its day alone. */
export const dayOf = (iso) => moment(iso).slice(0, 10);

const LONG = 420;
const ENDED = /[.!?…:;)\]}"'”’»。！？؟]$/u;

/** A long text that breaks off was cut where it was noted: that is shown. */
const marked = (text) => (text.length < LONG / 2 || ENDED.test(text.trimEnd()) ? text : `${text.trimEnd()} …`);

/** A text of any length: of a long one the beginning, to a whole word, and the rest a press away. */
export function Long({ text }) {
  const [open, setOpen] = useState(false);
  if (text.length <= LONG * 1.25) return marked(text);
  const start = text.slice(0, LONG);
  const cut = start.slice(0, Math.max(start.search(/\s\S*$/), LONG / 2)).trimEnd();
  return html`
    ${open ? marked(text) : `${cut} …`} <button type="button" class="quiet rest"
      aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      ${open ? "less" : "more"}
    </button>`;
}

/** One of a few ways to look at a list. */
export function Filter({ legend, value, options, onChange }) {
  return html`
    <fieldset class="choice">
      <legend class="aside">${legend}</legend>
      ${options.map(([key, label]) => html`
        <label key=${key}>
          <input type="radio" name=${legend} checked=${value === key} onChange=${() => onChange(key)} />
          <span>${label}</span>
        </label>`)}
    </fieldset>`;
}

// Where the focus goes when what has it moves, gets another name, or is no more.
/** @returns {HTMLElement[]} */
const namesOf = (room) => [...room.querySelectorAll("[data-entry]")];

/** What has the focus in `room`, told so that it can be found again. */
function holder(room) {
  const one = /** @type {HTMLElement} */ (document.activeElement);
  if (!one || !room?.contains(one)) return null;
  const entry = /** @type {HTMLElement} */ (one.closest("[data-entry]"));
  const place = /** @type {HTMLElement} */ (one.closest("[data-place]"));
  return {
    one,
    entry: entry?.dataset.entry,
    place: place?.dataset.place,
    at: place && entry ? namesOf(place).indexOf(entry) : -1,
    tool: /** @type {HTMLElement} */ (one.closest("[data-tool]"))?.dataset.tool,
    seen: one.matches(":focus-visible") || Boolean(one.closest("form")),
  };
}

/** The same tool of the same entry; else of the one that stands there now; else what is nearest. */
function successor(room, was) {
  const place = was.place && [...room.querySelectorAll("[data-place]")].find((one) => one.dataset.place === was.place);
  const there = place ? namesOf(place) : [];
  const toolOf = (entry) =>
    entry?.querySelector(`button[data-tool="${was.tool}"]`) ?? entry?.querySelector("button[data-tool]");
  return toolOf(namesOf(room).find((one) => one.dataset.entry === was.entry)) ?? toolOf(there[was.at])
    ?? place?.querySelector('button[data-tool="add"]') ?? toolOf(there.at(-1))
      ?? room.querySelector(".count, [role=status][tabindex]");
}

/**
 * `[room, toNew]`: the focus stays with what has it in `room`, wherever that is drawn. Who looks at
 * it is taken along; who only pressed it goes on reading. After `toNew(button)` it goes to the
 * first entry that was not there before.
 * @returns {[{ current: any }, (button: HTMLElement) => void]}
 */
export function useKeptFocus() {
  const room = useRef(null);
  const wish = useRef(null);
  const opener = useRef(null);
  const modal = Boolean(room.current?.contains(document.activeElement) && document.activeElement.closest("dialog"));
  // Before anything is drawn anew. Under a dialog it is what opened it, for that may go meanwhile.
  const was = modal ? opener.current : holder(room.current);
  opener.current = was;
  useLayoutEffect(() => {
    if (!room.current) return;
    const now = document.activeElement;
    if (wish.current) {
      const { button, seen, old } = wish.current;
      const fresh = namesOf(room.current).find((one) => !old.has(one.dataset.entry));
      const free = now === document.body || now === button;
      if (fresh || !free) wish.current = null;
      if (fresh && free) {
        fresh.tabIndex = -1;
        fresh.focus({ preventScroll: !seen });
        return;
      }
    }
    if (!was || ((modal || was.one.isConnected) && now !== document.body)) return;
    const next = was.one.isConnected ? was.one : successor(room.current, was);
    next?.focus({ preventScroll: !was.seen });
  });
  const toNew = (button) => {
    wish.current = {
      button, seen: button.matches(":focus-visible"),
      old: new Set(namesOf(room.current).map((one) => one.dataset.entry))
    };
  };
  return [room, toNew];
}

/** Asks for what comes next in a list. Not disabled while it does: that would drop the focus. */
export function More({ busy = false, toNew, onMore, children }) {
  const press = (event) => {
    if (busy) return;
    toNew(event.currentTarget);
    onMore();
  };
  return html`
    <button type="button" class="plain onward" aria-disabled=${busy ? "true" : undefined} onClick=${press}>
      ${busy ? "Loading …" : children}
    </button>`;
}
