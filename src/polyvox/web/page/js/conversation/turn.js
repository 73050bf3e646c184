// @ts-check
// A turn: the question as a headline, the advisors as columns beneath it.
import { copy, Dialog } from "../dialog.js";
import { advisors, advisorById, colorOf, labelOf } from "../lists.js";
import { onPhone } from "../prefs.js";
import { useForm } from "../form.js";
import { effect, html, signal, useState } from "../ui.js";
import { monogram, stamp } from "../words.js";
import { edit, exchange, excludeMessage, move, synthesize } from "./actions.js";
import { Card } from "./card.js";
import { Farewell, isCompanion } from "./companion.js";
import { Reader } from "./reader.js";
import { Synthesis } from "./synthesis.js";
import { arrangeSlots, currentVersion } from "./turn-state.js";

const SIDE_BY_SIDE = 3;
const LONG = 260;
const VERY_LONG = 1400;

function Branches({ live, turn }) {
  const parent = turn.message.value.parent ?? "";
  const siblings = live.branches.value[parent] ?? [];
  const at = siblings.indexOf(turn.id);
  if (siblings.length < 2 || at < 0) return null;
  return html`
    <span class="versions" role="group" aria-label="Branches">
      <button type="button" aria-label="Earlier wording" disabled=${at === 0}
        onClick=${() => move(live, siblings[at - 1])}>
        ‹
      </button>
      <span class="num">wording ${at + 1} of ${siblings.length}</span>
      <button type="button" aria-label="Later wording" disabled=${at === siblings.length - 1}
        onClick=${() => move(live, siblings[at + 1])}>
        ›
      </button>
    </span>`;
}

function Rewrite({ live, message, onClose }) {
  const forgotten = message.redacted;
  const [text, setText] = useState(forgotten ? "" : message.content);
  const { failure, submit } = useForm(async () => {
    await edit(live, message, text);
    onClose();
  });
  return html`
    <${Dialog} title=${forgotten ? "Say it anew" : "Ask it in other words"} onClose=${onClose}>
      <label class="field"><span class="aside">Your message</span>
        <textarea class="box" dir="auto" value=${text} onInput=${(event) => setText(event.target.value)}
          autofocus></textarea>
        <small>
          ${forgotten
            ? "What stood here was forgotten and cannot be brought back. What you write begins a branch in its place, "
              + "and is remembered like anything you say."
            : "This begins a branch from here. What was said before stays, one press away."}
        </small>
      </label>
      ${failure && html`<p class="err"><b>${failure.message}</b> ${failure.hint}</p>`}
      <div class="row end">
        <button type="button" class="plain" onClick=${onClose}>Cancel</button>
        <button type="button" class="solid" disabled=${!text.trim() || text === message.content} onClick=${submit}>
          Ask
        </button>
      </div>
    <//>`;
}

function Question({ live, turn }) {
  const message = turn.message.value;
  const [over, setOver] = useState(false);
  const [whole, setWhole] = useState(false);
  const long = message.content.length > LONG;
  const cut = message.content.length > VERY_LONG && !whole;
  return html`
    <div class="stamp">
      ${stamp(message.said_at ?? message.created_at)}
      ${message.redacted
        ? " · forgotten, and in no later request"
        : message.excluded ? " · left out of later requests" : ""}
      ${message.state === "queued" ? " · waits for the answers above" : ""}
    </div>
    <h2 dir="auto" class=${`ask${long ? " long" : ""}${message.excluded ? " out" : ""}`}>
      ${cut ? `${message.content.slice(0, VERY_LONG)} …` : message.content}
    </h2>
    <div class="tools ask-tools">
      ${message.content.length > VERY_LONG && html`
        <button type="button" onClick=${() => setWhole(!whole)}>${whole ? "Show less" : "Show all of it"}</button>`}
      <button type="button" onClick=${() => setOver(true)}>${message.redacted ? "Say it anew" : "Edit"}</button>
      ${!message.redacted && html`
        <button type="button" onClick=${() => copy(message.content, "Message copied.")}>Copy</button>
        <button type="button" aria-pressed=${message.excluded}
          onClick=${() => excludeMessage(live, message, !message.excluded)}>
          ${message.excluded ? "Include" : "Exclude"}
        </button>`}
      <${Branches} live=${live} turn=${turn} />
    </div>
    ${over && html`<${Rewrite} live=${live} message=${message} onClose=${() => setOver(false)} />`}`;
}

/** With many advisors: a line of names to jump by. */
function Strip({ slots }) {
  return html`
    <nav class="strip" aria-label="Advisors of this turn">
      ${slots.map((slot) => {
        const answer = currentVersion(slot);
        const { name, state, advisor_id } = answer.data.value;
        const jump = (event) => {
          event.preventDefault();
          document.getElementById(`answer-${answer.id}`)
            ?.scrollIntoView({ block: "start", inline: "start", behavior: "smooth" });
        };
        return html`
          <a key=${slot.key} href=${`#answer-${answer.id}`} data-c data-state=${state}
            style=${{ "--c": colorOf(advisor_id) }} onClick=${jump}>
            <span class="mono" aria-hidden="true">${monogram(name)}</span>${name}
          </a>`;
      })}
    </nav>`;
}

/** `forgotten`: nobody can answer the message any more. */
export function Columns({ slots, forgotten, onRead }) {
  const folds = slots.length > columns.value; // rows under rows: see the style sheet
  return html`
    <div class=${`cols of-${Math.min(slots.length, SIDE_BY_SIDE)}`} tabindex=${slots.length > 1 ? "0" : undefined}
      role="group" aria-label="Answers">
      ${slots.map((slot, index) => html`
        <${Card} key=${slot.key} slot=${slot} advisor=${advisorById.value.get(slot.advisor)} index=${index}
          count=${slots.length} folds=${folds} forgotten=${forgotten} onRead=${onRead} />`)}
    </div>`;
}

/** Whether somebody has responded since a synthesis was written. */
function isOlder(synthesis, rounds) {
  const begun = (slot) => currentVersion(slot).data.value.created_at;
  return rounds.flat().some((slot) => begun(slot) > begun(synthesis));
}

function Further({ turn, slots, rounds, synthesis }) {
  const heard = slots.filter((slot) => [
    "completed", "stopped"
  ].includes(currentVersion(slot).data.value.state)).length;
  if (turn.running || heard < 2 || turn.message.value.redacted) return null;
  return html`
    <div class="tools further">
      ${(!synthesis || isOlder(synthesis, rounds)) && html`
        <button type="button" onClick=${() => synthesize(turn)}>
          ${synthesis ? "Bring them together again" : "Bring the answers together"}
        </button>`}
      <button type="button" onClick=${() => exchange(turn)}>
        ${rounds.length ? "Another round" : "Let them respond to each other"}
      </button>
    </div>`;
}

export function TurnView({ live, turn, last }) {
  const [reading, setReading] = useState(null);
  const { advisors: slots, rounds, synthesis } = arrangeSlots(turn.answers.value);
  const names = new Map(slots.map((slot) => [slot.advisor, currentVersion(slot).data.value.name]));
  for (const advisor of advisors.value) names.set(advisor.id, labelOf(advisor));
  const { redacted: forgotten, notice, help } = turn.message.value;
  const readable = [...slots, ...rounds.flat()];
  return html`
    <${Question} live=${live} turn=${turn} />
    ${slots.length > SIDE_BY_SIDE && html`<${Strip} slots=${slots} />`}
    <${Columns} slots=${slots} forgotten=${forgotten} onRead=${setReading} />
    ${rounds.map((round, i) => html`
      <section key=${i} class="round" aria-label=${`Round ${i + 1}`}>
        <h3 class="label">Round ${i + 1}: they respond to each other</h3>
        <${Columns} slots=${round} forgotten=${forgotten} onRead=${setReading} />
      </section>`)}
    ${notice && html`<p class="soft notice" role="status">${notice}</p>`}
    ${help && !forgotten && html`
      <aside class="help" aria-label="Where to find help"><p dir="auto">${help}</p></aside>`}
    ${synthesis && html`<${Synthesis} slot=${synthesis} names=${names} />`}
    <${Further} turn=${turn} slots=${slots} rounds=${rounds} synthesis=${synthesis} />
    ${last && isCompanion(live.details.value) && html`<${Farewell} live=${live} turn=${turn} />`}
    ${reading && html`
      <${Reader} slots=${readable} open=${reading} question=${turn.message.value.content} onMove=${setReading}
        onClose=${() => setReading(null)} />`}`;
}

// How many columns stand side by side: what the style sheet does, as a number.
const phone = window.matchMedia("(max-width: 640px)");
const tablet = window.matchMedia("(max-width: 1180px)");
const onePhoneColumn = () => (onPhone.value === "column" ? 1 : Infinity); // else one long row
const count = () => (phone.matches ? onePhoneColumn() : tablet.matches ? 2 : 3);

export const columns = signal(count());
for (const query of [phone, tablet]) query.addEventListener("change", () => { columns.value = count(); });
effect(() => {
  document.documentElement.dataset.phone = onPhone.value;
  columns.value = count();
});
