// Phases: what an advisor is told at the beginning, and what from then on.
import { Field, NumberField, said } from "../field.js";
import { html, useLayoutEffect, useRef } from "../ui.js";
import { moved } from "./recipe-change.js";

/** After something moved, the button that moved it keeps the focus. */
export function useRefocus() {
  const box = useRef(null);
  const wanted = useRef("");
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const button = box.current?.querySelector(wanted.current);
    wanted.current = "";
    (button?.disabled ? button.parentElement.querySelector("button:not(:disabled)") : button)?.focus();
  });
  return [box, (selector) => { wanted.current = selector; }];
}

export function Phases({ now, set, failure, wording }) {
  const list = now.phases;
  const [box, refocus] = useRefocus();
  const change = (at, more) => set("phases", list.map((one, i) => (i === at ? { ...one, ...more } : one)));
  const move = (at, step) => {
    refocus(`[data-at="${at + step}"] [data-move="${step}"]`);
    set("phases", moved(list, at, at + step));
  };
  const remove = (at) => set("phases", list.filter((_, i) => i !== at));
  const add = () => {
    // Behind an open phase nothing is ever reached: a new one goes in front of it.
    const open = list.findIndex((one) => one.answers === null);
    const at = open < 0 ? list.length : open;
    const fresh = { name: name(list), answers: 3, text: "" };
    refocus(`[data-at="${at}"] input`);
    set("phases", [...list.slice(0, at), fresh, ...list.slice(at)]);
  };
  const open = list.findIndex((one) => one.answers === null);
  return html`
    <p class="intro">An advisor counts its own answers in a conversation. Each phase tells it what to do for some of them, in this order.</p>
    ${list.length === 0 && html`<p class="soft">There are none: an advisor is told the same from its first answer on.</p>`}
    <ol class="phases" ref=${box}>
      ${list.map((phase, at) => html`
        <${Phase} key=${at} at=${at} phase=${phase} last=${at === list.length - 1} out=${open >= 0 && at > open} failure=${failure} wording=${wording}
          onChange=${(more) => change(at, more)} onMove=${(step) => move(at, step)} onRemove=${() => remove(at)} />`)}
    </ol>
    ${list.length > 0 && open < 0 && html`<p class="remark">After these, no phase holds. Let the last one hold “from then on” if something should.</p>`}
    <div class="row"><button type="button" class="plain" onClick=${add}>Add a phase</button></div>
    ${open >= 0 && html`
      <label class="pick">
        <input type="checkbox" checked=${now.count_turns} onChange=${(event) => set("count_turns", event.currentTarget.checked)} />
        <span><b>Tell the last phase its turn number</b><small>The text then differs every turn, so providers can reuse less of it and charge more.</small></span>
      </label>`}`;
}

function name(list) {
  let number = list.length + 1;
  while (list.some((one) => one.name === `phase ${number}`)) number += 1;
  return `phase ${number}`;
}

function Phase({ at, phase, last, out, failure, wording, onChange, onMove, onRemove }) {
  const endless = phase.answers === null;
  const called = phase.name || "this phase";
  const wrong = (key) => said(failure, `phases.${at}.${key}`);
  return html`
    <li class="phase" data-at=${at}>
      <div class="phase-head">
        <${Field} label="Name" wrong=${wrong("name")}>
          ${(attributes) => html`<input type="text" maxlength="60" ...${attributes} value=${phase.name} onInput=${(event) => onChange({ name: event.currentTarget.value })} />`}
        <//>
        ${!endless && html`<${NumberField} label="Lasts, in answers" min=${0} max=${1000} value=${phase.answers} wrong=${wrong("answers")} onChange=${(answers) => onChange({ answers: answers === null ? 0 : Math.round(answers) })} />`}
        ${(last || endless) && html`
          <label class="pick"><input type="checkbox" checked=${endless} onChange=${(event) => onChange({ answers: event.currentTarget.checked ? null : 3 })} /><span>holds from then on</span></label>`}
        <div class="tools">
          <button type="button" data-move="-1" disabled=${at === 0} aria-label=${`Move ${called} up`} onClick=${() => onMove(-1)}>Up</button>
          <button type="button" data-move="1" disabled=${last} aria-label=${`Move ${called} down`} onClick=${() => onMove(1)}>Down</button>
          <button type="button" aria-label=${`Remove ${called}`} onClick=${onRemove}>Remove</button>
        </div>
      </div>
      ${out && html`<p class="remark">The phase before holds from then on, so this one is never reached.</p>`}
      ${phase.answers === 0 && html`<p class="remark">It lasts no answers: it is skipped.</p>`}
      <${OwnText} label=${`What an advisor is told in “${called}”`} text=${phase.text} ours=${wording.full[phase.name]} compact=${wording.compact[phase.name]}
        wrong=${wrong("text")} needs=${`There is no built-in text called “${phase.name}”: write one.`}
        hint=${endless ? "{k} is filled in: the number of its answer." : "{k} and {n} are filled in, as in “answer {k} of {n}”."} onChange=${(text) => onChange({ text })} />
    </li>`;
}

/** A text of the user's own in place of ours; empty, ours holds and is shown. */
export function OwnText({ label, text, ours, compact, wrong, needs, hint, onChange }) {
  const missing = !text && ours === undefined ? { message: needs, hint: "" } : null;
  const tools = text && ours !== undefined ? html`<button type="button" onClick=${() => onChange("")}>Use the built-in text</button>`
    : !text && ours ? html`<button type="button" onClick=${() => onChange(ours)}>Start from the built-in text</button>` : null;
  return html`
    <${Field} label=${label} tools=${tools} wrong=${wrong || missing} hint=${text ? hint : ours === undefined ? hint : `Empty: the built-in text holds. ${hint}`}>
      ${(attributes) => html`<textarea class="box own" rows="4" placeholder=${ours || ""} ...${attributes} value=${text} onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
    <//>
    ${!text && compact !== undefined && compact !== ours && html`
      <details class="more"><summary>Small local models get a shorter text</summary><p class="quote">${compact}</p></details>`}`;
}
