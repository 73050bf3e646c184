// @ts-check
// Why this answer: what was decided before its model was asked, what it was told, how long it took.
import { api } from "../api.js";
import { OFTEN, useEvery } from "../current.js";
import { Dialog } from "../dialog.js";
import { colorOf } from "../lists.js";
import { Failed, useLoaded } from "../load.js";
import { html } from "../ui.js";
import { number, plural } from "../words.js";
import { blockName, capital, milliseconds, sentence } from "./trace-words.js";
import { RUNNING } from "./turn-state.js";

/** The trace, the texts of its blocks where there is a receipt, and whether the answer still goes on. */
async function read({ id, turn }) {
  const gone = (error) => { if (error.status === 404) return null; throw error; };
  const [answer, trace, receipt] = await Promise.all([
    api.get(`/api/answers/${id}`).catch(gone),
    api.get(`/api/turns/${turn}/trace?answer=${encodeURIComponent(id)}`).catch(gone),
    api.get(`/api/answers/${id}/receipt`).catch(gone),
  ]);
  return {
    trace, going: RUNNING.has(answer?.state), blocks: receipt ? blocksOf(receipt.description.spans) : new Map()
  };
}

/** The text of each block by its name; what memory told has its name as a source, and what stays the same
 * from turn to turn is a persona. */
function blocksOf(spans) {
  const texts = new Map(), stable = [];
  for (const span of spans) if (span.role === "system" && span.included) {
    texts.set(span.kind === "memory" ? span.sources[0] : span.kind, span.text);
    if (span.kind !== "memory") stable.push(span.text);
  }
  return texts.set("persona", stable.join("\n\n"));
}

function Decision({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Recall({ recall, decision, blocks, name }) {
  const text = recall.decision === "found" && blocks.get("supplemental_context");
  return html`
    ${recall.explicit && "You asked it to remember. "}${sentence(decision)}
    ${text && html`
      <p class="label as-told">As ${name} was told</p>
      <pre class="raw" tabindex="0" aria-label=${`What was found, as ${name} was told`}>${text}</pre>`}`;
}

function Reading({ reading }) {
  if (!reading) return null;
  const valueText = (value) =>
    (typeof value === "boolean" ? (value ? "yes" : "no") : String(value).toLowerCase().replaceAll("_", " "));
  return html`
    <details class="numbers"><summary>How it was read</summary>
      <dl class="read">
        ${Object.entries(reading)
          .map(([name, value]) => html`
            <div key=${name}><dt>${name.replaceAll("_", " ")}</dt><dd class="num">${valueText(value)}</dd></div>`)}
      </dl>
    </details>`;
}

function Decisions({ trace, blocks, name }) {
  const run = trace.startbrief_runtime;
  const asked = run.startbrief_fetch !== "none";
  if (!trace.posture && !trace.recall && !asked) {
    return html`
      <p class="soft">
        Nothing had to be decided: it was asked with its recipe's own words, and memory was not used.
      </p>`;
  }
  const decided = Object.fromEntries(trace.words.decisions.map((decision) => [decision.topic, decision]));
  return html`
    <dl class="decided">
      ${asked && html`
        <${Decision} name="From before">${sentence(decided.start)} ${sentence(decided.carried, "It was told")}<//>`}
      ${trace.recall && html`
        <${Decision} name="Looking things up">
          <${Recall} recall=${trace.recall} decision=${decided["looked up"]} blocks=${blocks} name=${name} />
        <//>`}
      ${trace.posture && html`
        <${Decision} name="Your message">${sentence(decided.reading)} <${Reading} reading=${trace.reading} /><//>
        <${Decision} name="Its manner">${sentence(decided.posture, "It")}<//>
        <${Decision} name="A task of its own">${sentence(decided["brings up"])}<//>
        <${Decision} name="What is open">${sentence(decided.threads)}<//>`}
      ${(trace.posture || trace.user_context.length > 0) && html`
        <${Decision} name="About you">${sentence(decided["about you"])}<//>`}
    </dl>`;
}

function Blocks({ names, blocks }) {
  if (!names.length) return html`<p class="soft">Nothing beside the conversation itself.</p>`;
  return html`
    <ol class="told">
      ${names.map((name, i) => {
        const text = blocks.get(name);
        const head = html`<span class="num">${i + 1}</span> <b>${blockName(name)}</b> <code>${name}</code>`;
        return html`
          <li key=${name}>
            ${text
              ? html`
                <details>
                  <summary>${head} <span class="num size">${number(text.length)} characters</span></summary>
                  <pre class="raw" tabindex="0">${text}</pre>
                </details>`
              : head}
          </li>`;
      })}
    </ol>`;
}

function Attempts({ trace, going }) {
  if (!trace.attempts.length) {
    return html`
      <p class="soft">
        ${going ? "It is being asked; who answered is known when the answer has ended." : "No model was asked."}
      </p>`;
  }
  return html`
    <ul class="plain-list">${trace.attempts.map((attempt, i) => html`
      <li key=${i}>
        <span class="num">${attempt.model}</span> ${attempt.category
          ? html`failed: ${attempt.message || attempt.category}`
          : html`
            answered${attempt.first_byte_ms === null ? "" : `, first byte after ${number(attempt.first_byte_ms)} ms`}`}
      </li>`)}
      </ul>`;
}

function Sections({ trace, blocks, going, name }) {
  return html`
    ${trace.degrades.length > 0 && html`
      <div class="aslant">
        <p>
          <b>
            ${trace.degrades.length === 1 ? "One thing was" : "Some things were"} done another way.
          </b> The answer was given all the same.
        </p>
        <ul class="plain-list">
          ${trace.words.missing.map((text, i) => html`<li key=${i}>${sentence({ text })}</li>`)}
        </ul>
        </div>`}
    <section><h3>What was decided</h3><${Decisions} trace=${trace} blocks=${blocks} name=${name} /></section>
    <section>
      <h3>What it was told, in this order</h3><${Blocks} names=${trace.system_blocks} blocks=${blocks} />
    </section>
    <section><h3>How long it took</h3><${Steps} timings=${trace.timings} names=${trace.words.steps} /></section>
    <section><h3>Who was asked</h3><${Attempts} trace=${trace} going=${going} /></section>`;
}

/** `answer` is `{id, turn, name, advisor}`; `onReceipt` leads to the receipt, where there is one. */
export function Trace({ answer, onReceipt, onClose }) {
  const [loaded, failure, again] = useLoaded(() => read(answer), [answer.id]);
  useEvery(again, loaded?.going ? OFTEN : 0);
  const trace = loaded?.trace;
  const session = trace?.startbrief_runtime.session_id;
  const tools = onReceipt && html`<button type="button" onClick=${onReceipt}>Receipt</button>`;
  return html`
    <${Dialog} title="Why this answer" onClose=${onClose} wide tools=${tools}>
      <div class="trace" data-c style=${{ "--c": colorOf(answer.advisor) }}>
        ${failure && html`<${Failed} failure=${failure} again=${again} />`}
        ${!failure && !loaded && html`<p class="soft" role="status">Looking at how it came about …</p>`}
        ${loaded && !trace && html`
          <p class="soft">
            ${loaded.going ? "It is being decided what it is told …" : "How this answer came about was not kept."}
          </p>`}
        ${trace && html`
          <p class="soft whose">
            <b>${answer.name}</b>
            ${trace.model && html` · <span class="num">${trace.model}</span>`} · told ${plural(
              trace.system_blocks.length, "thing"
            )} beside the conversation${session && html` · <a
              href=${`/sessions/${session}`} onClick=${onClose}>
              its session
            </a>`}
          </p>
          <${Sections} trace=${trace} blocks=${loaded.blocks} going=${loaded.going} name=${answer.name} />`}
      </div>
    <//>`;
}

// How long each step of a turn took, laid along one line of time. It is a table whose rows have bars.
const known = (ms) => typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
const FOUND = ["session_ms", "gate_ms", "brief_ms", "recall_ms"];
const SUMS = new Set([...FOUND, "stt_ms", "context_ms", "first_ms", "llm_ms", "tts_ms", "total_ms"]);

/**
 * Steps with where they begin: `{key, at, ms}`. The server tells durations and one end; what comes
 * before what is the road itself: the session is read, then gate and memory side by side, then recall,
 * then the model.
 */
function stepsOf(timings) {
  const ms = (key) => (known(timings[key]) ? timings[key] : 0);
  const model = known(timings.llm_ms) && known(timings.total_ms)
    ? Math.max(0, timings.total_ms - timings.llm_ms)
    : ms("context_ms");
  const lead = Math.max(0, model - ms("context_ms"));
  const side = lead + ms("session_ms");
  const after = side + Math.max(ms("gate_ms"), ms("brief_ms"));
  const places = { session_ms: lead, gate_ms: side, brief_ms: side, recall_ms: after };
  const others = Object.keys(timings).filter((key) => key.endsWith("_ms") && !SUMS.has(key) && known(timings[key]));
  const steps = [
    { key: "stt_ms", at: 0, ms: ms("stt_ms") },
    { key: "wait", at: 0, ms: lead },
    ...FOUND.map((key) => ({ key, at: places[key], ms: ms(key) })),
    ...others.map((key) => ({ key, at: lead, ms: ms(key) })),
    ...writing(timings, model),
    { key: "tts_ms", at: Math.max(0, ms("total_ms") - ms("tts_ms")), ms: ms("tts_ms") },
  ];
  return steps.filter((step) => step.ms > 0 || (FOUND.includes(step.key) && known(timings[step.key])));
}

function writing(timings, at) {
  if (!known(timings.llm_ms)) return [];
  if (!known(timings.first_ms)) return [{ key: "llm_ms", at, ms: timings.llm_ms }];
  const first = Math.min(timings.first_ms, timings.llm_ms);
  return [{ key: "first", at, ms: first }, { key: "write", at: at + first, ms: timings.llm_ms - first }];
}

const WAITS = new Set(["wait", "first"]); // nothing is done here but waiting: drawn hollow

const OWN_STEPS = { wait: "Getting there", first: "Until the first word", write: "Writing" };

function Steps({ timings, names }) {
  const steps = stepsOf(timings);
  if (!steps.length) return html`<p class="soft">Nothing was measured: the answer has not ended.</p>`;
  const end = Math.max(timings.total_ms ?? 0, ...steps.map((step) => step.at + step.ms)) || 1;
  const part = (ms) => `${Math.min(100, (ms / end) * 100).toFixed(2)}%`;
  return html`
    <table class="steps">
      <caption class="aside">Each step of the turn, when it began and how long it took, in milliseconds</caption>
      <thead class="aside">
        <tr>
          <th scope="col">Step</th>
          <th scope="col">On the line of time</th>
          <th scope="col">Began after</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody>
        ${steps.map(({ key, at, ms }) => html`
          <tr key=${key}>
            <th scope="row">${OWN_STEPS[key] ?? capital(names[key])}</th>
            <td class="lane" aria-hidden="true">
              <i class=${WAITS.has(key) ? "hollow" : ""} style=${{ left: part(at), width: part(ms) }}></i>
            </td>
            <td class="num at">${milliseconds(at)}</td>
            <td class="num">${milliseconds(ms)}</td>
          </tr>`)}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">From your message to its end</th>
          <td class="lane" aria-hidden="true"></td>
          <td class="num at"></td>
          <td class="num">${known(timings.total_ms) ? milliseconds(timings.total_ms) : "still going on"}</td>
        </tr>
      </tfoot>
    </table>`;
}
