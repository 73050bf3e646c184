// @ts-check
// How much of a conversation an advisor is sent: the window, its reach, and the limit.
import { api } from "../api.js";
import { Choices, Field, NumberField, errorOf } from "../form.js";
import { advisors } from "../lists.js";
import { useLoaded } from "../load.js";
import { html, useState } from "../ui.js";
import { limitInWords, readLimit } from "./words.js";

const KINDS = [
  {
    value: "graceful", label: "Everything that fits",
    says: "When a conversation grows too long for the model, the oldest question goes first, together with its answer."
  },
  {
    value: "bookends", label: "The beginning and the newest part",
    says:
      "How it began stays in view, and what was said last; the middle is left out, and the advisor is told how much."
  },
  {
    value: "recent", label: "Only the newest messages of a session",
    says: "Short and cheap. What was said earlier is forgotten."
  },
];
const REACH = [
  {
    value: "conversation", label: "The whole conversation",
    says: "From its first message on, however long ago that was."
  },
  {
    value: "session", label: "The current session",
    says: "A session ends when you pause for a while; what came before is not sent."
  },
];
const NUMBERS = {
  graceful: [],
  bookends: [
    { name: "max_messages", label: "Messages in all, at most", min: 1 },
    { name: "recent_messages", label: "Of these, newest ones", min: 1 },
    { name: "system_messages", label: "Places kept for the beginning and the note", min: 0 },
  ],
  recent: [{ name: "last_messages", label: "Newest messages", min: 1 }],
};

export function Memory({ now, set, failure }) {
  const { window } = now;
  const change = (more) => set("window", { ...window, ...more });
  return html`
    <${Choices} legend="What is kept" value=${window.kind} options=${KINDS} onChange=${(kind) => change({ kind })} />
    ${NUMBERS[window.kind].length > 0 && html`
      <div class="counts">
        ${NUMBERS[window.kind].map(({ name, label, min }) => html`
          <${NumberField} key=${name} label=${label} min=${min} max=${1_000_000} value=${window[name]}
            wrong=${errorOf(failure, `window.${name}`)}
            onChange=${(value) => value !== null && change({ [name]: Math.round(value) })} />`)}
      </div>`}
    ${window.kind !== "recent" && html`
      <${Choices} legend="How far back" value=${now.scope} options=${REACH} onChange=${(scope) => set("scope", scope)}
        />`}
    <${LimitField} value=${now.context} onChange=${(context) => set("context", context)} />`;
}

const UNITS = [["chars", "characters"], ["tokens", "tokens"]];

function LimitField({ value, onChange }) {
  const [settings] = useLoaded(() => api.get("/api/settings"), []);
  const limit = readLimit(value);
  const [chosen, setChosen] = useState("chars");
  const unit = limit?.unit || chosen;
  const usual = limitInWords(settings?.limits?.context);
  const write = (number, measure) => onChange(number ? `${Math.round(number)} ${measure}` : "");
  const measure = (event) => {
    setChosen(event.currentTarget.value);
    if (limit) write(limit.amount, event.currentTarget.value);
  };
  return html`
    <div class="counts">
      <${NumberField} label="Never send more than" min=${1} max=${1_000_000_000} value=${limit?.amount ?? null}
        placeholder=${usual || "the usual limit"}
        hint="Left empty, the limit of the settings holds." onChange=${(number) => write(number, unit)} />
      <${Field} label="Counted in">
        ${(attributes) => html`
          <select ...${attributes} value=${unit} onChange=${measure}>
            ${UNITS.map(([unitName, label]) => html`<option key=${unitName} value=${unitName}>${label}</option>`)}
          </select>`}
      <//>
    </div>`;
}

// What advisors see of each other: one rule, and exceptions from one advisor to another.
const LEVELS = [
  {
    value: "none", label: "Nothing",
    says: "Each answers as if it were alone. What they share is only what you tell them."
  },
  {
    value: "last_turn", label: "The last turn",
    says: "Each reads what the others said to your message before this one, and may take it up or not."
  },
  {
    value: "thread", label: "The whole conversation",
    says: "Each reads everything the others have said. This is long, and costs accordingly."
  },
];

export function Visibility({ now, set }) {
  const { default: level, pairs } = now.visibility;
  const change = (more) => set("visibility", { ...now.visibility, ...more });
  const edit = (at, more) => change({ pairs: pairs.map((pair, i) => (i === at ? { ...pair, ...more } : pair)) });
  const add = () => {
    const [viewer, seen] = advisors.value;
    change({
      pairs: [...pairs, { viewer: viewer.id, seen: seen.id, level: level === "none" ? "last_turn" : "none" }]
    });
  };
  return html`
    <${Choices} legend="Unless there is an exception, an advisor sees of another" value=${level} options=${LEVELS}
      onChange=${(value) => change({ default: value })} />
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
              <div class="tools">
                <button type="button" aria-label=${`Remove exception ${at + 1}`}
                  onClick=${() => change({ pairs: pairs.filter((_, i) => i !== at) })}>
                  Remove
                </button>
              </div>
              ${pair.viewer === pair.seen && html`
                <p class="remark">An advisor always sees its own answers: choose two different ones.</p>`}
            </li>`)}
        </ul>
        <p class="soft">Where two of them fit, the later one holds.</p>`}
      <button type="button" class="plain" disabled=${advisors.value.length < 2} onClick=${add}>
        Add an exception
      </button>
    </div>`;
}

/** An exception may name an advisor by id or by its short name; and one that is gone by now. */
function Who({ label, value, onChange }) {
  const known = advisors.value.find((advisor) => advisor.id === value || advisor.slug === value);
  return html`
    <${Field} label=${label}>
      ${(attributes) => html`
        <select ...${attributes} value=${known?.id || value}
          onChange=${(event) => onChange(event.currentTarget.value)}>
          ${!known && html`<option value=${value}>somebody who is gone</option>`}
          ${advisors.value.map((advisor) => html`
            <option key=${advisor.id} value=${advisor.id}>${advisor.name}</option>`)}
        </select>`}
    <//>`;
}

function Level({ value, onChange }) {
  return html`
    <${Field} label="this much">
      ${(attributes) => html`
        <select ...${attributes} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
          ${LEVELS.map((choice) => html`<option key=${choice.value} value=${choice.value}>${choice.label}</option>`)}
        </select>`}
    <//>`;
}
