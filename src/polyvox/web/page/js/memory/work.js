// @ts-check
// The work behind memory, told only where it matters: something failed, waits, or is being read.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { notifyFailure } from "../dialog.js";
import { html, useCallback, useEffect, useRef, useState } from "../ui.js";
import { plural } from "../words.js";
import { moment, refresh } from "./state.js";

const POLL = 2500;
const LONGEST = 86400000; // longer than this nobody looks on
const SHOWN = 3;
const OURS = {
  ingest: "save a session", judge: "save a message", extract: "take notes of a session",
  summarise: "summarize a session", daily: "summarize a day", embed: "index by meaning",
  scrub: "wipe forgotten text from the files",
};

/** What a job does, and of which day. */
function doing({ kind, subject }) {
  const day = kind === "daily" && /"(\d{4}-\d\d-\d\d)"\]$/.exec(subject);
  return day ? `summarize ${day[1]}` : OURS[kind] ?? kind;
}

/** Jobs of memory by what there is to say of them; those that wait for their time say nothing, unless a
 * try went wrong. */
export function sorted(jobs, now) {
  const ours = jobs.filter(({ kind }) => kind in OURS);
  const later = ours.filter((one) => one.state === "pending" && one.due_at > now);
  return {
    failed: ours.filter(({ state }) => state === "failed"),
    waiting: later.filter(({ failure }) => failure),
    busy: ours.filter((one) => one.state === "running" || (one.state === "pending" && !later.includes(one))),
    next: Math.min(...later.map((one) => (one.due_at - now) / 1000)), // milliseconds
  };
}

/** What is to be done now; looked at again while something is. What is done is news. */
function useWork() {
  const [work, setWork] = useState(null);
  const [failure, setFailure] = useState(null);
  const before = useRef([]);
  const look = useCallback(async () => {
    try {
      const { items, now: at } = await api.get("/api/jobs?limit=200");
      const found = sorted(items, at);
      const now = [...found.failed, ...found.waiting, ...found.busy].map(({ id }) => id);
      if (before.current.some((id) => !now.includes(id))) refresh(); // done, however fast
      before.current = now;
      setWork(found);
      setFailure(null);
    } catch (error) {
      setFailure(error);
    }
  }, []);
  useEffect(() => { look(); }, []);
  const next = !work ? Infinity : work.busy.length ? POLL : work.next;
  useCurrent(look, next <= LONGEST ? Math.max(next, POLL) : 0);
  return [work, failure, look];
}

function Job({ job, onRetry }) {
  const name = doing(job);
  const later = job.state === "pending"
    && ` Next try at ${moment(new Date(job.due_at / 1000).toISOString())}.`;
  const model = /\bmodels?\b/.test(job.failure ?? "");
  return html`
    <li>
      <p>
        Could not ${name}: ${job.failure || "no reason is known."}
        ${later}
        ${model && html` <a href="/settings#models">Settings → Models</a>`}
      </p>
      <button type="button" class="quiet" aria-label=${`Retry: ${name}`} onClick=${() => onRetry([job])}>
        Retry
      </button>
    </li>`;
}

/** A line for each piece of work that waits for somebody, and one press for all of them. */
function Stuck({ jobs, onRetry }) {
  if (!jobs.length) return null;
  const more = jobs.length - SHOWN;
  return html`
    <div class="remark">
      <ul>${jobs.slice(0, SHOWN).map((job) => html`<${Job} key=${job.id} job=${job} onRetry=${onRetry} />`)}</ul>
      <p class="soft">
        ${more > 0 && `${plural(more, "more task")} failed too. `}
        ${jobs.some(({ kind }) => kind !== "scrub") && "Nothing you said is lost; notes are missing until it works."}
      </p>
      ${jobs.length > 1 && html`
        <button type="button" class="quiet" onClick=${() => onRetry(jobs)}>Retry all ${jobs.length}</button>`}
    </div>`;
}

export function Work() {
  const [work, failure, look] = useWork();
  const retry = async (jobs) => {
    for (const { id } of jobs) {
      try {
        await api.post(`/api/jobs/${encodeURIComponent(id)}/retry`);
      } catch (error) {
        notifyFailure(error);
      }
    }
    await look();
  };
  if (failure) {
    return html`<p class="undone soft">Cannot tell whether work is under way: ${failure.message}</p>`;
  }
  if (!work) return null;
  const { failed, waiting, busy } = work;
  return html`
    <div class="undone">
      <${Stuck} jobs=${[...failed, ...waiting]} onRetry=${retry} />
      <p class="soft" role="status">
        ${busy.length > 0 ? `Still taking notes: ${plural(busy.length, "task")} to go.` : ""}
      </p>
    </div>`;
}
