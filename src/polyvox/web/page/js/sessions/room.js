// @ts-check
// The sessions' room: stretches of talk, how each ended, and what became of it.
import { api } from "../api.js";
import { OFTEN, useCurrent } from "../current.js";
import { companionRecipes, learnRecipes } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { html, useState } from "../ui.js";
import { byDay, shorten, plural, timeRange } from "../words.js";
import { SessionPage } from "./session.js";
import { Outcome, unsettled, useEnding, whyEnded, Work } from "./work.js";

const PAGE = 50;

export default function Sessions({ parts }) {
  return parts.length ? html`<${SessionPage} key=${parts[0]} id=${parts[0]} />` : html`<${Every} />`;
}

/** The newest `count` sessions, and whether there are more: one beyond them is asked for, too. */
async function load(count) {
  const [work, sessions] =
    await Promise.all([api.get("/api/jobs?limit=200"), api.get(`/api/sessions?limit=${PAGE + 1}`)]);
  for (let full = sessions.length > PAGE; full && sessions.length <= count;) {
    const page = await api.get(`/api/sessions?limit=${PAGE}&after=${encodeURIComponent(sessions.at(-1).id)}`);
    sessions.push(...page);
    full = page.length === PAGE;
  }
  await learnRecipes(sessions.map(({ recipe }) => recipe));
  return { work, sessions: sessions.slice(0, count), more: sessions.length > count };
}

function Row({ session, jobs, again }) {
  const ended = session.ended_at;
  const [end, beside] = useEnding(session, again);
  return html`
    <li>
      <time class="num" datetime=${new Date(session.started_at / 1000).toISOString()}>${timeRange(session)}</time>
      <div class="what">
        <h3>
          <a href=${`/sessions/${session.id}`} ref=${beside} dir="auto">${session.title || "Untitled"}</a>
          ${companionRecipes.value.has(session.recipe) && html` <span class="label">companion</span>`}
        </h3>
        ${session.first && html`<p class="began" dir="auto">${shorten(session.first, 110)}</p>`}
        <p class="soft">${plural(session.messages, "message")} · ${whyEnded(session)}</p>
      </div>
      <div class="became">
        ${ended ? html`<${Outcome} session=${session} jobs=${jobs} again=${again} />`
        : html`
          <button type="button" class="quiet" aria-label=${`End the session in ${session.title || "Untitled"}`}
            onClick=${end}>
            End it now
          </button>`}
      </div>
    </li>`;
}

function Days({ sessions, jobs, again }) {
  return byDay(sessions, (session) => session.started_at).map(([name, list]) => html`
    <section key=${name}><h2>${name}</h2>
      <ul class="stretches">
        ${list.map((session) => html`
          <${Row} key=${session.id} session=${session} jobs=${jobs.filter((job) => job.session_id === session.id)}
            again=${again} />`)}
      </ul>
    </section>`);
}

function Others({ jobs, again }) {
  const failed = jobs.filter((job) => job.session_id === null && job.state === "failed");
  return failed.length > 0 && html`
    <section><h2>Other work that failed</h2><${Work} jobs=${failed} again=${again} /></section>`;
}

function Every() {
  usePlace("Sessions");
  const [count, setCount] = useState(PAGE);
  const [state, failure, again] = useLoaded(() => load(count), [count]);
  const working = Boolean(state) && unsettled(state.work.items.filter((job) => job.session_id));
  useCurrent(again, working ? OFTEN : 0);
  return html`
    <div class="room sessions">
      <header><h1>Sessions</h1>
        <p>
          A session is a stretch of talk in a conversation. It ends when you say so, or when you have been silent for
          a while; then it is kept, read and summarised in the background. <a
            href="/memory">
            What is remembered
          </a>
        </p>
        </header>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!state && !failure && html`<${Waiting}>Fetching the sessions …<//>`}
      ${state && !state.sessions.length && html`
        <div class="nobody">
          <p>There are no sessions yet. The first message of a conversation opens one.</p>
          <p><a href="/">Begin a conversation</a></p>
        </div>`}
      ${state && html`
        <${Others} jobs=${state.work.items} again=${again} />
        <${Days} sessions=${state.sessions} jobs=${state.work.items} again=${again} />`}
      ${state?.more && html`
        <p>
          <button type="button" class="quiet" onClick=${() => setCount(state.sessions.length + PAGE)}>
            Older sessions
          </button>
        </p>`}
    </div>`;
}
