// @ts-check
// What this advisor saw: a bar to read at a glance, then span by span, then the very request.
import { api, request } from "../api.js";
import { copy, Dialog, notifyFailure } from "../dialog.js";
import { Failed, useLoaded } from "../load.js";
import { html } from "../ui.js";
import { number, plural } from "../words.js";
import { blockName } from "./trace-words.js";

// left out, they have no share to be named by
const ABSENT = { omitted: "earlier turns", reference: "what the others said", memory: "memory" };

function Bar({ description }) {
  const used = description.shares.reduce((sum, share) => sum + share.share, 0);
  const full = Math.max(1, used);
  const words = description.shares.map((share) => `${share.name} ${(share.share * 100).toFixed(1)} %`).join(", ");
  return html`
    <div class="bar" role="img"
      aria-label=${`${number(description.tokens)} of ${number(description.budget)} tokens: ${words}`}>
      ${description.shares.map((share) => html`
        <span key=${share.kind} class=${`kind k-${share.kind}`}
          style=${{ width: `${(share.share / full) * 100}%` }}></span>`)}
    </div>
    <ul class="legend">
      ${description.shares.map((share) => html`
        <li key=${share.kind}><span class=${`swatch kind k-${share.kind}`} aria-hidden="true"></span>
          <span>${share.name}${share.pieces > 1 ? `, ${share.pieces} pieces` : ""}</span>
          <span class="num">${number(share.tokens)} tokens</span></li>`)}
      <li>
        <span class="swatch free" aria-hidden="true"></span>
        <span>still free</span>
        <span class="num">${number(Math.max(0, description.budget - description.tokens))} tokens</span>
      </li>
    </ul>`;
}

function Span({ span, names }) {
  const label = names.get(span.kind) ?? ABSENT[span.kind] ?? span.kind;
  const block = span.kind === "memory" && span.sources[0]; // memory tells several things: each by its name
  const size = span.tokens > 0 || span.included ? `${number(span.tokens)} tokens` : "";
  const measure = span.included ? `${span.role} · ${size}` : [size, "left out"].filter(Boolean).join(" · ");
  return html`
    <details class=${span.included ? "span" : "span out"}>
      <summary>
        <span class=${`swatch kind k-${span.kind}`} aria-hidden="true"></span> ${block
          ? html`${label}: ${blockName(block)} <code>${block}</code>`
          : label} <span class="num">${measure}</span>
      </summary>
      ${span.reason && html`<p class="soft">${span.reason}</p>`}
      ${(span.text || span.included) && html`<pre class="raw">${span.text || "(empty)"}</pre>`}
    </details>`;
}

function Attempts({ sent }) {
  if (!sent?.attempts.length) return null;
  return html`
    <h3>Calls</h3>
    <ul class="plain-list">${sent.attempts.map((attempt, i) => html`
      <li key=${i}>
        <span class="num">${attempt.model}</span> ${attempt.category
          ? html`failed: ${attempt.message}`
          : html`
            answered${attempt.first_byte_ms === null ? "" : `, first byte after ${number(attempt.first_byte_ms)} ms`}`}
      </li>`)}
      </ul>`;
}

function Sections({ receipt, onCopy }) {
  const description = receipt.description;
  const names = new Map(description.shares.map((share) => [share.kind, share.name]));
  return html`
    <p>
      <b>${number(description.tokens)} of ${number(description.budget)} tokens</b>
      ${" "}<span class="soft">(${description.limit})</span>
    </p>
    <${Bar} description=${description} />
    <p class="soft">
      Recipe <i>${description.recipe}</i>
      ${description.phase && html`, phase <i>${description.phase}</i>`}, answer ${description.k}
      ${description.n ? ` of ${description.n}` : ""} of this advisor; ${plural(description.messages, "message")} sent
      ${description.messages_omitted ? `, ${number(description.messages_omitted)} left out` : ""}.
      ${description.prompts === "compact" ? " Short prompts, for a small model." : ""}
    </p>
    ${description.left_out.length > 0 && html`
      <h3>Left out, and why</h3>
      <ul class="plain-list">${description.left_out.map((text, i) => html`<li key=${i}>${text}</li>`)}</ul>`}
    ${!receipt.exact && html`<p class="err"><b>Not exact any more.</b> A text in it was forgotten since.</p>`}
    <h3>Piece by piece, in the order it was sent</h3>
    <div class="spans">
      ${description.spans.map((span, i) => html`<${Span} key=${i} span=${span} names=${names} />`)}
    </div>
    <${Attempts} sent=${description.sent} />
    <h3>The request itself</h3>
    ${receipt.request ? html`
      <p class="soft">
        Sent to <span class="num">${description.sent?.model_id}</span>
        , ${number(description.sent?.wire_bytes ?? 0)} bytes. ${receipt.verified
          ? "Rebuilt from what is stored and equal, byte for byte, to what went out."
          : "It cannot be rebuilt exactly any more."}
      </p>
      <div class="row"><button type="button" class="plain" onClick=${onCopy}>Copy the exact request</button></div>
      <details>
        <summary>Show it</summary><pre class="raw" tabindex="0">${JSON.stringify(receipt.request, null, 2)}</pre>
      </details>`
    : html`<p>Nothing was sent: the answer ended before its model was asked.</p>`}`;
}

export function Receipt({ answer, onClose, onTrace }) {
  const [receipt, failure, again] = useLoaded(() => api.get(`/api/answers/${answer.id}/receipt`), [answer.id]);
  const copyRequest = async () => {
    try {
      const response = await request("GET", `/api/answers/${answer.id}/request`);
      await copy(await response.text(), "The request is copied, as it was sent.");
    } catch (error) {
      notifyFailure(error);
    }
  };
  const tools = onTrace && html`<button type="button" onClick=${onTrace}>Why this answer</button>`;
  return html`
    <${Dialog} title=${`What ${answer.data.value.name} saw`} onClose=${onClose} wide tools=${tools}>
      <div class="receipt">
        ${failure && html`<${Failed} failure=${failure} again=${again} />`}
        ${!failure && !receipt && html`<p class="soft">Opening the receipt …</p>`}
        ${receipt && html`<${Sections} receipt=${receipt} onCopy=${copyRequest} />`}
      </div>
    <//>`;
}
