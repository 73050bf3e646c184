// @ts-check
// What becomes of a session when it has ended: kept, read for facts, summarised; each can fail and be tried again.
import { api } from "../api.js";
import { announceChange } from "../current.js";
import { notify, notifyFailure } from "../dialog.js";
import { html, useEffect, useRef } from "../ui.js";
import { clockTime, plural } from "../words.js";

const KINDS = {
  ingest: ["Kept", "The words of the session, so that they can be found again."],
  extract: ["Facts and open ends", "What it says about you, each with the words it comes from."],
  summarise: ["A summary", "The session in a few sentences."],
  embed: ["Found by meaning", "Its words are made ready to be found by what they mean."],
  daily: ["A look at the day", "The themes of a day, when it is over."],
};
const ORDER = Object.keys(KINDS);
const STATES = { pending: "waiting", running: "under way", done: "done", failed: "failed" };

const workName = (kind) => KINDS[kind]?.[0] ?? kind;
const inOrder = (jobs) =>
  [...jobs].sort((a, b) => (ORDER.indexOf(a.kind) + 1 || 99) - (ORDER.indexOf(b.kind) + 1 || 99));
export const unsettled = (jobs) => jobs.some(({ state }) => state === "pending" || state === "running");

/** Whether somebody may want it tried again now: it failed, or waits after a try that did. */
const stuck = ({ state, failure }) => state === "failed" || (state === "pending" && Boolean(failure));

/** Try a failed piece of work again, and look how it goes. */
async function retryWork(job, again) {
  try {
    await api.post(`/api/jobs/${encodeURIComponent(job.id)}/retry`);
    notify("It is tried again.");
  } catch (error) {
    notifyFailure(error);
  }
  await again();
}

/** End a session that goes on; `done` is called when that is known. */
async function endSession(id, done) {
  try {
    await api.post(`/api/sessions/${id}/end`);
    announceChange("session", id);
    notify("The session has ended. Your next message there begins a new one.");
  } catch (error) {
    notifyFailure(error); // it may have ended meanwhile: what is there now is shown
  }
  await done();
}

export const whyEnded = ({ ended_at: at, ended_by: by }) =>
  (at === null ? "still going on" : by === "idle" ? "ended when you had been silent for a while" : "ended by you");

/** `[end, beside]`: ends a session at a press; `beside` is what has the focus when the button that was
 * pressed is gone. */
export function useEnding(session, again) {
  const beside = useRef(null);
  const pressed = useRef(false);
  const over = session.ended_at !== null;
  useEffect(() => {
    if (over && pressed.current) beside.current?.focus({ preventScroll: true });
    pressed.current = false;
  }, [over]);
  return [() => { pressed.current = true; return endSession(session.id, again); }, beside];
}

export function Retry({ job, again }) {
  return html`
    <button type="button" class="quiet" aria-label=${`Try again: ${workName(job.kind)}`}
      onClick=${() => retryWork(job, again)}>
      Try again
    </button>`;
}

/** How it stands with a session, in one line; `jobs` are those that are not done. */
export function Outcome({ session, jobs, again }) {
  if (session.ended_at === null) return html`<span class="soft">not ended yet</span>`;
  const wrong = jobs.filter(stuck);
  if (wrong.length) {
    return wrong.map((job) => html`
      <span key=${job.id} class="wrong-work">
        <b>
          ${workName(job.kind)}: ${job.state === "failed" ? "failed." : "not yet."}
        </b> ${job.failure} <${Retry} job=${job} again=${again} />
      </span>`);
  }
  if (unsettled(jobs)) {
    return html`
      <span class="soft">
        ${inOrder(jobs).map(({ kind, state }) => `${workName(kind).toLowerCase()} ${STATES[state]}`).join(", ")}
      </span>`;
  }
  return html`<span class="kept">remembered</span>`;
}

function Step({ job, again }) {
  const [name, about] = KINDS[job.kind] ?? [job.kind, ""];
  const later = job.state === "pending" && job.due_at > Date.now() * 1000;
  return html`
    <li data-state=${job.state}>
      <div>
        <b>${name}</b> <span class=${job.state === "failed" ? "wrong" : job.state === "done" ? "kept" : "soft"}>
          ${STATES[job.state]}${later ? `, next try at ${clockTime(job.due_at)}` : ""}
        </span>
        ${job.attempts > 1 && html`<span class="num"> ${plural(job.attempts, "try", "tries")}</span>`}</div>
      <p class="soft">${about}</p>
      ${job.failure && job.state !== "done" && html`<p class="err">${job.failure}</p>`}
      ${stuck(job) && html`<div class="tools"><${Retry} job=${job} again=${again} /></div>`}
    </li>`;
}

export function Work({ jobs, again }) {
  return html`
    <ol class="work">${inOrder(jobs).map((job) => html`<${Step} key=${job.id} job=${job} again=${again} />`)}</ol>`;
}
