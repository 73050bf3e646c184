// @ts-check
// One answer on the whole screen, with the next and the previous one.
import { copy, Dialog } from "../dialog.js";
import { SelectionButton, openAssertions, assertionTarget } from "../evaluation/marks.js";
import { colorOf } from "../lists.js";
import { lazy } from "../load.js";
import { Prose } from "../scribe.js";
import { html, useEffect, useRef } from "../ui.js";
import { Byline, Trouble } from "./card.js";
import { currentVersion } from "./turn-state.js";

const Standing = lazy(import.meta.resolve("../evaluation/assert.js"), "Standing");

export function Reader({ slots, open, question, onMove, onClose }) {
  const at = Math.max(0, slots.findIndex((slot) => slot.key === open));
  const top = useRef(null);
  const step = (by) => onMove(slots[(at + by + slots.length) % slots.length].key);
  useEffect(() => {
    const key = (event) => {
      if (event.target.closest?.("input, textarea, select")) return;
      if (event.key === "ArrowRight" || event.key === "]") step(1);
      else if (event.key === "ArrowLeft" || event.key === "[") step(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  });
  useEffect(() => { top.current?.scrollIntoView({ block: "nearest" }); }, [open]);
  const answer = currentVersion(slots[at]);
  const data = answer.data.value;
  const ended = !answer.running && answer.said.text.value;
  const tools = html`
    ${slots.length > 1 && html`
      <button type="button" onClick=${() => step(-1)}>Previous</button>
      <span class="num" aria-live="polite">${at + 1} of ${slots.length}</span>
      <button type="button" onClick=${() => step(1)}>Next</button>`}
    <button type="button" onClick=${() => copy(answer.said.text.peek(), "Answer copied.")}>Copy</button>`;
  return html`
    <${Dialog} title=${data.name} onClose=${onClose} full tools=${tools}>
      <div class=${ended ? "reader with-side" : "reader"} data-answer=${answer.id} data-c
        style=${{ "--c": colorOf(data.advisor_id) }}>
        <div class="reading" ref=${top}>
          <p class="soft asked" dir="auto">${question}</p>
          <${Byline} data=${data} />
          <div dir="auto" key=${answer.id}><${Prose} text=${answer.said.text.value} live=${answer.running} /></div>
          <${Trouble} data=${data} />
        </div>
        ${ended && html`
          <aside class="assertions-side" aria-label="Assertions">
            <h3>How it should answer</h3>
            <p class="soft">Select words of the answer, or write what should hold.</p>
            <button type="button" class="plain" onClick=${() => openAssertions(answer.id)}>Assert something</button>
            <${Standing} key=${answer.id} answer=${answer} again=${assertionTarget.value === null} />
          </aside>`}
        <${SelectionButton} inside />
      </div>
    <//>`;
}
