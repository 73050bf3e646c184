// Choosing a model: those we know by name, by provider, or any other as provider:name.
import { Field } from "./field.js";
import { loadModels, models } from "./models.js";
import { html, useEffect, useState } from "./ui.js";

const OTHER = " other";
const KEYLESS = { missing: " · no key yet" };

function keyHint(value) {
  const name = (value || "").split(":")[0];
  const provider = models.value?.providers.find((one) => one.name === name);
  if (provider?.key !== "missing") return "";
  return `${name} has no key yet${provider.key_source ? ` (${provider.key_source})` : ""}: its answers will fail until there is one.`;
}

/** `value` is "provider:name", or null for the default, which `otherwise` names. */
export function ModelField({ value, onChange, wrong, mark, otherwise, label = "Model" }) {
  useEffect(() => { if (!models.value) loadModels().catch(() => {}); }, []);
  const providers = (models.value?.providers || []).filter((one) => one.models.length);
  const known = providers.some((one) => one.models.includes(value));
  const [typing, setTyping] = useState(false);
  const free = typing || (Boolean(value) && models.value !== null && !known);
  const choose = (event) => {
    const chosen = event.currentTarget.value;
    setTyping(chosen === OTHER);
    if (chosen !== OTHER) onChange(chosen || null);
  };
  const plain = wrong && /pattern/.test(wrong.message)
    ? { message: "A model is written provider:name.", hint: "For example openai:gpt-4o-mini." } : wrong;
  const fallback = otherwise || models.value?.default;
  return html`
    <${Field} label=${label} mark=${mark} wrong=${free ? null : plain} hint=${free ? "" : keyHint(value)}>
      ${(attributes) => html`
        <select ...${attributes} value=${free ? OTHER : value || ""} onChange=${choose}>
          <option value="">${fallback ? `The default (${fallback})` : "The default"}</option>
          ${value && !known && !free && html`<option value=${value}>${value}</option>`}
          ${providers.map((one) => html`
            <optgroup key=${one.name} label=${one.name + (KEYLESS[one.key] || "")}>
              ${one.models.map((model) => html`<option key=${model} value=${model}>${model}</option>`)}
            </optgroup>`)}
          <option value=${OTHER}>Another model …</option>
        </select>`}
    <//>
    ${free && html`
      <${Field} label="Its name" wrong=${plain} hint=${keyHint(value) || "As provider:name, for example openrouter:qwen/qwen3-32b."}>
        ${(attributes) => html`
          <input type="text" class="machine" ...${attributes} value=${value || ""} placeholder="provider:name" spellcheck=${false}
            autocapitalize="off" autocomplete="off" onInput=${(event) => onChange(event.currentTarget.value.trim() || null)} />`}
      <//>`}`;
}
