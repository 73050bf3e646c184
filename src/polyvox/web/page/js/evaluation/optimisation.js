// @ts-check
// One optimisation: live while it goes; then the verdict in words, the change to the prompt, and
// what became of each assertion.
import { api } from "../api.js";
import { confirm, notify, notifyFailure } from "../dialog.js";
import { counted, diff, Difference } from "../diff.js";
import { loadAdvisors } from "../lists.js";
import { Failed, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { Prose } from "../scribe.js";
import { html, useMemo, useState } from "../ui.js";
import { money, plural, stamp } from "../words.js";
import { Interval, percent } from "./rates.js";
import { Progress } from "./run.js";
import { UNDER_WAY, useRun } from "./verdicts.js";

const STAGES = {
  "": "Getting ready", baseline: "Trying the prompt as it is", search: "Looking for a better one",
  confirmation: "Trying the best one and yours afresh"
};
const VERDICTS = {
  improved: "Better", "not distinguishable": "No difference that can be told from luck", regressed: "Worse"
};
const ENDS = { cancelled: "Cancelled", failed: "It could not go on", spent: "The money was spent" };

/** "p = 0.04" stays on one line. */
const whole = (text) => text.replace(/ ([<=]) /g, "\u00a0$1\u00a0");

const spentText = (run) =>
  (run.cost === null
    ? plural(run.calls, "call")
    : `${money(run.cost)}${run.budget !== null ? ` of ${money(run.budget)}` : ""}`);

function LiveProgress({ run, busy, onCancel }) {
  const base = run.base_rate === null ? "" : `, as it was ${percent(run.base_rate)}`;
  const best = run.best_rate === null ? "" : ` · best so far ${percent(run.best_rate)}${base}`;
  return html`
    <${Progress} done=${run.iteration} total=${run.iterations} busy=${busy} onCancel=${onCancel}
      says=${`${STAGES[run.stage] ?? run.stage} · ${run.iteration}/${run.iterations}${best} · ${spentText(run)}`} />`;
}

/** What is being improved, as a thing one can point at. */
const targetName = (run) =>
  (run.target === "prompt"
    ? "the prompt"
    : `the phase ${run.target.replace("phase:", "")} of the recipe ${run.recipe}`);

function Changes({ run }) {
  const { original_prompt: before, final_prompt: after } = run;
  const parts = useMemo(() => diff(before, after), [before, after]);
  const { added, removed } = counted(parts);
  return html`
    <h2>What changed in ${targetName(run)}</h2>
    <p class="tally">${plural(added, "word")} added, ${removed} removed.</p>
    <${Difference} parts=${parts} />`;
}

const trialCount = (cell) =>
  (cell && cell.passes + cell.fails > 0 ? `${cell.passes} of ${cell.passes + cell.fails}` : "not run");

function Cell({ cell, name }) {
  return html`
    <td role="cell" data-name=${name}>
      <span class="num">${trialCount(cell)}</span>
      ${cell && cell.passes + cell.fails > 0 && html`
        <${Interval} rate=${cell.rate} low=${cell.low} high=${cell.high} />`}
      ${cell?.errors > 0 && html`<span class="stamp">${plural(cell.errors, "error")}</span>`}
    </td>`;
}

function Samples({ result }) {
  return html`
    <div class="samples">
      <section aria-label="Before">
        <h3>Before</h3>
        ${result.answer_before
          ? html`<${Prose} text=${result.answer_before} />`
          : html`<p class="soft">No answer was kept.</p>`}
      </section>
      <section aria-label="After">
        <h3>After</h3>
        ${result.answer_after
          ? html`<${Prose} text=${result.answer_after} />`
          : html`<p class="soft">No answer was kept.</p>`}
      </section>
    </div>`;
}

function Results({ results }) {
  const [open, setOpen] = useState(null);
  if (!results.length) return null;
  return html`
    <h2>Assertion by assertion</h2>
    <div class="wide-table"><table class="set before-after" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader">Assertion</th>
          <th role="columnheader">Before</th>
          <th role="columnheader">After</th>
          <th role="columnheader"><span class="aside">Answers</span></th>
        </tr>
      </thead>
      <tbody role="rowgroup">${results.map((result, at) => html`
        <tr role="row" key=${`${result.assertion_id} ${result.context_hash}`}>
          <td role="cell">
            ${result.text}
            ${result.guard && html` <span class="stamp">guard</span>`}
            ${result.holdout && html` <span class="stamp">held back</span>`}
            ${result.copied && html` <span class="stamp">copied from the assertion</span>`}
          </td>
          <${Cell} name="Before" cell=${result.before} /><${Cell} name="After" cell=${result.after} />
          <td role="cell">
            <button type="button" class="quiet" aria-expanded=${open === at}
              aria-label=${`Answers side by side: ${result.text}`} onClick=${() => setOpen(open === at ? null : at)}>
              ${open === at ? "Less" : "Answers"}
            </button>
          </td>
        </tr>
        ${open === at && html`
          <tr role="row" key=${`${result.assertion_id} ${result.context_hash} samples`}>
            <td role="cell" colspan="4"><${Samples} result=${result} /></td>
          </tr>`}`)}
        </tbody>
    </table></div>`;
}

const ATTEMPTS = {
  proposed: "being tried", scored: "tried in full", hopeless: "given up early", guarded: "broke something else",
  refused: "not taken"
};

function Attempts({ attempts }) {
  if (attempts.length < 2) return null;
  return html`
    <details class="more"><summary>${plural(attempts.length - 1, "proposal")}</summary>
      <ol class="editions">
        ${attempts.filter((attempt) => attempt.number > 0)
          .map((attempt) => html`
            <li key=${attempt.number}>
              <b>${attempt.number}</b> <span class="stamp">
                from ${attempt.parent === 0 ? "your prompt" : attempt.parent}
              </span> ${ATTEMPTS[attempt.state] ?? attempt.state}
              ${attempt.rate !== null && `, ${percent(attempt.rate)}`}
              ${attempt.note && html` <span class="soft">${attempt.note}</span>`}
              ${attempt.text && html`
                <details><summary>Its text</summary><pre class="raw">${attempt.text}</pre></details>`}
            </li>`)}
      </ol>
    </details>`;
}

function Decision({ run, busy, onAct }) {
  if (UNDER_WAY.has(run.state)) return null;
  if (run.decision === "accepted") {
    return html`
      <p class="remark">
        Accepted: it is in force. <button type="button" class="inline" disabled=${busy}
          onClick=${() => onAct("rollback", { force: false }, "Your earlier text is back.")}>
          Roll it back
        </button>
      </p>`;
  }
  if (run.decision) {
    return html`
      <p class="remark">
        ${run.decision === "rejected" ? "You kept yours." : "Rolled back: your earlier text is in force."}
      </p>`;
  }
  if (run.final_prompt === null || run.final_prompt === undefined) return null;
  const force = async () => {
    if (await confirm("Accept it although nothing shows that it is better?", {
      detail: run.message, yes: "Accept anyway", no: "Keep mine"
    })) {
      onAct("accept", { force: true }, "It is in force.");
    }
  };
  return html`
    <div class="row decide">
      ${run.acceptable
        ? html`
          <button type="button" class="solid" disabled=${busy}
            onClick=${() => onAct(
              "accept", { force: false },
              run.target === "prompt" ? "It is in force, as a new version." : "It is in force in the recipe."
            )}>
            Accept the new ${run.target === "prompt" ? "prompt" : "text"}
          </button>`
        : html`<button type="button" class="plain" disabled=${busy} onClick=${force}>Accept anyway …</button>`}
      <button type="button" class=${run.acceptable ? "plain" : "solid"} disabled=${busy}
        onClick=${() => onAct("reject", undefined, "Yours stays as it is.")}>
        Keep mine
      </button>
    </div>`;
}

export function OptimisationPage({ slug, id }) {
  const [begun, setBegun] = useState(null);
  const [run, failure, setRun] = useRun(`/api/optimizations/${id}`, begun);
  const [busy, setBusy] = useState(false);
  usePlace("Improving", "Assertions");
  const take = async (verb, body, done) => {
    setBegun(await api.post(`/api/optimizations/${id}/${verb}`, body));
    setRun(await api.get(`/api/optimizations/${id}`));
    await loadAdvisors().catch(() => {});
    if (done) notify(done);
  };
  const act = async (verb, body, done) => {
    setBusy(true);
    try {
      await take(verb, body, done).catch(async (error) => {
        // Where the text was changed since, whoever presses decides.
        if (error.status !== 409 || body?.force !== false) throw error;
        if (await confirm(error.message, { detail: error.hint, yes: "Do it anyway", no: "Leave it" })) {
          await take(verb, { force: true }, done);
        }
      });
    } catch (error) {
      notifyFailure(error);
    }
    setBusy(false);
  };
  if (!run) {
    return html`
      <div class="room">${failure ? html`<${Failed} failure=${failure} />` : html`<${Waiting}>Fetching …<//>`}</div>`;
  }
  const going = UNDER_WAY.has(run.state);
  const heading = going ? `Improving ${run.advisor_name} …` : VERDICTS[run.verdict] ?? ENDS[run.state] ?? "Ended";
  return html`
    <div class="room assertions">
      <header>
        <p><a class="back" href=${`/assertions/${slug}`}>How ${run.advisor_name} should answer</a></p>
        <h1>${heading}</h1>
        <p class="aside" role="status">${going ? STAGES[run.stage] ?? run.stage : heading}</p>
        <p class="stamp">
          ${stamp(run.created_at)} · ${spentText(run)}
          ${run.judge ? ` · judged by ${run.judge}` : ""}
          ${run.optimizer ? ` · rewritten by ${run.optimizer}` : ""}
        </p>
      </header>
      ${failure && html`<${Failed} failure=${failure} />`}
      ${run.warnings.map((warning) => html`<p class="remark" key=${warning}>${warning}</p>`)}
      ${going && html`<${LiveProgress} run=${run} busy=${busy} onCancel=${() => act("cancel")} />`}
      ${run.message && html`<p class="verdict-words" role="status">${whole(run.message)}</p>`}
      ${(run.state === "failed" || run.state === "spent") && html`
        <div class="row">
          <button type="button" class="plain" disabled=${busy}
            onClick=${() => act(
              "resume", run.state === "spent" && run.budget !== null ? { budget: run.budget * 2 } : {}
            )}>
            ${run.state === "spent" && run.budget !== null ? `Go on with ${money(run.budget * 2)}` : "Go on"}
          </button>
        </div>`}
      <${Decision} run=${run} busy=${busy} onAct=${act} />
      ${run.final_prompt && run.final_prompt !== run.original_prompt && html`<${Changes} run=${run} />`}
      <${Results} results=${run.results ?? []} />
      <${Attempts} attempts=${run.attempts ?? []} />
    </div>`;
}
