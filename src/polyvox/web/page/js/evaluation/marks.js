// @ts-check
// Which answers have assertions drawn from them, and how the newest verdicts on them stand. A card
// shows a mark, never a count.
import { api } from "../api.js";
import { OFTEN, useEvery } from "../current.js";
import { lazy } from "../load.js";
import { addCommand } from "../shortcuts.js";
import { html, signal, useCallback, useEffect, useState } from "../ui.js";

const asserted = signal(new Set());
const outcomes = signal(new Map()); // answer id → "pass" | "fail" | "error"
const badges = signal(false); // whether every new answer is judged

/** Learn it for the answers of a conversation. The marks are not worth a notice when they fail. */
async function loadAsserted(conversation) {
  const marks = await api.get(`/api/conversations/${conversation}/asserted`).catch(() => null);
  if (!marks) return;
  asserted.value = new Set([...asserted.peek(), ...marks.answers]);
  badges.value = marks.badges;
}

export function markAsserted(id, any) {
  const next = new Set(asserted.peek());
  if (any) next.add(id);
  else next.delete(id);
  asserted.value = next;
}

export function markOutcome(id, outcome) {
  const next = new Map(outcomes.peek());
  if (outcome) next.set(id, outcome);
  else next.delete(id);
  outcomes.value = next;
}

/** Where every answer is judged: what came of this one, as soon as it is there. Only cards near the
 * screen exist, so this asks for what is looked at. */
function useBadge(id, ended) {
  const wanted = badges.value && ended;
  const [pending, setPending] = useState(false);
  const look = useCallback(async () => {
    const standing = await api.get(`/api/answers/${id}/verdicts`).catch(() => null);
    if (!standing) return;
    markOutcome(id, standing.outcome);
    setPending(standing.state === "pending");
  }, [id]);
  useEffect(() => { if (wanted && !outcomes.peek().has(id)) look(); }, [id, wanted]);
  useEvery(look, wanted && pending ? OFTEN : 0);
}

const MARKS = {
  pass: ["✓", "All its assertions hold"], fail: ["✗", "Not all its assertions hold"],
  error: ["!", "Its assertions could not all be judged"]
};

/** Beside the name: there are assertions on this answer, or how they stand. */
export function AssertedMark({ id, ended }) {
  useBadge(id, ended);
  const standing = outcomes.value.get(id);
  if (!standing && !asserted.value.has(id)) return null;
  const [sign, says] = MARKS[standing] ?? ["§", "There are assertions on this answer"];
  return html`
    <span class="asserted" data-stands=${standing} role="img" aria-label=${says} title=${says}>${sign}</span>`;
}

// Select words in an answer, and a small button offers to make an assertion of them.
/** What is selected inside an answer: `{answer, text, x, y}`, or null. */
const selected = signal(null);
/** The answer whose dialog is to be open, `{answer, text}`: the text is a passage of it. */
export const assertionTarget = signal(null);

export const openAssertions = (id, text = "") => { assertionTarget.value = { answer: id, text }; };

const LONGEST = 600;
const finger = window.matchMedia("(pointer: coarse)");

const plain = (text) => text.replace(/\s+/g, " ").trim();
const squeezed = (text) => text.replace(/\s+/g, "");

function readSelection() {
  const selection = document.getSelection();
  const text = plain(selection?.toString() ?? "");
  const range = text && selection.rangeCount ? selection.getRangeAt(0) : null;
  const start = range?.startContainer;
  const element = start instanceof Element ? start : start?.parentElement;
  const at = element?.closest("[data-answer] .prose");
  const card = /** @type {HTMLElement} */ (at?.closest("[data-answer]"));
  // Three clicks select a paragraph up to the beginning of what follows, which may be elsewhere.
  const within = at && (at.contains(range.endContainer) || squeezed(at.textContent).includes(squeezed(text)));
  if (!within) { selected.value = null; return; }
  const box = range.getBoundingClientRect();
  selected.value = {
    answer: card.dataset.answer, text: text.slice(0, LONGEST), x: box.left + box.width / 2,
    y: box.bottom
  };
}

/** `inside` a dialog, or on the page itself, where it stays away while a dialog is open. */
export function SelectionButton({ inside = false }) {
  useEffect(() => {
    const away = () => { if (selected.peek()) selected.value = null; };
    document.addEventListener("selectionchange", readSelection);
    document.addEventListener("scroll", away, { capture: true, passive: true });
    document.addEventListener("scrollend", readSelection, { capture: true });
    return () => {
      document.removeEventListener("selectionchange", readSelection);
      document.removeEventListener("scroll", away, { capture: true });
      document.removeEventListener("scrollend", readSelection, { capture: true });
    };
  }, []);
  const selection = selected.value;
  if (!selection || (!inside && document.querySelector("dialog[open]"))) return null;
  const act = () => {
    openAssertions(selection.answer, selection.text);
    selected.value = null;
    document.getSelection()?.removeAllRanges();
  };
  const x = Math.min(Math.max(selection.x, 80), window.innerWidth - 80);
  // below the handles that a finger drags
  const y = Math.max(8, Math.min(selection.y + (finger.matches ? 30 : 8), window.innerHeight - 54));
  // A press must not take the selection away before it is read; the mouse events that follow a
  // touch would land on the dialog that opens.
  const touched = (event) => { event.preventDefault(); act(); };
  return html`
    <button type="button" class="from-selection" style=${{ left: `${x}px`, top: `${y}px` }}
      onMouseDown=${(event) => event.preventDefault()} onTouchEnd=${touched} onClick=${act}>
      Make an assertion
    </button>`;
}

// Where the dialog for assertions opens, whoever asked for it: a card, a selection, the reader.
const Assert = lazy(import.meta.resolve("./assert.js"), "Assert");

/** The palette offers it for the answers of the newest turn. */
function useCommands(live) {
  const newest = (live.turns.value.at(-1)?.answers.value
    ?? []).filter((answer) => answer.data.value.current && !answer.running
    && answer.said.text.peek());
  useEffect(() => {
    const group = "This conversation";
    const taken = newest.map((answer) => addCommand({
      id: `assert.${answer.id}`, name: `Assert how ${answer.data.peek().name} should answer`, verb: "assert", group,
      run: () => openAssertions(answer.id)
    }));
    return () => taken.forEach((take) => take());
  }, [newest.map((answer) => answer.id).join()]);
}

export function AssertionDialog({ live }) {
  useCommands(live);
  useEffect(() => {
    loadAsserted(live.id);
    return () => { assertionTarget.value = null; };
  }, [live]);
  const asked = assertionTarget.value;
  const answer = asked && live.byAnswer.get(asked.answer);
  return html`
    <${SelectionButton} />
    ${answer && html`
      <${Assert} key=${answer.id} answer=${answer} passage=${asked.text}
        onClose=${() => { assertionTarget.value = null; }} />`}`;
}
