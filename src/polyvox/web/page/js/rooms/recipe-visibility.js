// What advisors see of each other: one rule, and exceptions from one advisor to another.
import { advisors } from "../council.js";
import { Choices, Field } from "../field.js";
import { html } from "../ui.js";

const LEVELS = [
  { value: "none", label: "Nothing", says: "Each answers as if it were alone. What they share is only what you tell them." },
  { value: "last_turn", label: "The last turn", says: "Each reads what the others said to your message before this one, and may take it up or not." },
  { value: "thread", label: "The whole conversation", says: "Each reads everything the others have said. This is long, and costs accordingly." },
];

export function Visibility({ now, set }) {
  const { default: level, pairs } = now.visibility;
  const change = (more) => set("visibility", { ...now.visibility, ...more });
  const edit = (at, more) => change({ pairs: pairs.map((one, i) => (i === at ? { ...one, ...more } : one)) });
  const add = () => {
    const [viewer, seen] = advisors.value;
    change({ pairs: [...pairs, { viewer: viewer.id, seen: seen.id, level: level === "none" ? "last_turn" : "none" }] });
  };
  return html`
    <${Choices} legend="Unless there is an exception, an advisor sees of another" value=${level} options=${LEVELS} onChange=${(value) => change({ default: value })} />
    <div>
      <h3>Exceptions</h3>
      ${pairs.length === 0 && html`<p class="soft">None: the rule holds between all of them.</p>`}
      ${pairs.length > 0 && html`
        <ul class="pairs">
          ${pairs.map((pair, at) => html`
            <li key=${at}>
              <${Who} label="Advisor" value=${pair.viewer} onChange=${(viewer) => edit(at, { viewer })} />
              <${Who} label="sees of" value=${pair.seen} onChange=${(seen) => edit(at, { seen })} />
              <${Level} value=${pair.level} onChange=${(value) => edit(at, { level: value })} />
              <div class="tools"><button type="button" aria-label=${`Remove exception ${at + 1}`} onClick=${() => change({ pairs: pairs.filter((_, i) => i !== at) })}>Remove</button></div>
              ${pair.viewer === pair.seen && html`<p class="remark">An advisor always sees its own answers: choose two different ones.</p>`}
            </li>`)}
        </ul>
        <p class="soft">Where two of them fit, the later one holds.</p>`}
      <button type="button" class="plain" disabled=${advisors.value.length < 2} onClick=${add}>Add an exception</button>
    </div>`;
}

/** An exception may name an advisor by id or by its short name; and one that is gone by now. */
function Who({ label, value, onChange }) {
  const known = advisors.value.find((one) => one.id === value || one.slug === value);
  return html`
    <${Field} label=${label}>
      ${(attributes) => html`
        <select ...${attributes} value=${known?.id || value} onChange=${(event) => onChange(event.currentTarget.value)}>
          ${!known && html`<option value=${value}>somebody who is gone</option>`}
          ${advisors.value.map((one) => html`<option key=${one.id} value=${one.id}>${one.name}</option>`)}
        </select>`}
    <//>`;
}

function Level({ value, onChange }) {
  return html`
    <${Field} label="this much">
      ${(attributes) => html`
        <select ...${attributes} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
          ${LEVELS.map((one) => html`<option key=${one.value} value=${one.value}>${one.label}</option>`)}
        </select>`}
    <//>`;
}
