// Where the focus goes when what has it moves, gets another name, or is no more.
import { html, useLayoutEffect, useRef } from "../ui.js";

const namesOf = (room) => [...room.querySelectorAll("[data-entry]")];

/** What has the focus in `room`, told so that it can be found again. */
function holder(room) {
  const one = document.activeElement;
  if (!one || !room?.contains(one) || one.closest("dialog")) return null;
  const entry = one.closest("[data-entry]");
  const place = one.closest("[data-place]");
  return {
    one,
    entry: entry?.dataset.entry,
    place: place?.dataset.place,
    at: place && entry ? namesOf(place).indexOf(entry) : -1,
    tool: one.closest("[data-tool]")?.dataset.tool,
    seen: one.matches(":focus-visible") || Boolean(one.closest("form")),
  };
}

/** The same tool of the same entry; else of the one that stands there now; else what is nearest. */
function successor(room, was) {
  const place = was.place && [...room.querySelectorAll("[data-place]")].find((one) => one.dataset.place === was.place);
  const there = place ? namesOf(place) : [];
  const toolOf = (entry) => entry?.querySelector(`button[data-tool="${was.tool}"]`) ?? entry?.querySelector("button[data-tool]");
  return toolOf(namesOf(room).find((one) => one.dataset.entry === was.entry)) ?? toolOf(there[was.at])
    ?? place?.querySelector('button[data-tool="add"]') ?? toolOf(there.at(-1)) ?? room.querySelector(".count, [role=status][tabindex]");
}

/**
 * `[room, toNew]`: the focus stays with what has it in `room`, wherever that is drawn. Who looks at
 * it is taken along; who only pressed it goes on reading. After `toNew(button)` it goes to the
 * first entry that was not there before.
 */
export function useKeptFocus() {
  const room = useRef(null);
  const wish = useRef(null);
  const was = holder(room.current); // before anything is drawn anew
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
    if (!was || (was.one.isConnected && now !== document.body)) return;
    const next = was.one.isConnected ? was.one : successor(room.current, was);
    next?.focus({ preventScroll: !was.seen });
  });
  const toNew = (button) => {
    wish.current = { button, seen: button.matches(":focus-visible"), old: new Set(namesOf(room.current).map((one) => one.dataset.entry)) };
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
  return html`<button type="button" class="plain onward" aria-disabled=${busy ? "true" : undefined} onClick=${press}>${busy ? "Reading on …" : children}</button>`;
}
