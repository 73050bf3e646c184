// @ts-check
// One run: its progress while it goes, then what holds, how surely, and why.
import { api } from "../api.js";
import { notifyFailure } from "../dialog.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { Prose } from "../scribe.js";
import { html, useState } from "../ui.js";
import { money, plural, stamp } from "../words.js";
import { Interval, percent } from "./rates.js";
import { describeSummary } from "./runs.js";
import { Outcome, UNDER_WAY, useRun, Verdict } from "./verdicts.js";

/** How far it is, with a way to stop it. */
export function Progress({ done, total, says, onCancel, busy }) {
  return html`
    <div class="progress">
      <p>${says}</p>
      <progress value=${done} max=${Math.max(1, total)} aria-label="Progress"></progress>
      ${onCancel && html`<button type="button" class="plain" disabled=${busy} onClick=${onCancel}>Cancel</button>`}
    </div>`;
}

/** How far, in steps that are worth being read aloud. */
const quarters = ({ done, total }) => Math.floor((4 * done) / Math.max(1, total)) * 25;

/** Everything that was said about one assertion, each with the answer it is about. */
function Reasons({ verdicts, judge, onChange }) {
  return html`
    <ul class="verdicts">${verdicts.map((verdict) => html`
      <${Verdict} key=${verdict.id} verdict=${verdict} named=${false} signed=${verdict.judge !== judge}
        onChange=${onChange}>
        ${verdict.sample_text && html`
          <details class="with-answer">
            <summary>What it answered</summary><${Prose} text=${verdict.sample_text} />
          </details>`}
      <//>`)}</ul>`;
}

function Result({ result, verdicts, judge, onChange }) {
  const [open, setOpen] = useState(false);
  const tries = result.passes + result.fails;
  return html`
    <li class="result">
      <p class="says">${result.text}</p>
      <div class="found">
        ${result.judged
          ? html`
            <${Outcome} outcome=${result.flaky ? "flaky" : result.outcome}
              words=${result.flaky ? "wavers" : undefined} />`
          : html`<span class="outcome">not run</span>`}
        <${Interval} rate=${tries ? result.rate : null} low=${result.low} high=${result.high} />
        <span class="num">
          ${tries ? `${result.passes} of ${tries}` : "–"}
          ${result.errors > 0 ? ` · ${plural(result.errors, "error")}` : ""}
        </span>
        <div class="tools">
          <button type="button" aria-expanded=${open} aria-label=${`Reasons: ${result.text}`}
            onClick=${() => setOpen(!open)}>
            ${open ? "Less" : "Why"}
          </button>
        </div>
      </div>
      ${open && html`<${Reasons} verdicts=${verdicts} judge=${judge} onChange=${onChange} />`}
    </li>`;
}

const ENDED = { cancelled: "Cancelled", failed: "It could not go on" };
const CHANGES = {
  fixed: "holds now", broken: "held before, and does not now", new: "is new", gone: "was not run",
  unclear: "cannot be compared"
};

/** What became of each assertion since the run that is the measure, where another one is. */
async function compareWithBaseline(run) {
  const { points } = await api.get(`/api/advisors/${run.advisor_id}/passrates`);
  const measure = points.findLast((point) => point.blessed);
  return measure && measure.evaluation_id !== run.id
    ? api.get(`/api/evaluations/${run.id}/compare?with=${measure.evaluation_id}`)
    : null;
}

function Compared({ run }) {
  const [comparison, failure, again] = useLoaded(() => compareWithBaseline(run), [run.id, run.state, run.blessed]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!comparison) return null;
  const changed = comparison.changes.filter((change) => change.change !== "same");
  return html`
    <h2>Against the measure</h2>
    ${!changed.length && html`<p class="soft">The same as then, assertion for assertion.</p>`}
    <ul class="compared">
      ${changed.map((change) => html`
        <li key=${change.assertion_id} class=${change.change}>
          <b>${change.text}</b> ${CHANGES[change.change] ?? change.change}
          ${change.edited ? "; its words have changed since" : ""}.
        </li>`)}
    </ul>`;
}

export function RunPage({ slug, id }) {
  const [begun, setBegun] = useState(null);
  const [run, failure, setRun] = useRun(`/api/evaluations/${id}`, begun);
  usePlace("A run", "Assertions");
  const [busy, setBusy] = useState(false);
  const act = (verb, body) => async () => {
    setBusy(true);
    try {
      setBegun(await api.post(`/api/evaluations/${id}/${verb}`, body));
      setRun(await api.get(`/api/evaluations/${id}`));
    } catch (error) {
      notifyFailure(error);
    }
    setBusy(false);
  };
  const overruled = async (now) => {
    setRun({ ...run, verdicts: run.verdicts.map((verdict) => (verdict.id === now.id ? now : verdict)) });
    setRun(await api.get(`/api/evaluations/${id}`));
  };
  if (!run) {
    return html`
      <div class="room">
        ${failure ? html`<${Failed} failure=${failure} />` : html`<${Waiting}>Fetching the run …<//>`}
      </div>`;
  }
  const going = UNDER_WAY.has(run.state);
  const { summary } = run;
  const heading = going
    ? "Being tried …"
    : run.state === "finished" ? describeSummary(summary) : ENDED[run.state] ?? run.state;
  const of = (assertion) => (run.verdicts ?? []).filter((verdict) => verdict.assertion_id === assertion);
  return html`
    <div class="room assertions run">
      <header>
        <p><a class="back" href=${`/assertions/${slug}`}>How ${run.advisor_name} should answer</a></p>
        <h1>${heading}</h1>
        <p class="aside" role="status">${going ? `${quarters(run)} % done` : heading}</p>
        <p class="stamp">
          ${stamp(run.created_at)} · each ${plural(run.repeat, "time")} · ${plural(run.calls, "call")}
          ${run.cost !== null ? ` · ${money(run.cost)}` : ""}
          ${run.judge ? ` · judged by ${run.judge}` : ""}
        </p>
        <div class="tools">
          ${!going && html`
            <button type="button" disabled=${busy} aria-pressed=${run.blessed}
              onClick=${act("bless", { blessed: !run.blessed })}>
              ${run.blessed ? "No longer the measure" : "Make it the measure"}
            </button>`}
          ${!going && summary?.errors > 0 && html`
            <button type="button" disabled=${busy} onClick=${act("retry")}>Try the errors again</button>`}
        </div>
      </header>
      ${failure && html`<${Failed} failure=${failure} />`}
      ${run.warnings.map((warning) => html`<p class="remark" key=${warning}>${warning}</p>`)}
      ${run.message && run.state !== "finished" && html`<p class="remark" role="status">${run.message}</p>`}
      ${going && html`
        <${Progress} done=${run.done} total=${run.total} says=${`${run.done} of ${run.total}`} busy=${busy}
          onCancel=${act("cancel")} />`}
      ${summary && summary.rate !== null && summary.rate !== undefined && !going && html`
        <p class="overall">
          <${Interval} rate=${summary.rate} low=${summary.low} high=${summary.high} /> <span>
            ${percent(summary.rate)} hold. With ${plural(
              summary.total, "assertion"
            )}, that may be anything from ${percent(summary.low)} to ${percent(summary.high)}.
          </span>
        </p>`}
      <ul class="results" aria-label="Results">
        ${(run.results ?? []).map((result) => html`
          <${Result} key=${result.assertion_id} result=${result} judge=${run.judge}
            verdicts=${of(result.assertion_id)} onChange=${overruled} />`)}
      </ul>
      ${run.state === "finished" && run.advisor_id && html`<${Compared} run=${run} />`}
    </div>`;
}
