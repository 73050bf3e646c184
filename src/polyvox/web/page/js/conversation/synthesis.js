// @ts-check
// Where the advisors agree and where they do not, each claim with those who make it.
import { copy } from "../dialog.js";
import { AssertedMark, openAssertions } from "../evaluation/marks.js";
import { colorOf } from "../lists.js";
import { Prose } from "../scribe.js";
import { html, useState } from "../ui.js";
import { regenerate, retry, stopAnswer } from "./actions.js";
import { Behind, measure, Trouble, Versions } from "./card.js";
import { currentVersion } from "./turn-state.js";

function Who({ ids, names }) {
  return ids.map((id) => html`
    <span key=${id} class="who" data-c style=${{ "--c": colorOf(id) }}>${names.get(id) ?? "someone"}</span>`);
}

function Points({ points, names }) {
  const claims = points.points ?? [];
  const apart = points.disagreements ?? [];
  const next = points.next ?? [];
  return html`
    ${claims.length > 0 && html`
      <h4>Where they agree</h4>
      <ul>
        ${claims.map((claim, i) => html`
          <li key=${i} dir="auto"><${Who} ids=${claim.advisors} names=${names} /> ${claim.text}</li>`)}
      </ul>`}
    ${apart.length > 0 && html`
      <h4>Where they pull apart</h4>
      <ul>${apart.map((claim, i) => html`<li key=${i} dir="auto">${claim.text}
        ${claim.sides.length > 0 && html`
          <ul>
            ${claim.sides.map((side, j) => html`
              <li key=${j} dir="auto"><${Who} ids=${side.advisors} names=${names} /> ${side.text}</li>`)}
          </ul>`}
        ${claim.hinges_on && html`<p class="soft hinges" dir="auto">It hinges on: ${claim.hinges_on}</p>`}
        </li>`)}
        </ul>`}
    ${next.length > 0 && html`
      <h4>Next steps</h4>
      <ul>
        ${next.map((step, i) => html`
          <li key=${i} dir="auto"><${Who} ids=${step.advisors} names=${names} /> ${step.text}</li>`)}
      </ul>`}`;
}

export function Synthesis({ slot, names }) {
  const [over, setOver] = useState(null);
  const [picked, pick] = useState(null);
  const newest = currentVersion(slot);
  const answer = slot.versions.includes(picked) ? picked : newest;
  const data = answer.data.value;
  const text = answer.said.text.value;
  const structured = data.points && (data.points.points?.length || data.points.disagreements?.length);
  return html`
    <section class="syn" id=${`answer-${answer.id}`} data-answer=${answer.id} data-state=${data.state}
      aria-label="Synthesis">
      <header class="row">
        <h3>Brought together</h3>
        <${AssertedMark} id=${answer.id} ended=${data.state === "completed"} />
        <small class="num">${measure(data)}</small>
        ${answer.running && html`
          <button type="button" class="quiet stop" onClick=${() => stopAnswer(answer)}>Stop</button>`}
        </header>
      <p class="aside" aria-live="polite">
        ${answer.running ? "The answers are being brought together." : "The synthesis has ended."}
      </p>
      ${structured
        ? html`<${Points} points=${data.points} names=${names} />`
        : html`<div dir="auto"><${Prose} text=${text} live=${answer.running} /></div>`}
      ${data.state === "completed" && !structured && html`
        <p class="soft note">The model gave no attributions here; read it as its own summary.</p>`}
      <${Trouble} data=${data} />
      ${!answer.running && html`<div class="tools under">
        <button type="button" onClick=${() => copy(text, "Synthesis copied.")}>Copy</button>
        ${data.current && html`
          <button type="button" onClick=${() => (data.state === "completed" ? regenerate : retry)(answer)}>
            ${data.state === "completed" ? "Regenerate" : "Retry"}
          </button>`}
        ${text && html`
          <button type="button" aria-label="Assert how it should answer" onClick=${() => openAssertions(answer.id)}>
            Assert
          </button>`}
        <button type="button" aria-label="Why this answer" onClick=${() => setOver("trace")}>Why</button>
        <button type="button" onClick=${() => setOver("receipt")}>Receipt</button>
        <${Versions} slot=${slot} shown=${answer} onPick=${(version) => pick(version === newest ? null : version)} />
        </div>`}
      <${Behind} over=${over} answer=${answer} onOver=${setOver} />
    </section>`;
}
