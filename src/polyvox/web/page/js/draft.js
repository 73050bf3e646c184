// @ts-check
// Edits that are not saved yet: kept in this browser with every keystroke, field by field, each
// with the value it was made from. So leaving loses nothing, saving sends only what was changed,
// and a change that somebody else made meanwhile is noticed.
import { confirm } from "./dialog.js";
import { pref } from "./prefs.js";
import { html, useEffect, useRef } from "./ui.js";

/** Whether two plain values say the same, whatever the order of their keys. */
export function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
}

/**
 * The draft of one thing (`draft.advisor.ID`) over what is saved of it:
 * `now` is the thing as it would be saved, `fields` the names of what differs, `meanwhile(field)`
 * what the server has now if that is not what the edit began from.
 */
export function draftOf(name, saved) {
  const kept = pref(`draft.${name}`, {});
  const fields = Object.keys(kept.value).filter((field) => !same(kept.value[field].mine, saved[field]));
  const mine = Object.fromEntries(fields.map((field) => [field, kept.value[field].mine]));
  const without = (gone) => {
    kept.value = Object.fromEntries(Object.entries(kept.value).filter(([field]) => !gone.includes(field)));
  };
  return {
    now: { ...saved, ...mine },
    fields,
    mine,
    set(field, value) {
      if (same(value, saved[field])) return without([field]);
      const was = field in kept.value ? kept.value[field].was : saved[field];
      kept.value = { ...kept.value, [field]: { mine: value, was: was === undefined ? null : was } };
      return undefined;
    },
    meanwhile: (field) => fields.includes(field) && !same(kept.value[field].was, saved[field] ?? null),
    /** The value that an edit began from. */
    was: (field) => kept.value[field]?.was,
    forget: (gone = Object.keys(kept.value)) => without(gone),
    /** Forgets what was sent; what was typed since then stays. */
    sent: (values) => without(Object.keys(values).filter((field) => same(kept.value[field]?.mine, values[field]))),
  };
}

/** When the bar goes, the focus that was on it returns to the field that was last edited. */
function useLastFocus(shown) {
  const last = useRef(null);
  useEffect(() => {
    const note = ({ target }) => { if (target.form && !target.closest(".savebar")) last.current = target; };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, []);
  useEffect(() => {
    if (!shown && document.activeElement === document.body && last.current?.isConnected) {
      last.current.focus({ preventScroll: true });
    }
  }, [shown]);
}

/** Says what is not saved, and saves or discards it. Stays in sight while there is something. */
export function SaveBar({ names, failure, busy, onDiscard }) {
  useLastFocus(names.length > 0);
  if (!names.length) return null;
  const discard = async () => {
    const detail = `Not saved yet: ${names.join(", ")}.`;
    if (await confirm("Discard these changes?", { detail, yes: "Discard", no: "Keep them" })) onDiscard();
  };
  return html`
    <div class="savebar" role="region" aria-label="Unsaved changes">
      ${failure && html`<p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
      <p>
        <b>Not saved yet:</b> ${names.join(", ")}. <span class="soft">Kept in this browser, also when you leave.</span>
      </p>
      <div class="row">
        <button type="button" class="plain" onClick=${discard}>Discard</button>
        <button type="submit" class="solid" disabled=${busy}>${busy ? "Saving …" : "Save"}</button>
      </div>
    </div>`;
}
