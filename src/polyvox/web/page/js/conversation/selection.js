// Select words in an answer, and a small button offers to make an assertion of them.
import { html, signal, useEffect } from "../ui.js";

/** What is selected inside an answer: `{answer, text, x, y}`, or null. */
const selected = signal(null);
/** The answer whose dialog is to be open, `{answer, text}`: the text is a passage of it. */
export const wanted = signal(null);

export const wantAssertions = (id, text = "") => { wanted.value = { answer: id, text }; };

const LONGEST = 600;
const finger = window.matchMedia("(pointer: coarse)");

const plain = (text) => text.replace(/\s+/g, " ").trim();
const squeezed = (text) => text.replace(/\s+/g, "");

function look() {
  const selection = document.getSelection();
  const text = plain(selection?.toString() ?? "");
  const range = text && selection.rangeCount ? selection.getRangeAt(0) : null;
  const start = range?.startContainer;
  const at = (start?.nodeType === Node.TEXT_NODE ? start.parentElement : start)?.closest?.("[data-answer] .prose");
  // Three clicks select a paragraph up to the beginning of what follows, which may be elsewhere.
  const within = at && (at.contains(range.endContainer) || squeezed(at.textContent).includes(squeezed(text)));
  if (!within) { selected.value = null; return; }
  const box = range.getBoundingClientRect();
  selected.value = { answer: at.closest("[data-answer]").dataset.answer, text: text.slice(0, LONGEST), x: box.left + box.width / 2, y: box.bottom };
}

/** `inside` a dialog, or on the page itself, where it stays away while a dialog is open. */
export function SelectionButton({ inside = false }) {
  useEffect(() => {
    const away = () => { if (selected.peek()) selected.value = null; };
    document.addEventListener("selectionchange", look);
    document.addEventListener("scroll", away, { capture: true, passive: true });
    document.addEventListener("scrollend", look, { capture: true });
    return () => {
      document.removeEventListener("selectionchange", look);
      document.removeEventListener("scroll", away, { capture: true });
      document.removeEventListener("scrollend", look, { capture: true });
    };
  }, []);
  const found = selected.value;
  if (!found || (!inside && document.querySelector("dialog[open]"))) return null;
  const act = () => {
    wantAssertions(found.answer, found.text);
    selected.value = null;
    document.getSelection()?.removeAllRanges();
  };
  const x = Math.min(Math.max(found.x, 80), window.innerWidth - 80);
  const y = Math.max(8, Math.min(found.y + (finger.matches ? 30 : 8), window.innerHeight - 54)); // below the handles that a finger drags
  // A press must not take the selection away before it is read; the mouse events that follow a
  // touch would land on the dialog that opens.
  const touched = (event) => { event.preventDefault(); act(); };
  return html`<button type="button" class="from-selection" style=${{ left: `${x}px`, top: `${y}px` }} onMouseDown=${(event) => event.preventDefault()} onTouchEnd=${touched} onClick=${act}>Make an assertion</button>`;
}
