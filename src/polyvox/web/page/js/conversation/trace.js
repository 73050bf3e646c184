// Why this answer: what was decided before its model was asked, what it was told, how long it took.
import { api } from "../api.js";
import { colorOf } from "../council.js";
import { Dialog } from "../dialog.js";
import { Failed, useLoaded, useWatching } from "../load.js";
import { html } from "../ui.js";
import { number, plural } from "../words.js";
import { RUNNING } from "./answer.js";
import { degradeTold } from "./degrades.js";
import { Steps } from "./trace-steps.js";
import { blockName, fetchedTold, gateTold, handoverTold, opsTold, overlayTold, postureTold, recallTold } from "./trace-words.js";

const PROFILE = { current_focus: "what you are busy with", relationships: "the people you named", patterns: "a pattern", work_context: "your work", long_term_direction: "where you are heading", communication_preference: "how you like to be spoken to" };

/** The trace, the texts of its blocks where there is a receipt, and whether the answer still goes on. */
async function read({ id, turn }) {
  const gone = (error) => { if (error.status === 404) return null; throw error; };
  const [said, trace, receipt] = await Promise.all([
    api.get(`/api/answers/${id}`).catch(gone),
    api.get(`/api/turns/${turn}/trace?answer=${encodeURIComponent(id)}`).catch(gone),
    api.get(`/api/answers/${id}/receipt`).catch(gone),
  ]);
  return { trace, going: RUNNING.has(said?.state), blocks: receipt ? blocksOf(receipt.description.spans) : new Map() };
}

/** The text of each block by its name; what memory told has its name as a source. */
function blocksOf(spans) {
  const found = new Map();
  for (const span of spans) if (span.role === "system" && span.included) found.set(span.kind === "memory" ? span.sources[0] : span.kind, span.text);
  return found;
}

const textOf = (blocks, name) => blocks.get(name) ?? (name === "persona" ? blocks.get("identity") : undefined);

function Decision({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Recall({ recall, blocks, name }) {
  const found = recall.decision === "found" && textOf(blocks, "supplemental_context");
  return html`${recallTold(recall)}${found && html`<p class="label as-told">As ${name} was told</p><pre class="raw" tabindex="0" aria-label=${`What was found, as ${name} was told`}>${found}</pre>`}`;
}

function Reading({ reading }) {
  if (!reading) return null;
  const told = (value) => (typeof value === "boolean" ? (value ? "yes" : "no") : String(value).toLowerCase().replaceAll("_", " "));
  return html`
    <details class="numbers"><summary>How it was read</summary>
      <dl class="read">${Object.entries(reading).map(([name, value]) => html`<div key=${name}><dt>${name.replaceAll("_", " ")}</dt><dd class="num">${told(value)}</dd></div>`)}</dl>
    </details>`;
}

function Decisions({ trace, blocks, name }) {
  const run = trace.startbrief_runtime;
  const asked = run.startbrief_fetch !== "none";
  if (!trace.posture && !trace.recall && !asked) return html`<p class="soft">Nothing had to be decided: it was asked with its recipe's own words, and memory was not used.</p>`;
  const lines = trace.user_context.map((name) => PROFILE[name] ?? name.replaceAll("_", " "));
  return html`
    <dl class="decided">
      ${asked && html`<${Decision} name="From before">${fetchedTold(trace)} ${handoverTold(trace)}<//>`}
      ${trace.recall && html`<${Decision} name="Looking things up"><${Recall} recall=${trace.recall} blocks=${blocks} name=${name} /><//>`}
      ${trace.posture && html`
        <${Decision} name="Your message">${gateTold(trace)} <${Reading} reading=${trace.reading} /><//>
        <${Decision} name="Its manner">${postureTold(trace.posture)}<//>
        <${Decision} name="A task of its own">${overlayTold(trace)}<//>
        <${Decision} name="What is open">${opsTold(trace)}<//>`}
      ${(trace.posture || lines.length > 0) && html`<${Decision} name="About you">${lines.length ? `It was reminded of ${lines.join(" and ")}.` : "Nothing of your profile was needed."}<//>`}
    </dl>`;
}

function Blocks({ names, blocks }) {
  if (!names.length) return html`<p class="soft">Nothing beside the conversation itself.</p>`;
  return html`
    <ol class="told">
      ${names.map((name, i) => {
        const text = textOf(blocks, name);
        const head = html`<span class="num">${i + 1}</span> <b>${blockName(name)}</b> <code>${name}</code>`;
        return html`<li key=${name}>${text ? html`<details><summary>${head} <span class="num size">${number(text.length)} characters</span></summary><pre class="raw" tabindex="0">${text}</pre></details>` : head}</li>`;
      })}
    </ol>`;
}

function Attempts({ trace, going }) {
  if (!trace.attempts.length) return html`<p class="soft">${going ? "It is being asked; who answered is known when the answer has ended." : "No model was asked."}</p>`;
  return html`
    <ul class="plain-list">${trace.attempts.map((one, i) => html`
      <li key=${i}><span class="num">${one.model}</span> ${one.category ? html`failed: ${one.message || one.category}` : html`answered${one.first_byte_ms === null ? "" : `, first byte after ${number(one.first_byte_ms)} ms`}`}</li>`)}</ul>`;
}

function Told({ trace, blocks, going, name }) {
  return html`
    ${trace.degrades.length > 0 && html`
      <div class="aslant"><p><b>${trace.degrades.length === 1 ? "One thing was" : "Some things were"} done another way.</b> The answer was given all the same.</p>
        <ul class="plain-list">${trace.degrades.map((one, i) => html`<li key=${i}>${degradeTold(one)}</li>`)}</ul></div>`}
    <section><h3>What was decided</h3><${Decisions} trace=${trace} blocks=${blocks} name=${name} /></section>
    <section><h3>What it was told, in this order</h3><${Blocks} names=${trace.system_blocks} blocks=${blocks} /></section>
    <section><h3>How long it took</h3><${Steps} timings=${trace.timings} /></section>
    <section><h3>Who was asked</h3><${Attempts} trace=${trace} going=${going} /></section>`;
}

/** `answer` is `{id, turn, name, advisor}`; `onReceipt` leads to the receipt, where there is one. */
export function Trace({ answer, onReceipt, onClose }) {
  const [found, failure, again] = useLoaded(() => read(answer), [answer.id]);
  useWatching(Boolean(found?.going), again);
  const trace = found?.trace;
  const session = trace?.startbrief_runtime.session_id;
  const tools = onReceipt && html`<button type="button" onClick=${onReceipt}>Receipt</button>`;
  return html`
    <${Dialog} title="Why this answer" onClose=${onClose} wide tools=${tools}>
      <div class="trace" data-c style=${{ "--c": colorOf(answer.advisor) }}>
        ${failure && html`<${Failed} failure=${failure} again=${again} />`}
        ${!failure && !found && html`<p class="soft" role="status">Looking at how it came about …</p>`}
        ${found && !trace && html`<p class="soft">${found.going ? "It is being decided what it is told …" : "How this answer came about was not kept."}</p>`}
        ${trace && html`
          <p class="soft whose"><b>${answer.name}</b>${trace.model && html` · <span class="num">${trace.model}</span>`} · told ${plural(trace.system_blocks.length, "thing")} beside the conversation${session && html` · <a href=${`/sessions/${session}`} onClick=${onClose}>its session</a>`}</p>
          <${Told} trace=${trace} blocks=${found.blocks} going=${found.going} name=${answer.name} />`}
      </div>
    <//>`;
}
