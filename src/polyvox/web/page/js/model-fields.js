// @ts-check
// Choosing a model: those we know by name, by provider, or any other as provider:name.
import { Field, NumberField, errorOf } from "./form.js";
import { loadModels, models } from "./lists.js";
import { html, useEffect, useState } from "./ui.js";

const OTHER = " other";
const KEYLESS = { missing: " · no key yet" };

function keyHint(value) {
  const name = (value || "").split(":")[0];
  const provider = models.value?.providers.find((entry) => entry.name === name);
  if (provider?.key !== "missing") return "";
  const source = provider.key_source ? ` (${provider.key_source})` : "";
  return `${name} has no key yet${source}: its answers will fail until there is one.`;
}

/** `value` is "provider:name", or null for the default, which `otherwise` names. */
export function ModelField({ value, onChange, wrong, mark, otherwise, label = "Model" }) {
  useEffect(() => { if (!models.value) loadModels().catch(() => {}); }, []);
  const providers = (models.value?.providers || []).filter((provider) => provider.models.length);
  const known = providers.some((provider) => provider.models.includes(value));
  const [typing, setTyping] = useState(false);
  const free = typing || (Boolean(value) && models.value !== null && !known);
  const choose = (event) => {
    const chosen = event.currentTarget.value;
    setTyping(chosen === OTHER);
    if (chosen !== OTHER) onChange(chosen || null);
  };
  const fallback = otherwise || models.value?.default;
  return html`
    <${Field} label=${label} mark=${mark} wrong=${free ? null : wrong} hint=${free ? "" : keyHint(value)}>
      ${(attributes) => html`
        <select ...${attributes} value=${free ? OTHER : value || ""} onChange=${choose}>
          <option value="">${fallback ? `The default (${fallback})` : "The default"}</option>
          ${value && !known && !free && html`<option value=${value}>${value}</option>`}
          ${providers.map((provider) => html`
            <optgroup key=${provider.name} label=${provider.name + (KEYLESS[provider.key] || "")}>
              ${provider.models.map((model) => html`<option key=${model} value=${model}>${model}</option>`)}
            </optgroup>`)}
          <option value=${OTHER}>Another model …</option>
        </select>`}
    <//>
    ${free && html`
      <${Field} label="Its name" wrong=${wrong}
        hint=${keyHint(value) || "As provider:name, for example openrouter:qwen/qwen3-32b."}>
        ${(attributes) => html`
          <input type="text" class="machine" ...${attributes} value=${value || ""} placeholder="provider:name"
            spellcheck=${false}
            autocapitalize="off" autocomplete="off"
            onInput=${(event) => onChange(event.currentTarget.value.trim() || null)} />`}
      <//>`}`;
}

// How a model is asked: four numbers, each of which may be left to whoever decides otherwise.
export const NO_PARAMS = { max_tokens: null, temperature: null, top_p: null, reasoning: null };

const FIELDS = [
  {
    name: "max_tokens", label: "Longest answer", hint: "In tokens; a token is about four letters.", min: 1,
    max: 1_000_000
  },
  {
    name: "temperature", label: "Temperature", hint: "0 to 2. Low keeps to the likely word, high varies more.",
    min: 0, max: 2, step: 0.1
  },
  {
    name: "top_p", label: "Top p", hint: "Above 0, up to 1. Lower leaves out unlikely words.", min: 0, max: 1,
    step: 0.05
  },
  {
    name: "reasoning", label: "Thinking",
    hint: "How many tokens it may think before it answers; 0 turns thinking off.", min: 0, max: 1_000_000
  },
];

/** `otherwise` says who decides where a number is left out. */
export function ParamsFields({ value, onChange, failure, otherwise = "as usual" }) {
  return html`
    <div class="params">
      ${FIELDS.map(({ name, ...field }) => html`
        <${NumberField} key=${name} ...${field} value=${value[name]} placeholder=${otherwise}
          wrong=${errorOf(failure, `params.${name}`)}
          onChange=${(number) => onChange({ ...NO_PARAMS, ...value, [name]: number })} />`)}
    </div>`;
}
