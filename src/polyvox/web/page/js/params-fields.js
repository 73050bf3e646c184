// How a model is asked: four numbers, each of which may be left to whoever decides otherwise.
import { NumberField, said } from "./field.js";
import { html } from "./ui.js";

export const NO_PARAMS = { max_tokens: null, temperature: null, top_p: null, reasoning: null };

const FIELDS = [
  { name: "max_tokens", label: "Longest answer", hint: "In tokens; a token is about four letters.", min: 1, max: 1_000_000 },
  { name: "temperature", label: "Temperature", hint: "0 to 2. Low keeps to the likely word, high varies more.", min: 0, max: 2, step: 0.1 },
  { name: "top_p", label: "Top p", hint: "Above 0, up to 1. Lower leaves out unlikely words.", min: 0, max: 1, step: 0.05 },
  { name: "reasoning", label: "Thinking", hint: "How many tokens it may think before it answers; 0 turns thinking off.", min: 0, max: 1_000_000 },
];

/** `otherwise` says who decides where a number is left out. */
export function ParamsFields({ value, onChange, failure, otherwise = "as usual" }) {
  return html`
    <div class="params">
      ${FIELDS.map(({ name, ...field }) => html`
        <${NumberField} key=${name} ...${field} value=${value[name]} placeholder=${otherwise}
          wrong=${said(failure, `params.${name}`)}
          onChange=${(number) => onChange({ ...NO_PARAMS, ...value, [name]: number })} />`)}
    </div>`;
}
