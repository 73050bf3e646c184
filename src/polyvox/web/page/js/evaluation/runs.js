// @ts-check
// What has been run and improved so far; what is under way is followed, whoever began it.
import { api } from "../api.js";
import { OFTEN, useCurrent } from "../current.js";
import { NumberField, useForm } from "../form.js";
import { Failed, useLoaded } from "../load.js";
import { pref } from "../prefs.js";
import { go } from "../router.js";
import { html, useState } from "../ui.js";
import { money, number, stamp } from "../words.js";
import { UNDER_WAY } from "./verdicts.js";

const PAGE = 10;
const STATES = {
  waiting: "waiting", running: "under way", cancelled: "cancelled", failed: "it could not go on",
  spent: "the money was spent"
};
const VERDICTS = { improved: "better", "not distinguishable": "no difference", regressed: "worse" };
const DECIDED = { accepted: "accepted", rejected: "kept yours", "rolled back": "rolled back" };

/** The newest of a kind, more of them when asked, anew while one of them is under way. */
function useNewest(path) {
  const [many, setMany] = useState(PAGE);
  const [page, failure, again] = useLoaded(() => api.get(`${path}&limit=${many}`), [path, many]);
  const going = page?.items.some((run) => UNDER_WAY.has(run.state));
  useCurrent(again, going ? OFTEN : 0);
  return {
    items: page?.items ?? [], failure, again,
    onMore: page?.next && many < 200 ? () => setMany(Math.min(200, many * 3)) : null
  };
}

function Listed({ title, list, children }) {
  if (list.failure) return html`<${Failed} failure=${list.failure} again=${list.again} />`;
  if (!list.items.length) return null;
  return html`
    <h2>${title}</h2>
    <ul class="runs" aria-label=${title}>${list.items.map(children)}</ul>
    ${list.onMore && html`<button type="button" class="quiet" onClick=${list.onMore}>Earlier ones</button>`}`;
}

const describeRun = (run) =>
  (UNDER_WAY.has(run.state) && run.total
    ? `${STATES[run.state]}, ${run.done} of ${run.total}`
    : STATES[run.state] ?? (run.summary ? describeSummary(run.summary) : run.state));
const describeOptimisation = (run) =>
  [
    run.verdict ? VERDICTS[run.verdict] : STATES[run.state] ?? "nothing to decide", DECIDED[run.decision],
    UNDER_WAY.has(run.state) && `${run.iteration}/${run.iterations}`
  ].filter(Boolean)
    .join(" · ");

export function RunList({ advisor }) {
  const runs = useNewest(`/api/evaluations?advisor=${encodeURIComponent(advisor.id)}`);
  const improved = useNewest(`/api/optimizations?advisor=${encodeURIComponent(advisor.id)}`);
  const base = `/assertions/${advisor.slug}`;
  return html`
    <${Listed} title="Improving its prompt" list=${improved}>
      ${(optimisation) => html`
        <li key=${optimisation.id}>
          <time class="stamp">${stamp(optimisation.created_at)}</time> <a href=${`${base}/improve/${optimisation.id}`}>
            ${describeOptimisation(optimisation)}
          </a> <span class="stamp">
            ${optimisation.target !== "prompt" ? `${optimisation.target.replace(":", " ")} ` : ""}
            ${optimisation.cost !== null ? money(optimisation.cost) : ""}
          </span>
        </li>`}
    <//>
    <${Listed} title="Runs" list=${runs}>
      ${(run) => html`
        <li key=${run.id}>
          <time class="stamp">${stamp(run.created_at)}</time> <a href=${`${base}/runs/${run.id}`}>
            ${describeRun(run)}
          </a>
          ${run.blessed && html` <span class="mark now">the measure</span>`} <span class="stamp">
            ${run.mode === "judge" ? "one answer" : ""}
          </span>
        </li>`}
    <//>`;
}

// Having assertions tried: how often, and then the run itself on a page of its own.
const repeat = pref("evaluation.repeat", 1);

/** "3 of 5 hold, 2 do not; 1 wavers", in words for a list. */
export function describeSummary({ passed, failed, errors, total, flaky }) {
  const parts = [`${passed} of ${total} hold`];
  if (failed) parts.push(`${failed} ${failed === 1 ? "does" : "do"} not`);
  if (errors) parts.push(`${errors} could not be judged`);
  return parts.join(", ") + (flaky ? `; ${flaky} ${flaky === 1 ? "wavers" : "waver"}` : "");
}

export function StartRun({ advisor, chosen }) {
  const { busy, failure, submit } = useForm(async () => {
    const begun = await api.post("/api/evaluations", {
      advisor_id: advisor.id, assertion_ids: chosen, mode: "replay", repeat: repeat.value || 1
    });
    go(`/assertions/${advisor.slug}/runs/${begun.id}`);
  });
  return html`
    <form class="run-them" onSubmit=${submit} aria-label="Run">
      <div class="row">
        <button type="submit" class="solid" disabled=${busy || !chosen.length}>
          Run ${number(chosen.length)}<span class="if-wide"> ${chosen.length === 1 ? "assertion" : "assertions"}</span>
        </button>
        <${NumberField} label="Times each" value=${repeat.value} min=${1} max=${50}
          onChange=${(n) => { repeat.value = n; }} />
        <a class="plain" href=${`/assertions/${advisor.slug}/improve?ids=${chosen.join(",")}`}
          aria-disabled=${!chosen.length}>
          Improve<span class="if-wide"> the prompt</span> …
        </a>
      </div>
      ${failure && html`<${Failed} failure=${failure} />`}
    </form>
    <p class="soft run-how">
      ${advisor.name} answers anew, each time in the very context that an assertion comes from, and a judge reads the
      answers. Models vary: three times each shows what wavers.
    </p>`;
}
