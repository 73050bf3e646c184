// @ts-check
// What this person likes, kept in this browser and shared with its other tabs.
import { effect, signal } from "./ui.js";

const known = new Map();

/** A signal that is kept under a name; what was kept and cannot be read counts as not kept. */
export function pref(name, otherwise) {
  if (known.has(name)) return known.get(name);
  const key = `polyvox.${name}`;
  const kept = signal(read(key, otherwise));
  known.set(name, kept);
  effect(() => {
    const text = JSON.stringify(kept.value);
    if (localStorage.getItem(key) === text) return;
    if (localStorage.getItem(key) === null && text === JSON.stringify(otherwise)) return;
    try { localStorage.setItem(key, text); } catch { /* a full or forbidden storage: this tab remembers */ }
  });
  window.addEventListener("storage", (event) => {
    if (event.key === key) kept.value = read(key, otherwise);
  });
  return kept;
}

function read(key, otherwise) {
  try {
    const text = localStorage.getItem(key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** "auto", "light" or "dark". */
export const theme = pref("theme", "auto");
/** Whether Enter sends (and Shift+Enter breaks the line) or the other way round. */
export const enterSends = pref("enter", true);
/** How answers stand on a phone: "row" to swipe through, or one "column". */
export const onPhone = pref("phone", "row");

export function applyTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = theme.value === "auto" ? (dark.matches ? "dark" : "light") : theme.value;
  };
  dark.addEventListener("change", apply);
  effect(apply);
}
