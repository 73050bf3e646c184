// @ts-check
// One session: what was said in it, why each was answered so, and what became of it.
import { api } from "../api.js";
import { OFTEN, useCurrent, useEvery } from "../current.js";
import { colorOf } from "../lists.js";
import { Failed, lazy, useLoaded, Waiting } from "../load.js";
import { Long } from "../memory/state.js";
import { usePlace } from "../place.js";
import { html, useState } from "../ui.js";
import { shorten, fullDay, clockTime, plural, timeRange } from "../words.js";
import { unsettled, useEnding, whyEnded, Work } from "./work.js";

const Trace = lazy(import.meta.resolve("../conversation/trace.js"), "Trace");
const ALL = ["pending", "running", "done", "failed"].map((state) => `state=${state}`).join("&");
const MOST = 200;

const KINDS = { synthesis: "brought together", exchange: "in response" };
const RUNNING = new Set(["pending", "streaming"]);
const STATES = {
  failed: "failed", stopped: "stopped", interrupted: "interrupted", pending: "waiting", streaming: "writing"
};

async function load(id) {
  const key = encodeURIComponent(id);
  const [session, turns, work] = await Promise.all([
    api.get(`/api/sessions/${key}`), api.get(`/api/sessions/${key}/turns?limit=${MOST}`),
    api.get(`/api/jobs?session=${key}&${ALL}`),
  ]);
  return { session, turns, jobs: work.items };
}

function Answer({ answer, turn, onWhy }) {
  const aside = [KINDS[answer.kind], STATES[answer.state]].filter(Boolean).join(", ");
  return html`
    <li data-c style=${{ "--c": colorOf(answer.advisor_id) }}>
      <span class="name">${answer.name}</span>${aside && html` <span class="soft">${aside}</span>`}
      <button type="button" class="quiet" aria-label=${`Why ${answer.name} answered so`}
        onClick=${() => onWhy({ id: answer.answer_id, turn, name: answer.name, advisor: answer.advisor_id })}>
        why this answer
      </button>
      ${answer.first && html`<p class="began" dir="auto">${shorten(answer.first, 110)}</p>`}
    </li>`;
}

function Turn({ turn, conversation, onWhy }) {
  return html`
    <li>
      <time class="num" datetime=${new Date(turn.said_at / 1000).toISOString()}>${clockTime(turn.said_at)}</time>
      <div>
        <p dir="auto">
          <a class="quote" href=${`/c/${conversation}#turn-${turn.turn_id}`}>${turn.content}${turn.cut ? " …" : ""}</a>
        </p>
        <ul class="heard">
          ${turn.answers.map((answer) => html`
            <${Answer} key=${answer.answer_id} answer=${answer} turn=${turn.turn_id} onWhy=${onWhy} />`)}
        </ul>
      </div>
    </li>`;
}

function When({ session }) {
  return html`
    <p>
      ${fullDay(session.started_at)}, ${timeRange(session)} · ${plural(
        session.messages, "message"
      )} · ${whyEnded(session)}
    </p>`;
}

function Outcome({ session, jobs, again }) {
  if (session.ended_at === null) {
    return html`
      <p class="soft lead">
        Nothing yet: it still goes on. When it has ended, what was said is kept so that it can be found again, then
        read for facts and summed up.
      </p>`;
  }
  if (!jobs.length) return html`<p class="soft lead">Nothing is kept about it any more.</p>`;
  const done = jobs.filter(({ state }) => state === "done").length;
  return html`<${Noted} session=${session} done=${done} /><${Work} jobs=${jobs} again=${again} />`;
}

function Whole({ session, turns, jobs, again }) {
  const [why, setWhy] = useState(null);
  const [end, beside] = useEnding(session, again);
  const answering = turns.some((turn) => turn.answers.some(({ state }) => RUNNING.has(state)));
  useEvery(again, answering || unsettled(jobs) ? OFTEN : 0);
  return html`
    <header>
      <a class="back" href="/sessions">Sessions</a>
      <h1 dir="auto">${session.title || "Untitled"}</h1>
      <${When} session=${session} />
      <div class="row">
        <a class="plain" href=${`/c/${session.conversation_id}`} ref=${beside}>Open the conversation</a>
        ${session.ended_at === null && html`<button type="button" class="plain" onClick=${end}>End it now</button>`}
      </div>
    </header>
    <section><h2>What was said</h2>
      ${session.messages > turns.length && html`
        <p class="soft lead">The last ${plural(turns.length, "message")} of ${session.messages}.</p>`}
      ${turns.length
        ? html`
          <ol class="utterances">
            ${turns.map((turn) => html`
              <${Turn} key=${turn.turn_id} turn=${turn} conversation=${session.conversation_id} onWhy=${setWhy} />`)}
          </ol>`
        : html`<p class="soft lead">Nothing is left of it.</p>`}
    </section>
    <section><h2>What became of it</h2><${Outcome} session=${session} jobs=${jobs} again=${again} /></section>
    ${why && html`<${Trace} key=${why.id} answer=${why} onClose=${() => setWhy(null)} />`}`;
}

export function SessionPage({ id }) {
  const [state, failure, again] = useLoaded(() => load(id), [id]);
  usePlace(...(state?.session.title ? [state.session.title] : []), "Sessions");
  useCurrent(again);
  return html`
    <div class="room sessions one">
      ${!state && html`
        <header>${failure && html`<a class="back" href="/sessions">Sessions</a>`}<h1>A session</h1></header>`}
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!state && !failure && html`<${Waiting}>Fetching the session …<//>`}
      ${state && html`<${Whole} ...${state} again=${again} />`}
    </div>`;
}

// What memory has of a session: its summary, and the facts and open ends that were taken from it.
const DAYS = 3; // a session ends on one of these, whatever the zones of its two ends
const PAGES = 20;
const DAY = 86_400_000;
const EVERY = ["open", "needs_review", "stale", "done", "dropped"].map((status) => `status=${status}`).join("&");

const restsOn = (id) => ({ evidence }) => evidence.some(({ sessionId }) => sessionId === id);

async function summaryOf({ id, ended_at: at }) {
  const after = new Date(at / 1000 + 2 * DAY).toISOString().slice(0, 10);
  const { items } = await api.get(`/api/memory/days?limit=${DAYS}&before=${after}`);
  return items.flatMap(({ summaries }) => summaries).find(({ sessionId }) => sessionId === id)?.text ?? "";
}

/** Facts come pinned ones first, then the newest: those of a session end where it began. */
async function factsOf({ id, started_at: at }) {
  const own = [];
  let after = "";
  for (let page = 0; page < PAGES; page++) {
    const { items, next } =
      await api.get(`/api/memory/items?limit=100${after && `&after=${encodeURIComponent(after)}`}`);
    const facts = items.map(({ fact }) => fact).filter(Boolean);
    own.push(...facts.filter(restsOn(id)));
    const last = facts.at(-1);
    if (!next || (last && !last.pinned && Date.parse(last.saidAt) * 1000 < at - DAY * 1000)) break;
    after = next;
  }
  return own;
}

async function loadNotes(session) {
  const [summary, facts, loops] =
    await Promise.all([summaryOf(session), factsOf(session), api.get(`/api/memory/loops?${EVERY}`)]);
  return { summary, facts, loops: loops.filter(restsOn(session.id)) };
}

const loopPath = ({ status }) =>
  (["done", "dropped"].includes(status) ? `/memory/open-loops?only=${status}` : "/memory/open-loops");

function Group({ title, list, path }) {
  return list.length > 0 && html`
    <section><h3>${title}</h3>
      <ul class="noted-list">
        ${list.map((note) => html`
          <li key=${note.id}><a class="quote" href=${path(note)} dir="auto">${shorten(note.text, 200)}</a></li>`)}
      </ul>
      </section>`;
}

/** `done` is what makes it look again: how much of the work is done. */
export function Noted({ session, done }) {
  const [notes, failure, again] = useLoaded(() => loadNotes(session), [session.id, session.ended_at, done]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!notes) return null;
  return html`
    <div class="noted-of">
      ${notes.summary && html`<p class="quote summed" dir="auto"><${Long} text=${notes.summary} /></p>`}
      <${Group} title="Facts" list=${notes.facts}
        path=${(fact) => `/memory?q=${encodeURIComponent(shorten(fact.text, 80))}`} />
      <${Group} title="Open ends" list=${notes.loops} path=${loopPath} />
    </div>`;
}
