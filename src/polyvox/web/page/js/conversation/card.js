// @ts-check
// One advisor's column: a byline, the text, the tools.
import { copy, Dialog } from "../dialog.js";
import { AssertedMark, openAssertions } from "../evaluation/marks.js";
import { colorOf, labelOf } from "../lists.js";
import { lazy } from "../load.js";
import { Prose } from "../scribe.js";
import { html, useRef, useState } from "../ui.js";
import { money, monogram, number, seconds, compactNumber } from "../words.js";
import { exclude, regenerate, retry, stopAnswer } from "./actions.js";
import { currentVersion, firstSentences } from "./turn-state.js";

export const Receipt = lazy(import.meta.resolve("./receipt.js"), "Receipt");
export const Trace = lazy(import.meta.resolve("./trace.js"), "Trace");
const Instruct = lazy(import.meta.resolve("./instruct.js"), "Instruct");
const EditPrompt = lazy(import.meta.resolve("./instruct.js"), "EditPrompt");

const FOLD = 340;
const FORGOTTEN = "[redacted]"; // all that is left of a text: it can be in no request
const STATES = {
  pending: "waiting", streaming: "writing", failed: "failed", stopped: "stopped", interrupted: "interrupted"
};
const CATEGORIES = {
  authentication: "The key was not accepted", quota: "The account has no credit left",
  rate_limit: "Too many requests", timeout: "No answer in time",
  unavailable: "The provider cannot be reached", refused: "The provider refused",
  context_too_long: "Too long for this model", protocol: "The provider sent nonsense",
  empty: "An empty answer", cap: "The spending limit is reached",
};

/** Machine words under a name: how long it took, how many tokens, what it cost. */
export function measure(data) {
  if (data.state !== "completed" && !(data.state === "stopped" && data.usage)) return STATES[data.state] ?? "";
  const parts = [];
  if (data.ended_at) parts.push(seconds(data.created_at, data.ended_at));
  if (data.usage) parts.push(`${compactNumber(data.usage.output_tokens)} tok`);
  if (data.usage?.cost) parts.push(money(data.usage.cost));
  return (data.state === "stopped" ? ["stopped", ...parts] : parts).join(" · ");
}

function announcement(data) {
  if (data.state === "pending") return `${data.name} has been asked.`;
  if (data.state === "streaming") return `${data.name} is answering.`;
  if (data.state === "completed") return `${data.name} has answered.`;
  return `${data.name}: ${STATES[data.state]}. ${data.error?.message ?? ""}`;
}

function usageText({ input_tokens: read, output_tokens: written, cost }) {
  const price = cost === null ? "price unknown" : `$${cost.toFixed(4)}`;
  return `${number(read)} tokens in, ${number(written)} out, ${price}`;
}

export function Byline({ data, place, children }) {
  const detail = data.usage ? `${usageText(data.usage)} · ${data.model}` : data.model;
  return html`
    <header class="by">
      <span class="mono" aria-hidden="true">${monogram(data.name)}</span>
      <h3>${labelOf({ id: data.advisor_id, name: data.name })}</h3>
      <${AssertedMark} id=${data.answer_id} ended=${data.state === "completed"} />
      <small class="num" title=${detail}>${measure(data)}</small>
      ${children}
      ${place && html`<span class="place num">${place}</span>`}
    </header>`;
}

function Thinking({ answer, data }) {
  const thought = answer.thought.text.value;
  if (!thought) return null;
  const thinking = data.state === "streaming" && !answer.said.text.value;
  return html`
    <details class="think">
      <summary>${thinking ? "Thinking …" : `Its thinking, ${compactNumber(thought.length / 4)} tokens`}</summary>
      <div class="thought" dir="auto">${thought}</div>
    </details>`;
}

export function Trouble({ data, slug }) {
  if (data.state === "interrupted") {
    return html`
      <div class="err" role="alert">
        <b>
          Interrupted.
        </b> Polyvox ended while this was being written. What had come is kept; <i>Retry</i> has it written again.
      </div>`;
  }
  if (data.state !== "failed" || !data.error) return null;
  const { category, message, hint } = data.error;
  const tries = data.attempts.filter((attempt) => attempt.category).map((attempt) => attempt.model);
  const others = [...new Set(tries)];
  return html`
    <div class="err">
      <p><b>${CATEGORIES[category] ?? "It did not work"}.</b> ${message}</p>
      <p>${hint} ${others.length > 1 && `Tried ${others.join(", then ")}.`} Your message is safe.</p>
      ${slug && html`<p><a href=${`/advisors/${slug}`}>Use another model</a></p>`}
    </div>`;
}

/** Whether a text is more than a folded card shows: about ten lines. */
const isLong = (text) =>
  text.split("\n").reduce((lines, line) => lines + (line ? Math.ceil(line.length / 34) : 0.5), 0) > 9;

/** The text, or its first sentences where many stand side by side. */
function Body({ answer, data, folded, onMore }) {
  const text = answer.said.text.value;
  const running = data.state === "streaming" || data.state === "pending";
  const start = folded && isLong(text) ? firstSentences(text, FOLD) ?? text : null;
  if (data.state === "pending" && !text) {
    return html`<div class="waits" aria-hidden="true"><i></i><i></i><i></i></div>`;
  }
  if (start === null) return html`<div dir="auto"><${Prose} text=${text} live=${running} /></div>`;
  return html`
    <div dir="auto" key="opening"><${Prose} text=${start} /></div>
    <button type="button" class="quiet more" onClick=${onMore}>
      ${running ? "still writing: read it all" : "more"}
    </button>`;
}

export function Versions({ slot, shown, onPick }) {
  const { versions } = slot;
  if (versions.length < 2) return null;
  const at = versions.indexOf(shown);
  return html`
    <span class="versions" role="group" aria-label="Versions of this answer">
      <button type="button" aria-label="Older version" disabled=${at === 0} onClick=${() => onPick(versions[at - 1])}>
        ‹
      </button>
      <span class="num">${at + 1} of ${versions.length}</span>
      <button type="button" aria-label="Newer version" disabled=${at === versions.length - 1}
        onClick=${() => onPick(versions[at + 1])}>
        ›
      </button>
    </span>`;
}

/** What can be done with an answer: `[name, act, pressed]`. */
function toolsOf({ answer, data, onRead, onReceipt, onTrace, onEdit, onInstruct }) {
  const ended = !["pending", "streaming"].includes(data.state);
  const text = answer.said.text.peek();
  const redo = data.state === "completed" ? ["Regenerate", () => regenerate(answer)] : ["Retry", () => retry(answer)];
  return [
    text && ["Copy", () => copy(answer.said.text.peek(), "Answer copied.")],
    ["Read", onRead],
    ended && data.current && redo,
    ended && text && ["Assert", () => openAssertions(answer.id)],
    ["Instruct", onInstruct],
    ["Edit prompt", onEdit],
    ended && text && text !== FORGOTTEN
      && [data.excluded ? "Include" : "Exclude", () => exclude(answer, !data.excluded), data.excluded],
    ["Why", onTrace],
    ["Receipt", onReceipt],
  ].filter(Boolean);
}

// their place is kept: cards below stay where they are
const LATER = ["Copy", "Read", "Regenerate", "Assert", "Instruct", "Edit prompt", "Exclude", "Why", "Receipt"];

const LONGER = { Why: "Why this answer", Assert: "Assert how it should answer", Instruct: "Instruct this advisor" };
const ITS_PROMPT = new Set(["Edit prompt", "Instruct"]); // only of an advisor that is there
const ANEW = new Set(["Regenerate", "Retry", ...ITS_PROMPT]); // only where there is still a message to answer
// whom a trace is about
const traceTarget = (answer, { name, advisor_id }) => ({
  id: answer.id, turn: answer.turn, name, advisor: advisor_id
});

/** The two sheets behind an answer, each a press away from the other: what it saw, and why. */
export function Behind({ over, answer, onOver }) {
  const close = () => onOver(null);
  if (over === "receipt") {
    return html`<${Receipt} key="receipt" answer=${answer} onClose=${close} onTrace=${() => onOver("trace")} />`;
  }
  return over === "trace"
    ? html`
      <${Trace} key="trace" answer=${traceTarget(answer, answer.data.value)} onClose=${close}
        onReceipt=${() => onOver("receipt")} />`
    : null;
}

export function Card({ slot, advisor, index, count, folds, forgotten, onRead }) {
  const newest = currentVersion(slot);
  const [picked, pick] = useState(null);
  const [open, setOpen] = useState(false);
  const [over, setOver] = useState(null);
  const answer = slot.versions.includes(picked) ? picked : newest;
  // whoever looks at the newest sees the next one come
  const choose = (version) => pick(version === newest ? null : version);
  const data = answer.data.value;
  const running = answer.running;
  const tools = [
    ...toolsOf({
      answer, data, onRead: () => onRead(slot.key), onReceipt: () => setOver("receipt"),
      onTrace: () => setOver("trace"), onEdit: () => setOver("prompt"), onInstruct: () => setOver("instruct")
    }),
  ].filter(([name]) => (advisor || !ITS_PROMPT.has(name)) && !(forgotten && ANEW.has(name)));
  const buttons = tools.map(([name, act, pressed]) => html`
    <button type="button" key=${name} aria-label=${LONGER[name]} aria-pressed=${pressed}
      onClick=${() => { setOver(null); act(); }}>
      ${name}
    </button>`);
  // What was seen to grow keeps the height it had then; what is short and stood there already needs none.
  const grew = useRef(running);
  grew.current ||= running;
  const folded = folds && !open && (grew.current || data.state === "failed" || isLong(answer.said.text.value));
  // in a folded card it comes first: what is below may be cut off
  const trouble = html`<${Trouble} data=${data} slug=${advisor?.slug} />`;
  return html`
    <article class=${`card${folded ? " folded" : ""}${data.excluded ? " out" : ""}`} id=${`answer-${answer.id}`}
      data-answer=${answer.id} data-c data-state=${data.state}
      style=${{ "--c": colorOf(data.advisor_id) }} aria-label=${labelOf({ id: data.advisor_id, name: data.name })}>
      <${Byline} data=${data} place=${count > 1 ? `${index + 1} of ${count}` : ""}>
        ${running && html`
          <button type="button" class="quiet stop" aria-label=${`Stop ${data.name}`}
            onClick=${() => stopAnswer(answer)}>
            Stop
          </button>`}
      <//>
      <p class="aside" aria-live="polite">${announcement(data)}</p>
      <div class="words">
        ${data.excluded && html`<p class="label">Left out of later requests</p>`}
        ${!data.current && html`<p class="label">An earlier version</p>`}
        ${folded && trouble}
        <${Thinking} answer=${answer} data=${data} />
        <${Body} answer=${answer} data=${data} folded=${folded} onMore=${() => setOpen(true)} />
        ${!folded && trouble}
      </div>
      ${running && folds && html`
        <div class="tools under later" aria-hidden="true">
          ${LATER.map((name) => html`<span key=${name}>${name}</span>`)}
        </div>`}
      ${!running && html`
        <div class="tools under">
          ${buttons}
          ${folds && open && html`<button type="button" onClick=${() => setOpen(false)}>Less</button>`}
          <${Versions} slot=${slot} shown=${answer} onPick=${choose} />
        </div>
        <div class="tools under few">
          <button type="button" aria-haspopup="dialog" aria-label=${`Tools for ${data.name}'s answer`}
            onClick=${() => setOver("tools")}>
            Tools …
          </button>
          <button type="button" onClick=${() => onRead(slot.key)}>Read</button>
          <${Versions} slot=${slot} shown=${answer} onPick=${choose} />
        </div>`}
      ${over === "tools" && html`
        <${Dialog} title=${data.name} onClose=${() => setOver(null)}><div class="tool-list">${buttons}</div><//>`}
      <${Behind} over=${over} answer=${answer} onOver=${setOver} />
      ${over === "instruct" && html`
        <${Instruct} advisor=${advisor} answer=${answer} onClose=${() => setOver(null)} />`}
      ${over === "prompt" && html`
        <${EditPrompt} advisor=${advisor} answer=${answer} onClose=${() => setOver(null)} />`}
    </article>`;
}
