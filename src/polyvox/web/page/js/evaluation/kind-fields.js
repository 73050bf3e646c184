// How an assertion is found out: by a judge, or in code with what that kind of check takes. Which
// kinds there are, and what each takes, the server says.
import { api } from "../api.js";
import { Field, NumberField } from "../field.js";
import { useLoaded } from "../load.js";
import { html } from "../ui.js";

export const KINDS = {
  judge: "A judge reads the answer", words: "Count its words", sentences: "Count its sentences", questions: "Count its questions", contains: "It says some words",
  lacks: "It does not say some words", matches: "A pattern is found in it", ends_with_question: "It ends with a question", language: "Its language", json: "It is valid JSON",
};
const NAMES = {
  min: "At least", max: "At most", text: "Which words", pattern: "Regular expression", language: "Language", keys: "With these keys, separated by commas",
  ignore_case: "Capitals do not matter", whole_words: "Whole words only", lines: "^ and $ stand for the ends of a line",
};
const NUMBERS = new Set(["min", "max"]);
/** What holds where nothing is said. */
const SWITCHES = { ignore_case: (kind) => kind !== "matches", whole_words: () => false, lines: () => false };

function Argument({ kind, name, value, languages, onChange }) {
  if (NUMBERS.has(name)) return html`<${NumberField} label=${NAMES[name]} value=${value ?? null} min=${0} onChange=${onChange} />`;
  if (SWITCHES[name]) {
    return html`<label class="check-it"><input type="checkbox" checked=${value ?? SWITCHES[name](kind)} onChange=${(event) => onChange(event.currentTarget.checked)} /> ${NAMES[name]}</label>`;
  }
  if (name === "language") {
    const known = Object.entries(languages).sort(([, a], [, b]) => a.localeCompare(b));
    return html`<${Field} label=${NAMES[name]}>${(attributes) => html`<select ...${attributes} value=${value ?? ""} onChange=${(event) => onChange(event.currentTarget.value || null)}><option value="">choose one</option>${known.map(([code, says]) => html`<option key=${code} value=${code}>${says}</option>`)}</select>`}<//>`;
  }
  const list = name === "keys";
  const read = (text) => (list ? text.split(",").map((one) => one.trim()).filter(Boolean) : text || null);
  return html`<${Field} label=${NAMES[name] ?? name}>${(attributes) => html`<input type="text" class=${name === "pattern" ? "machine" : ""} ...${attributes} defaultValue=${list ? (value ?? []).join(", ") : value ?? ""} onInput=${(event) => onChange(read(event.currentTarget.value))} />`}<//>`;
}

/** `onChange(kind, args)`: another kind begins without anything. */
export function KindFields({ kind, args, wrong, onChange }) {
  const [known] = useLoaded(() => api.get("/api/assertions/kinds"), []);
  const kinds = known?.kinds ?? [{ kind, args: [] }];
  const takes = kinds.find((one) => one.kind === kind)?.args ?? [];
  const pick = (name) => onChange(name, {});
  const set = (name, value) => {
    const { [name]: _, ...rest } = args;
    onChange(kind, value === null || (Array.isArray(value) && !value.length) ? rest : { ...rest, [name]: value });
  };
  return html`
    <fieldset class="kind-fields">
      <legend class="aside">How it is found out</legend>
      <${Field} label="Found out by" wrong=${wrong}>${(attributes) => html`<select ...${attributes} value=${kind} onChange=${(event) => pick(event.currentTarget.value)}>${kinds.map((one) => html`<option key=${one.kind} value=${one.kind}>${KINDS[one.kind] ?? one.kind}</option>`)}</select>`}<//>
      ${takes.map((name) => html`<${Argument} key=${`${kind} ${name}`} kind=${kind} name=${name} value=${args[name]} languages=${known?.languages ?? {}} onChange=${(value) => set(name, value)} />`)}
    </fieldset>`;
}
