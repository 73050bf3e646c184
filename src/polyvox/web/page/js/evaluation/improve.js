// @ts-check
// Before a prompt is improved: which assertions count, how long it may take and what it may cost.
import { api } from "../api.js";
import { notify } from "../dialog.js";
import { errorOf, Field, NumberField, useForm } from "../form.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { pref } from "../prefs.js";
import { go, route } from "../router.js";
import { html, useEffect, useState } from "../ui.js";
import { money, number, plural } from "../words.js";
import { usePhases } from "./assertion.js";

const PAUSE = 300;

/** What it would take, asked for anew when a choice changes. */
function useEstimate(body, again) {
  const [state, setState] = useState({ plan: null, failure: null });
  const asked = JSON.stringify(body);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.post("/api/optimizations/estimate", body, { signal: stop.signal }).then(
        (plan) => setState({ plan, failure: null }),
        (failure) => failure.name !== "AbortError" && setState({ plan: null, failure }),
      );
    }, PAUSE);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [asked, again]);
  return state;
}

/** What the comparison at the end can show, and a way to make it show more. */
function Visible({ plan, ids, onAdded }) {
  const { add, message } = plan.visible;
  const { busy, failure, submit } = useForm(async () => {
    const body = { count: add, ...(ids.length ? { assertion_ids: ids } : {}) };
    const { added } = await api.post(`/api/advisors/${plan.advisor_id}/assertions/contexts`, body);
    notify(`${plural(added, "context")} added.`);
    onAdded();
  });
  return html`
    <p class="remark">
      ${message}
      ${add > 0 && html` <button type="button" class="inline" disabled=${busy} onClick=${submit}>
        Add contexts from other conversations
      </button>`}
    </p>
    ${failure && html`<${Failed} failure=${failure} />`}`;
}

function Cost({ plan }) {
  const { estimate } = plan;
  const cents = (usd) => (usd === null ? "price unknown" : usd === 0 ? "nothing" : money(usd));
  return html`
    <dl class="estimate">
      ${plan.recipe && html`
        <div><dt>Recipe</dt><dd>${plan.recipe}; what changes there holds for all its advisors</dd></div>`}
      <div><dt>Calls</dt><dd>at most ${number(estimate.most_calls)}</dd></div>
      <div>
        <dt>Cost</dt>
        <dd>${estimate.most_cost === null ? cents(null) : `at most ${cents(estimate.most_cost)}`}</dd>
      </div>
      <div><dt>Judge</dt><dd>${plan.judge || "checks in code only"}</dd></div>
      <div><dt>Rewrites by</dt><dd>${plan.optimizer}</dd></div>
      <div>
        <dt>Guarded by</dt>
        <dd>
          ${plan.guards ? `${plural(plan.guards, "further assertion")} that must not get worse` : "nothing further"}
        </dd>
      </div>
      ${plan.holdouts > 0 && html`
        <div><dt>Held back</dt><dd>${plural(plan.holdouts, "assertion")} that whoever rewrites never sees</dd></div>`}
    </dl>
    ${plan.warnings.map((warning) => html`<p class="remark" key=${warning}>${warning}</p>`)}`;
}

export function ImprovePage({ slug }) {
  const [advisor, lost] = useLoaded(() => api.get(`/api/advisors/${encodeURIComponent(slug)}`), [slug]);
  const ids = (route.value.query.get("ids") ?? "").split(",").filter(Boolean);
  const [iterations, setIterations] = useState(10);
  const budget = pref("evaluation.budget", null);
  const [target, setTarget] = useState("prompt");
  const phases = usePhases();
  usePlace(advisor ? `Improving ${advisor.name}` : "Improving", "Assertions");
  const body = {
    advisor_id: slug, ...(ids.length ? { assertion_ids: ids } : {}), target, iterations: iterations || 10,
    ...(budget.value ? { budget: budget.value } : {})
  };
  const [added, setAdded] = useState(0);
  const estimate = useEstimate(body, added);
  const { busy, failure, submit } = useForm(async () => {
    const begun = await api.post("/api/optimizations", body);
    go(`/assertions/${slug}/improve/${begun.id}`);
  });
  if (!advisor) {
    return html`
      <div class="room">${lost ? html`<${Failed} failure=${lost} />` : html`<${Waiting}>Fetching …<//>`}</div>`;
  }
  const trouble = failure ?? estimate.failure;
  return html`
    <div class="room assertions">
      <header>
        <p><a class="back" href=${`/assertions/${slug}`}>How ${advisor.name} should answer</a></p>
        <h1>Improve how ${advisor.name} answers</h1>
        <p>
          A model reads why answers fail and proposes the smallest change to the prompt. Each proposal is tried in
          every context your assertions come from. Before you are asked to accept anything, the best one and your own
          prompt are tried afresh and compared, so that luck does not pass for progress.
        </p>
      </header>
      <form class="improving" onSubmit=${submit}>
        <${Field} label="What is improved" wrong=${errorOf(trouble, "target")}>
          ${(attributes) => html`
            <select ...${attributes} value=${target} onChange=${(event) => setTarget(event.currentTarget.value)}>
              <option value="prompt">The prompt of ${advisor.name}</option>
              ${phases.map((name) => html`
                <option key=${name} value=${`phase:${name}`}>The phase ${name} of its recipe</option>`)}
            </select>`}
        <//>
        <${NumberField} label="Proposals at most" value=${iterations} min=${1} max=${100} onChange=${setIterations}
          wrong=${errorOf(trouble, "iterations")} />
        <${NumberField} label="Spend at most, in dollars" value=${budget.value} min=${0} step=${0.1}
          onChange=${(usd) => { budget.value = usd; }} wrong=${errorOf(trouble, "budget")}
          hint="It stops before it would spend more. Left empty: as in the settings." />
        <div class="wide" aria-live="polite">
          ${estimate.plan && html`
            <${Cost} plan=${estimate.plan} />
            <${Visible} plan=${estimate.plan} ids=${ids} onAdded=${() => setAdded(added + 1)} />`}
          ${!estimate.plan && !estimate.failure && html`<${Waiting}>Reckoning what it takes …<//>`}
          ${trouble
            && !["iterations", "budget", "target"].some((field) => errorOf(trouble, field)) && html`
              <${Failed} failure=${trouble} />`}
        </div>
        <div class="row wide">
          <button type="submit" class="solid" disabled=${busy || !estimate.plan}>
            Start${estimate.plan ? ` with ${plural(estimate.plan.assertions, "assertion")}` : ""}
          </button>
          <a class="plain" href=${`/assertions/${slug}`}>Not now</a>
        </div>
      </form>
    </div>`;
}
