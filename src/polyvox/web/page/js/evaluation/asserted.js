// Which answers have assertions drawn from them, and how the newest verdicts on them stand. A card
// shows a mark, never a count.
import { api } from "../api.js";
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
