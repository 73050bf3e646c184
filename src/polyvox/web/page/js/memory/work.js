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
  ingest: "taking a session in", judge: "taking a turn in", extract: "noting what a session says",
  summarise: "summing a session up",
  daily: "looking back on a day", embed: "reading for what words mean",
  scrub: "wiping what was forgotten from the files",
};

/** What a job does, and of which day. */
function doing({ kind, subject }) {
  const day = kind === "daily" && /"(\d{4}-\d\d-\d\d)"\]$/.exec(subject);
  return day ? `looking back on ${day[1]}` : OURS[kind] ?? kind;
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
    && ` It is tried again at ${moment(new Date(job.due_at / 1000).toISOString())}.`;
  const model = /\bmodels?\b/.test(job.failure ?? "");
  return html`
    <li>
      <p>
        ${name[0].toUpperCase() + name.slice(1)} ${job.state === "failed"
          ? "failed"
          : "did not go well"}: ${job.failure || "no reason was kept."}
        ${later}
        ${model && html` <a href="/settings#models">Settings → Models</a>`}
      </p>
      <button type="button" class="quiet" aria-label=${`Try again now: ${name}`} onClick=${() => onRetry([job])}>
        Try again now
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
        ${more > 0 && `${plural(more, "other piece")} of work went the same way. `}
        ${jobs.some(({ kind }) => kind !== "scrub")
          && "Nothing you said is lost; what it would have found is missing here until then."}
      </p>
      ${jobs.length > 1 && html`
        <button type="button" class="quiet" onClick=${() => onRetry(jobs)}>Try all ${jobs.length} again</button>`}
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
    return html`<p class="undone soft">Whether anything is still being read cannot be told: ${failure.message}</p>`;
  }
  if (!work) return null;
  const { failed, waiting, busy } = work;
  return html`
    <div class="undone">
      <${Stuck} jobs=${[...failed, ...waiting]} onRetry=${retry} />
      <p class="soft" role="status">
        ${busy.length > 0 ? `Still reading what was said: ${plural(busy.length, "piece")} of work to go.` : ""}
      </p>
    </div>`;
}
