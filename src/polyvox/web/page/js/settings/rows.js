// @ts-check
// One line for every setting the server names, drawn by its type, so that later ones appear by
// themselves. A change is kept when the field is left; what the server says against it stands there.
import { moved } from "../form.js";
import { html, useEffect, useId, useRef, useState } from "../ui.js";
import { changeSetting, modelNames } from "./state.js";

const NAMES = {
  timezone: "Time zone",
  "models.default": "Default model", "models.fallback": "Fallback models", "models.synthesis": "Model for syntheses",
  "limits.context": "Largest request", "limits.max_tokens": "Longest answer",
  "limits.local_max_tokens": "Longest answer, embedded model",
  "limits.first_byte": "Wait for a first word", "limits.stall": "Longest silence", "limits.deadline": "Longest time",
  "limits.retries": "Further tries", "limits.retry_wait": "Longest wait for a retry",
  "limits.cost_per_turn": "Cost of a turn", "limits.cost_per_conversation": "Cost of a conversation",
  "limits.cost_per_day": "Cost of a day",
  "limits.exchange_rounds": "Rounds of an exchange", "limits.queue": "Waiting messages",
  "sessions.idle_minutes": "Minutes to a new session", "safety.resources": "Where to find help",
  "memory.share": "Private conversations",
};

/** A setting's name for people; one we have no words for is spelt out from its own. */
function labelOf(name) {
  const bare = name.split(".").pop().replaceAll("_", " ");
  return NAMES[name] ?? bare[0].toUpperCase() + bare.slice(1);
}

const written = (value) => (value === null || value === undefined ? "" : String(value));

/** What an empty field stands for. */
function emptyMeans(row) {
  if (row.means) return `automatic: ${row.means}`;
  return row.type === "number" && row.optional ? "no limit" : "";
}

/** What is typed as a value to send; null: the default. */
function typed(row, text) {
  const bare = text.trim();
  if (row.type === "number") return bare === "" ? null : Number(bare.replace(",", "."));
  return bare === "" && !row.optional ? null : bare;
}

function Text({ row, attrs, save }) {
  const number = row.type === "number";
  const [text, setText] = useState(written(row.value));
  useEffect(() => { setText(written(row.value)); }, [row.value]);
  const leave = () => { if (text.trim() !== written(row.value)) save(typed(row, text)); };
  return html`
    <input ...${attrs} type="text" inputmode=${number ? (row.whole ? "numeric" : "decimal") : undefined}
      class=${number ? "short" : ""}
      list=${row.type === "model" ? "every-model" : undefined} placeholder=${emptyMeans(row)} autocomplete="off"
      spellcheck=${false}
      value=${text} onInput=${(event) => setText(event.target.value)} onBlur=${leave}
      onKeyDown=${(event) => {
        if (event.key === "Enter") leave();
        if (event.key === "Escape") setText(written(row.value));
      }}
      />`;
}

const Choice = ({ row, attrs, save }) => html`
  <select ...${attrs} value=${row.value} onChange=${(event) => save(event.target.value)}>
    ${row.choices.map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}
  </select>`;

const Switch = ({ row, attrs, save }) => html`
  <input ...${attrs} type="checkbox" checked=${row.value} onChange=${(event) => save(event.target.checked)} />`;

/** Several lines, such as a text for each language. */
function Lines({ row, attrs, save }) {
  const [text, setText] = useState(row.value);
  useEffect(() => { setText(row.value); }, [row.value]);
  return html`
    <textarea ...${attrs} class="box" dir="auto" rows="8" value=${text}
      onInput=${(event) => setText(event.target.value)}
      onBlur=${() => { if (text.trim() !== row.value) save(text.trim() || null); }} />`;
}

const FIELDS = { choice: Choice, switch: Switch, models: ModelsField };

/** @returns {[{ busy?: boolean, saved?: boolean, error?: any }, (value: any) => Promise<boolean>]} */
function useSaving(row) {
  const [state, setState] = useState({});
  const turn = useRef(0);
  const before = useRef(Promise.resolve());
  const save = async (value) => {
    const mine = ++turn.current;
    setState({ busy: true });
    const work = before.current.then(() => changeSetting(row.name, value)); // one after the other: the last one holds
    before.current = work.catch(() => {});
    try {
      await work;
      if (mine === turn.current) setState({ saved: true });
      return true;
    } catch (error) {
      if (mine === turn.current) setState({ error });
      return false;
    }
  };
  return [state, save];
}

function origin(row) {
  if (row.locked) return html`<span class="lock">Set in ${row.where}; change it there.</span>`;
  return null;
}

export function SettingRow({ row }) {
  const id = useId();
  const [state, save] = useSaving(row);
  const Field = row.lines ? Lines : FIELDS[row.type] ?? Text;
  const attrs = {
    id, disabled: row.locked || undefined, "aria-describedby": `${id}-help ${id}-said`,
    "aria-invalid": state.error ? "true" : undefined,
  };
  return html`
    <div class="setting" data-setting=${row.name}>
      <div class="what">
        <label for=${id}>${labelOf(row.name)}</label>
        <small id=${`${id}-help`}>${row.help}</small>
      </div>
      <div class="value">
        <${Field} row=${row} attrs=${attrs} save=${save} />
        <p class="said" id=${`${id}-said`} role="status">
          ${origin(row)}
          ${state.error && html`<span class="wrong"><b>${state.error.message}</b> ${state.error.hint}</span>`}
          ${state.busy && html`<span>Keeping …</span>`}
          ${state.saved && html`<span class="kept">Kept.</span>`}
          ${!row.locked && row.origin === "page" && html`
            <button type="button" class="quiet" aria-label=${`Back to ${shown(row)}: ${labelOf(row.name)}`}
              onClick=${() => save(null)}>
              Back to ${shown(row)}
            </button>`}
        </p>
      </div>
    </div>`;
}

/** The default in words. */
function shown(row) {
  const value = written(row.default);
  if (row.type === "models") return row.default.length ? row.default.join(", ") : "none";
  if (row.type === "switch") return row.default ? "on" : "off";
  if (row.lines) return "our texts";
  return value || (row.type === "number" ? "no limit" : "automatic");
}

/** The names that model fields complete to; once on the page. */
export const ModelList = () => html`
  <datalist id="every-model">${modelNames.value.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`;

// A list of models in an order: the fallbacks.
function Line({ name, at, list, save, locked }) {
  const others = list.filter((_, i) => i !== at);
  return html`
    <li>
      <code>${name}</code>
      ${!locked && html`<span class="tools">
        <button type="button" aria-label=${`Try ${name} earlier`} disabled=${at === 0}
          onClick=${() => save(moved(list, at, at - 1))}>
          ↑
        </button>
        <button type="button" aria-label=${`Try ${name} later`} disabled=${at === list.length - 1}
          onClick=${() => save(moved(list, at, at + 1))}>
          ↓
        </button>
        <button type="button" aria-label=${`Do not fall back to ${name}`} onClick=${() => save(others)}>Remove</button>
      </span>`}
    </li>`;
}

function ModelsField({ row, attrs, save }) {
  const [text, setText] = useState("");
  const list = useRef(row.value); // what was sent last, though its answer may be on its way
  useEffect(() => { list.current = row.value; }, [row.value]);
  const add = async () => {
    const name = text.trim();
    if (!name) return;
    setText(""); // at once: the next name may be typed before this one is kept
    list.current = [...list.current.filter((model) => model !== name), name];
    if (await save(list.current)) return;
    list.current = row.value;
    setText((typed) => typed || name);
  };
  return html`
    <div class="ordered">
      ${row.value.length > 0 && html`
        <ol>
          ${row.value.map((name, at) => html`
            <${Line} key=${name} name=${name} at=${at} list=${row.value} save=${save} locked=${row.locked} />`)}
        </ol>`}
      <div class="row">
        <input ...${attrs} type="text" list="every-model"
          placeholder=${row.value.length ? "and then …" : "none; name one to add it"} autocomplete="off"
          spellcheck=${false}
          value=${text} onInput=${(event) => setText(event.target.value)}
          onKeyDown=${(event) => { if (event.key === "Enter") add(); }} />
        ${text.trim() && html`<button type="button" class="plain" onClick=${add}>Add</button>`}
      </div>
    </div>`;
}
