// @ts-check
// The fields of an advisor, over a draft.
import { Field, errorOf, Switch } from "../form.js";
import { PALETTE } from "../lists.js";
import { ModelField, ParamsFields } from "../model-fields.js";
import { html, useId } from "../ui.js";
import { length } from "./prompt.js";

/** What a field is called where we list what is not saved. */
export const NAMES = {
  name: "name", slug: "short name", description: "description", prompt: "prompt", model: "model", color: "colour",
  params: "how its model is asked", active: "whether it answers"
};

const DESCRIPTION_HINT =
  "Who it is, what it notices, what it presses on, what it misses. Write to it: “You …”.";
const PROMPT_HINT = "When there is a prompt, it replaces the description in what the model reads.";
const COLORS = ["Sienna", "Petrol", "Violet", "Madder", "Moss", "Brass", "Slate blue", "Plum"];

function Mark({ draft, saved, field, fresh }) {
  if (fresh || !draft.fields.includes(field)) return null;
  if (!draft.meanwhile(field)) return html`<span class="mark">not saved yet</span>`;
  return html`
    <span class="mark clash">
      changed elsewhere meanwhile; saving replaces that. <button type="button" class="inline"
        onClick=${() => draft.set(field, saved[field])}>
        Take the other
      </button>
    </span>`;
}

export function AdvisorForm({ draft, saved, failure, fresh = false }) {
  const { now } = draft;
  const mark = (field) => html`<${Mark} draft=${draft} saved=${saved} field=${field} fresh=${fresh} />`;
  const write = (field) => (event) => draft.set(field, event.currentTarget.value);
  const prompt = now.prompt || "";
  return html`
    <div class="who-and-how">
      <div class="stack">
        <${Field} label="Name" class="headline" wrong=${errorOf(failure, "name")} mark=${mark("name")}>
          ${(attributes) => html`
            <input type="text" maxlength="120" required autocomplete="off" ...${attributes} value=${now.name}
              onInput=${write("name")} />`}
        <//>
        <${Field} label="Description" wrong=${errorOf(failure, "description")} mark=${mark("description")}
          hint=${`${DESCRIPTION_HINT}${now.description ? ` ${length(now.description)}.` : ""}`}>
          ${(attributes) => html`
            <textarea class="box" required maxlength="20000" ...${attributes} value=${now.description}
              onInput=${write("description")}></textarea>`}
        <//>
        <${Field} label="Prompt" wrong=${errorOf(failure, "prompt")} mark=${mark("prompt")}
          tools=${!prompt && now.description && html`
            <button type="button" onClick=${() => draft.set("prompt", now.description)}>
              Start from the description
            </button>`}
          hint=${`${PROMPT_HINT}${prompt ? ` ${length(prompt)}.` : ""}`}>
          ${(attributes) => html`
            <textarea class="box prompt" maxlength="100000"
              placeholder="None: the description is what the model reads." ...${attributes} value=${prompt}
            onInput=${(event) => draft.set("prompt", event.currentTarget.value || null)}></textarea>`}
        <//>
      </div>
      <div class="stack margin">
        <div class="field">
          <${Switch} label=${now.active ? "Answers when everybody is asked" : "Answers only when asked by name"}
            on=${now.active} onChange=${(on) => draft.set("active", on)} />
          ${mark("active")}
        </div>
        <${ModelField} value=${now.model} wrong=${errorOf(failure, "model")} mark=${mark("model")}
          onChange=${(model) => draft.set("model", model)} />
        <${ColorField} value=${now.color} wrong=${errorOf(failure, "color")} mark=${mark("color")}
          onChange=${(color) => draft.set("color", color)} />
        <${Slug} now=${now} fresh=${fresh} failure=${failure} mark=${mark("slug")} onInput=${write("slug")} />
        <details class="more"
          open=${Object.values(now.params).some((value) => value !== null) || Boolean(errorOf(failure, "params"))}>
          <summary>How its model is asked</summary>
          ${mark("params")}
          <${ParamsFields} value=${now.params} failure=${failure} onChange=${(params) => draft.set("params", params)}
            />
        </details>
      </div>
    </div>`;
}

function Slug({ now, fresh, failure, mark, onInput }) {
  const wrong = errorOf(failure, "slug");
  const hint = fresh && !now.slug
    ? "Left empty, it is made from the name."
    : `@${now.slug} in a message asks only this advisor.`;
  return html`
    <${Field} label="Short name" hint=${hint} wrong=${wrong} mark=${mark}>
      ${(attributes) => html`
        <input type="text" class="machine" maxlength="64" spellcheck=${false} autocapitalize="off" autocomplete="off"
          ...${attributes} value=${now.slug} onInput=${onInput} />`}
    <//>`;
}

function ColorField({ value, wrong, mark, onChange }) {
  const name = useId();
  const own = PALETTE.indexOf(value.toLowerCase()) < 0;
  return html`
    <fieldset class="colors">
      <legend>Colour ${mark}</legend>
      <div class="swatches">
        ${PALETTE.map((color, at) => html`
          <label key=${color} data-c style=${{ "--c": color }} title=${COLORS[at]}>
            <input type="radio" name=${name} value=${color} checked=${value.toLowerCase() === color}
              aria-label=${COLORS[at]} onChange=${() => onChange(color)} />
          </label>`)}
        <label class="any" data-c style=${{ "--c": own && value ? value : "#777777" }} title="Another colour">
          <input type="color" value=${/^#[0-9a-f]{6}$/i.test(value) ? value : "#777777"} aria-label="Another colour"
            data-chosen=${own && Boolean(value)}
            onInput=${(event) => onChange(event.currentTarget.value)} />
        </label>
      </div>
      ${wrong && html`<small class="wrong" role="alert">${wrong.message} ${wrong.hint}</small>`}
    </fieldset>`;
}
