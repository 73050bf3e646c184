// What memory has of a session: its summary, and the facts and open ends that were taken from it.
import { api } from "../api.js";
import { Failed, useLoaded } from "../load.js";
import { html } from "../ui.js";
import { few } from "../words.js";
import { Long } from "./memory-state.js";

const DAYS = 3; // a session ends on one of these, whatever the zones of its two ends
const PAGES = 20;
const DAY = 86_400_000;
const EVERY = ["open", "needs_review", "stale", "done", "dropped"].map((one) => `status=${one}`).join("&");

const from = (id) => ({ evidence }) => evidence.some(({ sessionId }) => sessionId === id);

async function summaryOf({ id, ended_at: at }) {
  const after = new Date(at / 1000 + 2 * DAY).toISOString().slice(0, 10);
  const { items } = await api.get(`/api/memory/days?limit=${DAYS}&before=${after}`);
  return items.flatMap(({ summaries }) => summaries).find(({ sessionId }) => sessionId === id)?.text ?? "";
}

/** Facts come pinned ones first, then the newest: those of a session end where it began. */
async function factsOf({ id, started_at: at }) {
  const found = [];
  let after = "";
  for (let page = 0; page < PAGES; page++) {
    const { items, next } = await api.get(`/api/memory/items?limit=100${after && `&after=${encodeURIComponent(after)}`}`);
    const facts = items.map(({ fact }) => fact).filter(Boolean);
    found.push(...facts.filter(from(id)));
    const last = facts.at(-1);
    if (!next || (last && !last.pinned && Date.parse(last.saidAt) * 1000 < at - DAY * 1000)) break;
    after = next;
  }
  return found;
}

async function load(session) {
  const [summary, facts, loops] = await Promise.all([summaryOf(session), factsOf(session), api.get(`/api/memory/loops?${EVERY}`)]);
  return { summary, facts, loops: loops.filter(from(session.id)) };
}

const loopPath = ({ status }) => (["done", "dropped"].includes(status) ? `/memory/open-loops?only=${status}` : "/memory/open-loops");

function Group({ title, list, path }) {
  return list.length > 0 && html`
    <section><h3>${title}</h3>
      <ul class="noted-list">${list.map((one) => html`<li key=${one.id}><a class="quote" href=${path(one)} dir="auto">${few(one.text, 200)}</a></li>`)}</ul></section>`;
}

/** `done` is what makes it look again: how much of the work is done. */
export function Noted({ session, done }) {
  const [found, failure, again] = useLoaded(() => load(session), [session.id, session.ended_at, done]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!found) return null;
  return html`
    <div class="noted-of">
      ${found.summary && html`<p class="quote summed" dir="auto"><${Long} text=${found.summary} /></p>`}
      <${Group} title="Facts" list=${found.facts} path=${(one) => `/memory?q=${encodeURIComponent(few(one.text, 80))}`} />
      <${Group} title="Open ends" list=${found.loops} path=${loopPath} />
    </div>`;
}
