// @ts-check
// The advisors in their order. They are moved by buttons, by the handle's arrow keys, or by
// dragging the handle; all three end in the same request.
import { api } from "../api.js";
import { confirm, notify, notifyFailure } from "../dialog.js";
import { moved, Switch } from "../form.js";
import { advisors, colorOf, loadAdvisors, PALETTE } from "../lists.js";
import { go } from "../router.js";
import { html, useLayoutEffect, useRef, useState } from "../ui.js";
import { monogram } from "../words.js";

/** The first sentence of what an advisor is: one line about it. */
function oneLine(advisor) {
  const text = (advisor.description || advisor.prompt || "").replace(/\s+/g, " ").trim();
  return text.match(/^.{12,}?[.!?…](?=\s|$)/u)?.[0] || text;
}

/** Its first letter in its colour; `color` shows one that is not saved yet. */
export const Seal = ({ advisor, color }) => html`
  <span class="seal" data-c style=${{ "--c": color || colorOf(advisor.id) }} aria-hidden="true">
    ${monogram(advisor.name || "?")}
  </span>`;

/** Shows the new order at once; where the server does not take it, the true one returns. */
async function order(ids) {
  const known = new Map(advisors.value.map((advisor) => [advisor.id, advisor]));
  advisors.value = ids.map((id) => known.get(id));
  try {
    advisors.value = await api.post("/api/advisors/order", { advisors: ids });
  } catch (failure) {
    notifyFailure(failure);
    await loadAdvisors().catch(() => {});
  }
}

async function activate(advisor, active) {
  try {
    const saved = await api.patch(`/api/advisors/${advisor.id}`, { active });
    advisors.value = advisors.value.map((advisor) => (advisor.id === saved.id ? saved : advisor));
  } catch (failure) {
    notifyFailure(failure);
    await loadAdvisors().catch(() => {});
  }
}

export function AdvisorList({ list, onDuplicate, onRemove }) {
  const box = useRef(null);
  const held = useRef(null);
  const [news, setNews] = useState("");
  // Moving a row takes the focus off the button in it: give it back, so one can press it again.
  useLayoutEffect(() => {
    if (held.current?.isConnected) held.current.focus({ preventScroll: false });
    held.current = null;
  }, [list]);
  const move = (from, to, button = null) => {
    if (to < 0 || to >= list.length || to === from) return;
    held.current = button;
    setNews(`${list[from].name} is now ${to + 1} of ${list.length}.`);
    order(moved(list, from, to).map((advisor) => advisor.id));
  };
  const drag = useDragging(box, move);
  return html`
    <ol class="voices" ref=${box}>
      ${list.map((advisor, at) => html`
        <${AdvisorRow} key=${advisor.id} advisor=${advisor} at=${at} count=${list.length} drag=${drag} move=${move}
          onDuplicate=${onDuplicate} onRemove=${onRemove} />`)}
    </ol>
    <p class="aside" role="status" aria-live="polite">${news}</p>`;
}

function AdvisorRow({ advisor, at, count, drag, move, onDuplicate, onRemove }) {
  const keys = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(at, at + step, event.currentTarget);
  };
  const line = drag.to === at ? (drag.from < at ? " after" : drag.from > at ? " before" : "") : "";
  return html`
    <li class=${`voice${advisor.active ? "" : " off"}${drag.from === at ? " held" : ""}${line}`}
      data-advisor=${advisor.slug}>
      <button type="button" class="handle" aria-label=${`Move ${advisor.name}: drag, or use the arrow keys`}
        onKeyDown=${keys}
        onPointerDown=${(event) => drag.start(event, at)}><span aria-hidden="true">⠿</span></button>
      <${Seal} advisor=${advisor} />
      <div class="says">
        <h3><a href=${`/advisors/${advisor.slug}`}>${advisor.name}</a></h3>
        <p>${oneLine(advisor)}</p>
      </div>
      <span class="stamp model">${advisor.model || "default model"}</span>
      <${Switch} label=${`${advisor.name} answers`} hidden on=${advisor.active}
        onChange=${(on) => activate(advisor, on)} />
      <div class="tools">
        <button type="button" disabled=${at === 0} aria-label=${`Move ${advisor.name} up`}
          onClick=${(event) => move(at, at - 1, event.currentTarget)}>
          Up
        </button>
        <button type="button" disabled=${at === count - 1} aria-label=${`Move ${advisor.name} down`}
          onClick=${(event) => move(at, at + 1, event.currentTarget)}>
          Down
        </button>
        <a href=${`/advisors/${advisor.slug}`} aria-label=${`Edit ${advisor.name}`}>Edit</a>
        <button type="button" aria-label=${`Duplicate ${advisor.name}`} onClick=${() => onDuplicate(advisor)}>
          Duplicate
        </button>
        <button type="button" aria-label=${`Remove ${advisor.name}`} onClick=${() => onRemove(advisor)}>Remove</button>
      </div>
    </li>`;
}

// What can be done to an advisor from its row as well as from its page.
/** Asks, then removes; answers whether it did. */
export async function removeAdvisor(advisor) {
  const detail = "It is not asked any more and leaves every council. The answers it gave stay where they are.";
  if (!(await confirm(`Remove ${advisor.name}?`, { detail, yes: "Remove" }))) return false;
  try {
    await api.del(`/api/advisors/${advisor.id}`);
    await loadAdvisors();
  } catch (failure) {
    notifyFailure(failure);
    return false;
  }
  notify(`${advisor.name} is removed. Its answers stay.`);
  return true;
}

/** A copy with everything but the history, right behind the original, switched off; opens it. */
export async function duplicateAdvisor({ id, name, description, prompt, model, color, voice, params }) {
  try {
    const copy = { description, prompt, model, color, voice, params, active: false };
    const made = await api.post("/api/advisors", { ...copy, name: `${name.slice(0, 113)} (copy)` });
    const order = (await loadAdvisors()).map((advisor) => advisor.id).filter((other) => other !== made.id);
    order.splice(order.indexOf(id) + 1, 0, made.id);
    advisors.value = await api.post("/api/advisors/order", { advisors: order });
    notify(`${made.name} is made. It answers once you switch it on.`);
    go(`/advisors/${made.slug}`);
  } catch (failure) {
    notifyFailure(failure);
  }
}

/** The colour that fewest advisors have. */
export function freshColor() {
  const used = (color) => advisors.value.filter((advisor) => advisor.color.toLowerCase() === color).length;
  return [...PALETTE].sort((a, b) => used(a) - used(b))[0];
}

// Dragging a row of a list to another place, by mouse, pen or finger. Nothing moves while it is
// dragged: a line shows where it would go. Escape leaves everything as it was.
const EDGE = 70;

/** The index that a pointer at this height stands for. */
function place(rows, y) {
  const at = rows.findIndex((row) => y < row.getBoundingClientRect().bottom);
  return at < 0 ? rows.length - 1 : at;
}

/** `{from, to, start(event, index)}`; `drop(from, to)` is called when it is let go elsewhere. */
function useDragging(list, drop) {
  const [now, setNow] = useState({ from: -1, to: -1 });
  const dropped = useRef(drop);
  dropped.current = drop;
  const start = (event, from) => {
    if (event.button) return;
    const handle = event.currentTarget;
    const rows = [...list.current.children];
    let to = from;
    handle.setPointerCapture(event.pointerId);
    const follow = ({ clientY }) => {
      if (clientY < EDGE) window.scrollBy(0, -12);
      else if (clientY > window.innerHeight - EDGE) window.scrollBy(0, 12);
      to = place(rows, clientY);
      setNow({ from, to });
    };
    const end = (done) => {
      handle.removeEventListener("pointermove", follow);
      handle.removeEventListener("pointerup", release);
      handle.removeEventListener("pointercancel", leave);
      document.removeEventListener("keydown", escape, true);
      setNow({ from: -1, to: -1 });
      if (done && to !== from) dropped.current(from, to);
    };
    const release = () => end(true);
    const leave = () => end(false);
    const escape = (pressed) => {
      if (pressed.key !== "Escape") return;
      pressed.stopPropagation();
      leave();
    };
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("pointerup", release);
    handle.addEventListener("pointercancel", leave);
    document.addEventListener("keydown", escape, true);
  };
  return { ...now, start };
}
