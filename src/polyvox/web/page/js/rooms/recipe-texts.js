// The texts every advisor is told, in their order: ours, or the user's own in their place.
import { Field, said } from "../field.js";
import { html, useState } from "../ui.js";
import { moved } from "./recipe-change.js";
import { OwnText, useRefocus } from "./recipe-phases.js";

const TITLES = {
  identity: ["Who it is", "{name} is its name, {identity} its prompt or else its description, {short} the first sentences of that."],
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
  const absent = [...new Set([...standard.blocks, ...Object.keys(TITLES), ...Object.keys(texts)])].filter((one) => !blocks.includes(one));
  return html`
    <p class="intro">These texts stand at the beginning of everything an advisor reads, in this order.</p>
    <ol class="blocks" ref=${box}>
      ${blocks.map((block, at) => html`
        <li key=${block} data-at=${at}>
          <div class="block-head">
            <h3>${title(block)} <span class="stamp">${block}</span></h3>
            <div class="tools">
              <button type="button" data-move="-1" disabled=${at === 0} aria-label=${`Move “${title(block)}” up`} onClick=${() => move(at, -1)}>Up</button>
              <button type="button" data-move="1" disabled=${at === blocks.length - 1} aria-label=${`Move “${title(block)}” down`} onClick=${() => move(at, 1)}>Down</button>
              <button type="button" aria-label=${`Leave out “${title(block)}”`} onClick=${() => leave(at)}>Leave out</button>
            </div>
          </div>
          ${block === "protocol"
            ? html`<p class="soft">The text of the phase that holds. Phases are changed above.</p>`
            : html`<${OwnText} label=${`Text of “${title(block)}”`} ...${shown(block, texts, standard, wording)} wrong=${said(failure, `texts.${block}`)}
                needs="It has no text yet: write one, or leave it out." hint=${TITLES[block]?.[1] || "{name} and {identity} are filled in."} onChange=${(text) => write(block, text)} />`}
        </li>`)}
    </ol>
    ${blocks.length === 0 && html`<p class="remark">Nothing is sent: a model would not know who it is.</p>`}
    ${absent.length > 0 && html`
      <div class="row"><span class="soft">Left out:</span>
        ${absent.map((one) => html`<button type="button" key=${one} class="plain" onClick=${() => set("blocks", [...blocks, one])}>Put in “${title(one)}”</button>`)}
      </div>`}
    <${Another} taken=${[...blocks, ...absent]} onAdd=${(one) => set("blocks", [...blocks, one])} />`;
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
      <${Field} label="A text of your own" hint=${twice ? "There is one of this name already." : "Give it a name, then write it. It is sent to every advisor."}>
        ${(attributes) => html`<input type="text" maxlength="60" placeholder="House rules" ...${attributes} value=${name} onInput=${(event) => setName(event.currentTarget.value)}
          onKeyDown=${(event) => { if (event.key === "Enter") { event.preventDefault(); add(); } }} />`}
      <//>
      <button type="button" class="plain" disabled=${!clean || twice} onClick=${add}>Add it</button>
    </div>`;
}
