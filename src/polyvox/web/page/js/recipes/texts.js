// @ts-check
// Phases: what an advisor is told at the beginning, and what from then on.
import { Field, NumberField, errorOf, moved } from "../form.js";
import { html, useLayoutEffect, useRef, useState } from "../ui.js";

/**
 * After something moved, the button that moved it keeps the focus.
 * @returns {[{ current: any }, (selector: string) => void]}
 */
function useRefocus() {
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
  const change = (at, more) => set("phases", list.map((phase, i) => (i === at ? { ...phase, ...more } : phase)));
  const move = (at, step) => {
    refocus(`[data-at="${at + step}"] [data-move="${step}"]`);
    set("phases", moved(list, at, at + step));
  };
  const remove = (at) => set("phases", list.filter((_, i) => i !== at));
  const add = () => {
    // Behind an open phase nothing is ever reached: a new one goes in front of it.
    const open = list.findIndex((phase) => phase.answers === null);
    const at = open < 0 ? list.length : open;
    const fresh = { name: name(list), answers: 3, text: "" };
    refocus(`[data-at="${at}"] input`);
    set("phases", [...list.slice(0, at), fresh, ...list.slice(at)]);
  };
  const open = list.findIndex((phase) => phase.answers === null);
  return html`
    <p class="intro">
      An advisor counts its own answers in a conversation. Each phase tells it what to do for some of them, in this
      order.
    </p>
    ${list.length === 0 && html`
      <p class="soft">There are none: an advisor is told the same from its first answer on.</p>`}
    <ol class="phases" ref=${box}>
      ${list.map((phase, at) => html`
        <${Phase} key=${at} at=${at} phase=${phase} last=${at === list.length - 1} out=${open >= 0 && at > open}
          failure=${failure} wording=${wording}
          onChange=${(more) => change(at, more)} onMove=${(step) => move(at, step)} onRemove=${() => remove(at)} />`)}
    </ol>
    ${list.length > 0 && open < 0 && html`
      <p class="remark">After these, no phase holds. Let the last one hold “from then on” if something should.</p>`}
    <div class="row"><button type="button" class="plain" onClick=${add}>Add a phase</button></div>
    ${open >= 0 && html`
      <label class="pick">
        <input type="checkbox" checked=${now.count_turns}
          onChange=${(event) => set("count_turns", event.currentTarget.checked)} />
        <span>
          <b>Tell the last phase its turn number</b>
          <small>The text then differs every turn, so providers can reuse less of it and charge more.</small>
        </span>
      </label>`}`;
}

function name(list) {
  let number = list.length + 1;
  while (list.some((phase) => phase.name === `phase ${number}`)) number += 1;
  return `phase ${number}`;
}

function Phase({ at, phase, last, out, failure, wording, onChange, onMove, onRemove }) {
  const endless = phase.answers === null;
  const called = phase.name || "this phase";
  const wrong = (key) => errorOf(failure, `phases.${at}.${key}`);
  return html`
    <li class="phase" data-at=${at}>
      <div class="phase-head">
        <${Field} label="Name" wrong=${wrong("name")}>
          ${(attributes) => html`
            <input type="text" maxlength="60" ...${attributes} value=${phase.name}
              onInput=${(event) => onChange({ name: event.currentTarget.value })} />`}
        <//>
        ${!endless && html`
          <${NumberField} label="Lasts, in answers" min=${0} max=${1000} value=${phase.answers}
            wrong=${wrong("answers")}
            onChange=${(answers) => onChange({ answers: answers === null ? 0 : Math.round(answers) })} />`}
        ${(last || endless) && html`
          <label class="pick">
            <input type="checkbox" checked=${endless}
              onChange=${(event) => onChange({ answers: event.currentTarget.checked ? null : 3 })} />
            <span>holds from then on</span>
          </label>`}
        <div class="tools">
          <button type="button" data-move="-1" disabled=${at === 0} aria-label=${`Move ${called} up`}
            onClick=${() => onMove(-1)}>
            Up
          </button>
          <button type="button" data-move="1" disabled=${last} aria-label=${`Move ${called} down`}
            onClick=${() => onMove(1)}>
            Down
          </button>
          <button type="button" aria-label=${`Remove ${called}`} onClick=${onRemove}>Remove</button>
        </div>
      </div>
      ${out && html`<p class="remark">The phase before holds from then on, so this one is never reached.</p>`}
      ${phase.answers === 0 && html`<p class="remark">It lasts no answers: it is skipped.</p>`}
      <${OwnText} label=${`What an advisor is told in “${called}”`} text=${phase.text}
        ours=${wording.full[phase.name]} compact=${wording.compact[phase.name]}
        wrong=${wrong("text")} needs=${`There is no built-in text called “${phase.name}”: write one.`}
        hint=${endless
          ? "{k} is filled in: the number of its answer."
          : "{k} and {n} are filled in, as in “answer {k} of {n}”."}
        onChange=${(text) => onChange({ text })} />
    </li>`;
}

/** A text of the user's own in place of ours; empty, ours holds and is shown. */
function OwnText({ label, text, ours, compact, wrong, needs, hint, onChange }) {
  const missing = !text && ours === undefined ? { message: needs, hint: "" } : null;
  const tools = text && ours !== undefined
    ? html`<button type="button" onClick=${() => onChange("")}>Use the built-in text</button>`
    : !text && ours
    ? html`<button type="button" onClick=${() => onChange(ours)}>Start from the built-in text</button>`
    : null;
  return html`
    <${Field} label=${label} tools=${tools} wrong=${wrong || missing}
      hint=${text ? hint : ours === undefined ? hint : `Empty: the built-in text holds. ${hint}`}>
      ${(attributes) => html`
        <textarea class="box own" rows="4" placeholder=${ours || ""} ...${attributes} value=${text}
          onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
    <//>
    ${!text && compact !== undefined && compact !== ours && html`
      <details class="more">
        <summary>Small local models get a shorter text</summary><p class="quote">${compact}</p>
      </details>`}`;
}

// The texts every advisor is told, in their order: ours, or the user's own in their place.
const TITLES = {
  identity: [
    "Who it is",
    "{name} is its name, {identity} its prompt or else its description, {short} the first sentences of that."
  ],
  shared: ["Where it is", "The same for every advisor: what kind of conversation this is. {name} is its name."],
  protocol: ["What the phase says", ""],
  rules: ["How it writes", "The same for every advisor. {name} is its name."],
};
const title = (block) => TITLES[block]?.[0] || block;

export function Texts({ now, standard, set, failure, wording }) {
  const { blocks, texts } = now;
  const [box, refocus] = useRefocus();
  const write = (block, text) => {
    const { [block]: _, ...rest } = texts;
    // Empty means: as it came. Where the recipe came with a text of its own, that one is back.
    const value = text || standard.texts[block];
    set("texts", value ? { ...rest, [block]: value } : rest);
  };
  const move = (at, step) => {
    refocus(`[data-at="${at + step}"] [data-move="${step}"]`);
    set("blocks", moved(blocks, at, at + step));
  };
  const leave = (at) => set("blocks", blocks.filter((_, i) => i !== at));
  const absent = [
    ...new Set([...standard.blocks, ...Object.keys(TITLES), ...Object.keys(texts)])
  ].filter((block) => !blocks.includes(block));
  return html`
    <p class="intro">These texts stand at the beginning of everything an advisor reads, in this order.</p>
    <ol class="blocks" ref=${box}>
      ${blocks.map((block, at) => html`
        <li key=${block} data-at=${at}>
          <div class="block-head">
            <h3>${title(block)} <span class="stamp">${block}</span></h3>
            <div class="tools">
              <button type="button" data-move="-1" disabled=${at === 0} aria-label=${`Move “${title(block)}” up`}
                onClick=${() => move(at, -1)}>
                Up
              </button>
              <button type="button" data-move="1" disabled=${at === blocks.length - 1}
                aria-label=${`Move “${title(block)}” down`} onClick=${() => move(at, 1)}>
                Down
              </button>
              <button type="button" aria-label=${`Leave out “${title(block)}”`} onClick=${() => leave(at)}>
                Leave out
              </button>
            </div>
          </div>
          ${block === "protocol"
            ? html`<p class="soft">The text of the phase that holds. Phases are changed above.</p>`
            : html`
              <${OwnText} label=${`Text of “${title(block)}”`} ...${shown(block, texts, standard, wording)}
                wrong=${errorOf(failure, `texts.${block}`)}
                needs="It has no text yet: write one, or leave it out."
                hint=${TITLES[block]?.[1] || "{name} and {identity} are filled in."}
                onChange=${(text) => write(block, text)} />`}
        </li>`)}
    </ol>
    ${blocks.length === 0 && html`<p class="remark">Nothing is sent: a model would not know who it is.</p>`}
    ${absent.length > 0 && html`
      <div class="row"><span class="soft">Left out:</span>
        ${absent.map((block) => html`
          <button type="button" key=${block} class="plain" onClick=${() => set("blocks", [...blocks, block])}>
            Put in “${title(block)}”
          </button>`)}
      </div>`}
    <details class="soft">
      <summary>Every recipe ends with what to do when somebody is in danger</summary>
      <p>${wording.full.danger}</p>
    </details>
    <${Another} taken=${[...blocks, ...absent, "danger"]} onAdd=${(block) => set("blocks", [...blocks, block])} />`;
}

/** The user's text and ours; a text the recipe came with counts as ours. */
function shown(block, texts, standard, wording) {
  const came = standard.texts[block];
  const text = texts[block] === came ? "" : texts[block] || "";
  return { text, ours: came ?? wording.full[block], compact: came === undefined ? wording.compact[block] : undefined };
}

function Another({ taken, onAdd }) {
  const [name, setName] = useState("");
  const clean = name.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "");
  const twice = taken.includes(clean);
  const add = () => {
    if (!clean || twice) return;
    onAdd(clean);
    setName("");
  };
  return html`
    <div class="another">
      <${Field} label="A text of your own"
        hint=${twice
          ? "There is one of this name already."
          : "Give it a name, then write it. It is sent to every advisor."}>
        ${(attributes) => html`
          <input type="text" maxlength="60" placeholder="House rules" ...${attributes} value=${name}
            onInput=${(event) => setName(event.currentTarget.value)}
          onKeyDown=${(event) => { if (event.key === "Enter") { event.preventDefault(); add(); } }} />`}
      <//>
      <button type="button" class="plain" disabled=${!clean || twice} onClick=${add}>Add it</button>
    </div>`;
}
