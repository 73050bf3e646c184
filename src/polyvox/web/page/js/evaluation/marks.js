// Which answers have assertions drawn from them, and how the newest verdicts on them stand. A card
// shows a mark, never a count.
import { api } from "../api.js";
import { lazy } from "../load.js";
import { addCommand } from "../shortcuts.js";
import { html, signal, useEffect } from "../ui.js";

const asserted = signal(new Set());
const stands = signal(new Map()); // answer id → "pass" | "fail" | "error"
const badges = signal(false); // whether every new answer is judged
const AGAIN = 1500;

/** Learn it for the answers of a conversation. The marks are not worth a notice when they fail. */
export async function loadAsserted(conversation) {
  const found = await api.get(`/api/conversations/${conversation}/asserted`).catch(() => null);
  if (!found) return;
  asserted.value = new Set([...asserted.peek(), ...found.answers]);
  badges.value = found.badges;
}

export function noteAsserted(id, any) {
  const next = new Set(asserted.peek());
  if (any) next.add(id);
  else next.delete(id);
  asserted.value = next;
}

export function noteStanding(id, outcome) {
  const next = new Map(stands.peek());
  if (outcome) next.set(id, outcome);
  else next.delete(id);
  stands.value = next;
}

/** Where every answer is judged: what came of this one, as soon as it is there. Only cards near the
 * screen exist, so this asks for what is looked at. */
function useBadge(id, ended) {
  const wanted = badges.value && ended;
  useEffect(() => {
    if (!wanted || stands.peek().has(id)) return undefined;
    let timer = null;
    let over = false;
    const look = async () => {
      const said = await api.get(`/api/answers/${id}/verdicts`).catch(() => null);
      if (over || !said) return;
      noteStanding(id, said.outcome);
      if (said.state === "pending") timer = setTimeout(look, AGAIN);
    };
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [id, wanted]);
}

const MARKS = { pass: ["✓", "All its assertions hold"], fail: ["✗", "Not all its assertions hold"], error: ["!", "Its assertions could not all be judged"] };

/** Beside the name: there are assertions on this answer, or how they stand. */
export function AssertedMark({ id, ended }) {
  useBadge(id, ended);
  const standing = stands.value.get(id);
  if (!standing && !asserted.value.has(id)) return null;
  const [sign, says] = MARKS[standing] ?? ["§", "There are assertions on this answer"];
  return html`<span class="asserted" data-stands=${standing} role="img" aria-label=${says} title=${says}>${sign}</span>`;
}

// Select words in an answer, and a small button offers to make an assertion of them.
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

// Where the dialog for assertions opens, whoever asked for it: a card, a selection, the reader.
const Assert = lazy(import.meta.resolve("./assert.js"), "Assert");

/** The palette offers it for the answers of the newest turn. */
function useCommands(live) {
  const newest = (live.turns.value.at(-1)?.answers.value ?? []).filter((one) => one.data.value.current && !one.running && one.said.text.peek());
  useEffect(() => {
    const group = "This conversation";
    const taken = newest.map((one) => addCommand({ id: `assert.${one.id}`, name: `Assert how ${one.data.peek().name} should answer`, verb: "assert", group, run: () => wantAssertions(one.id) }));
    return () => taken.forEach((take) => take());
  }, [newest.map((one) => one.id).join()]);
}

export function Asserting({ live }) {
  useCommands(live);
  useEffect(() => {
    loadAsserted(live.id);
    return () => { wanted.value = null; };
  }, [live]);
  const asked = wanted.value;
  const answer = asked && live.byAnswer.get(asked.answer);
  return html`
    <${SelectionButton} />
    ${answer && html`<${Assert} key=${answer.id} answer=${answer} passage=${asked.text} onClose=${() => { wanted.value = null; }} />`}`;
}
