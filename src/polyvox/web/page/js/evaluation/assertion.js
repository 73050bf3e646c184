// @ts-check
// One assertion in the list: its words, where it comes from in short, and what can be done to it.
import { api } from "../api.js";
import { confirm, notifyFailure } from "../dialog.js";
import { errorOf, Field, NumberField, useForm } from "../form.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { stamp } from "../words.js";

const KIND_MARKS = {
  judge: "judged", words: "counts words", sentences: "counts sentences", contains: "looks for words",
  lacks: "looks for words", matches: "a pattern", questions: "counts questions",
  ends_with_question: "looks at its end", language: "its language", json: "valid JSON"
};

const NAMED = /^[\w-]{1,60}$/; // what can be named as a target

/** The phases of all recipes: their texts can be improved as a prompt can. */
export function usePhases() {
  const [phases] = useLoaded(async () => {
    const recipes = await api.get("/api/recipes");
    const names = recipes.flatMap(({ recipe }) => recipe.phases.map((phase) => phase.name));
    return [...new Set(names)].filter((name) => NAMED.test(name));
  }, []);
  return phases ?? [];
}

/** Choose the phase whose answers are meant. `otherwise` names what holds where none is chosen; it
 * is the ongoing one where that is left out. */
export function PhaseField({ value, otherwise, wrong, onChange }) {
  const phases = usePhases();
  if (!phases.length) return null;
  return html`
    <${Field} label="Phase" hint="The advisor answers under this phase when the assertion is run." wrong=${wrong}>
      ${(attributes) => html`
        <select ...${attributes} value=${value ?? (otherwise ? "" : "ongoing")}
          onChange=${(event) => onChange(event.currentTarget.value || null)}>
          ${otherwise && html`<option value="">${otherwise}</option>`}
          ${phases.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>`}
    <//>`;
}

/** "What was asked → what was answered", or what it is asked with. */
function Origin({ assertion, before }) {
  const { source, user_input: asked } = assertion;
  if (source && before?.source?.answer_id === source.answer_id) {
    return html`<p class="origin">From the same answer</p>`;
  }
  if (source) {
    const says = html`<span>“${source.user_input}”</span> → <span>“${source.answer}”</span>`;
    return html`
      <p class="origin">
        From ${source.conversation_id
          ? html`<a href=${`/c/${source.conversation_id}#turn-${source.turn_id}`}>${says}</a>`
          : says}
        ${!source.context_hash && html` <span class="mark">can be judged, not tried anew</span>`}
      </p>`;
  }
  return html`
    <p class="origin">
      ${asked ? html`Asked with <span>“${asked}”</span>` : "Holds wherever this advisor has answered"}
    </p>`;
}

function Edit({ assertion, onDone, onCancel }) {
  const [text, setText] = useState(assertion.text);
  const [tags, setTags] = useState(assertion.tags.join(", "));
  const [check, setCheck] = useState(null); // null: as it is
  const [phase, setPhase] = useState(assertion.phase);
  const { failure, submit } = useForm(async () => {
    // Words that nobody touched follow their check: "At most 90 words" becomes "At most 120 words".
    const words = text.trim() === assertion.text ? {} : { text: text.trim() };
    await api.patch(`/api/assertions/${assertion.id}`, {
      ...words, ...check, phase, tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean)
    });
    onDone();
  });
  return html`
    <form class="stack edit-assertion" onSubmit=${submit}>
      <${Field} label="Assertion" hint="Other words make a new version. Verdicts so far keep the words they judged."
        wrong=${errorOf(failure, "text")}>
        ${(attributes) => html`
          <textarea class="box" autofocus rows="2" ...${attributes} value=${text}
            onInput=${(event) => setText(event.currentTarget.value)}></textarea>`}
      <//>
      <${KindFields} kind=${check?.kind ?? assertion.kind} args=${check?.args ?? assertion.args}
        wrong=${errorOf(failure, "args") ?? errorOf(failure, "kind")}
        onChange=${(kind, args) => setCheck({ kind, args })} />
      <${PhaseField} value=${phase} otherwise="As in each context" wrong=${errorOf(failure, "phase")}
        onChange=${setPhase} />
      <${Field} label="Tags" hint="Separated by commas." wrong=${errorOf(failure, "tags")}>
        ${(attributes) => html`
          <input type="text" ...${attributes} value=${tags} onInput=${(event) => setTags(event.currentTarget.value)}
            />`}
      <//>
      ${failure
        && !["text", "tags", "args", "kind", "phase"].some((field) => errorOf(failure, field)) && html`
          <${Failed} failure=${failure} />`}
      <div class="row">
        <button type="submit" class="solid" disabled=${!text.trim()}>Save</button>
        <button type="button" class="plain" onClick=${onCancel}>Cancel</button>
      </div>
    </form>`;
}

const RUNS = { evaluation: "Evaluated", optimisation: "Optimised", record: "Noted" };

function History({ assertion }) {
  const [history, failure, again] = useLoaded(() => api.get(`/api/assertions/${assertion.id}/history`), [
    assertion.id, assertion.version
  ]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!history) return html`<${Waiting}>Fetching …<//>`;
  return html`
    <ol class="editions" reversed aria-label="Versions">
      ${history.versions.map((each) => html`
        <li key=${each.number}>
          <b>Version ${each.number}</b> <time class="stamp">${stamp(each.created_at)}</time> ${each.text}
        </li>`)}
    </ol>
    ${history.runs.length > 0 && html`
      <ul class="editions">
        ${history.runs.map((each) => html`
          <li key=${each.id}>
            ${RUNS[each.kind] ?? each.kind} before it came here${each.at
              ? html`, <time class="stamp">${stamp(each.at)}</time>`
              : ""}
          </li>`)}
      </ul>`}`;
}

export function Row({ assertion, before, on, onPick, onChanged }) {
  const [open, setOpen] = useState(null);
  const button = useRef(null);
  const edited = useRef(false);
  useEffect(() => { // whoever edited goes on from there
    if (open === "edit") edited.current = true;
    else if (edited.current) { edited.current = false; button.current?.focus(); }
  }, [open]);
  const act = async (change) => {
    try {
      await change();
      onChanged();
    } catch (error) {
      notifyFailure(error);
    }
  };
  const remove = async () => {
    if (await confirm("Remove this assertion?", { detail: assertion.text, yes: "Remove" })) {
      act(() => api.del(`/api/assertions/${assertion.id}`));
    }
  };
  if (open === "edit") {
    return html`
      <li>
        <${Edit} assertion=${assertion} onDone=${() => { setOpen(null); onChanged(); }}
          onCancel=${() => setOpen(null)} />
      </li>`;
  }
  return html`
    <li class=${assertion.active ? "" : "off"}>
      <label class="pick">
        <input type="checkbox" checked=${on} onChange=${(event) => onPick(event.currentTarget.checked)} />
        <span class="says">${assertion.text}</span>
      </label>
      <${Origin} assertion=${assertion} before=${before} />
      <div class="tools">
        <span class="stamp">
          ${KIND_MARKS[assertion.kind] ?? assertion.kind}
          ${assertion.phase && ` · phase ${assertion.phase}`}
          ${assertion.tags.length > 0 && ` · ${assertion.tags.join(", ")}`}
          ${!assertion.active && " · not in use"}
        </span>
        <button type="button" ref=${button} aria-label=${`Edit: ${assertion.text}`} onClick=${() => setOpen("edit")}>
          Edit
        </button>
        <button type="button" aria-label=${`${assertion.active ? "Do not use" : "Use"}: ${assertion.text}`}
          onClick=${() => act(() => api.patch(`/api/assertions/${assertion.id}`, { active: !assertion.active }))}>
          ${assertion.active ? "Do not use" : "Use"}
        </button>
        <button type="button" aria-expanded=${open === "history"} aria-label=${`History: ${assertion.text}`}
          onClick=${() => setOpen(open ? null : "history")}>
          History
        </button>
        <button type="button" aria-label=${`Remove: ${assertion.text}`} onClick=${remove}>Remove</button>
      </div>
      ${open === "history" && html`<${History} assertion=${assertion} />`}
    </li>`;
}

// How an assertion is found out: by a judge, or in code with what that kind of check takes. Which
// kinds there are, and what each takes, the server says.
const KIND_NAMES = {
  judge: "A judge reads the answer", words: "Count its words", sentences: "Count its sentences",
  questions: "Count its questions", contains: "It says some words",
  lacks: "It does not say some words", matches: "A pattern is found in it",
  ends_with_question: "It ends with a question", language: "Its language", json: "It is valid JSON",
};
const NAMES = {
  min: "At least", max: "At most", text: "Which words", pattern: "Regular expression", language: "Language",
  keys: "With these keys, separated by commas",
  ignore_case: "Capitals do not matter", whole_words: "Whole words only",
  lines: "^ and $ stand for the ends of a line",
};
const NUMBERS = new Set(["min", "max"]);
/** What holds where nothing is said. */
const SWITCHES = { ignore_case: (kind) => kind !== "matches", whole_words: () => false, lines: () => false };

function Argument({ kind, name, value, languages, onChange }) {
  if (NUMBERS.has(name)) {
    return html`<${NumberField} label=${NAMES[name]} value=${value ?? null} min=${0} onChange=${onChange} />`;
  }
  if (SWITCHES[name]) {
    return html`
      <label class="check-it">
        <input type="checkbox" checked=${value ?? SWITCHES[name](kind)}
          onChange=${(event) => onChange(event.currentTarget.checked)} /> ${NAMES[name]}
      </label>`;
  }
  if (name === "language") {
    const known = Object.entries(languages).sort(([, a], [, b]) => a.localeCompare(b));
    return html`
      <${Field} label=${NAMES[name]}>
        ${(attributes) => html`
          <select ...${attributes} value=${value ?? ""}
            onChange=${(event) => onChange(event.currentTarget.value || null)}>
            <option value="">choose one</option>
            ${known.map(([code, says]) => html`<option key=${code} value=${code}>${says}</option>`)}
          </select>`}
      <//>`;
  }
  const list = name === "keys";
  const read = (text) => (list ? text.split(",").map((key) => key.trim()).filter(Boolean) : text || null);
  return html`
    <${Field} label=${NAMES[name] ?? name}>
      ${(attributes) => html`
        <input type="text" class=${name === "pattern" ? "machine" : ""} ...${attributes}
          defaultValue=${list ? (value ?? []).join(", ") : value ?? ""}
          onInput=${(event) => onChange(read(event.currentTarget.value))} />`}
    <//>`;
}

/** `onChange(kind, args)`: another kind begins without anything. */
function KindFields({ kind, args, wrong, onChange }) {
  const [known] = useLoaded(() => api.get("/api/assertions/kinds"), []);
  const kinds = known?.kinds ?? [{ kind, args: [] }];
  const takes = kinds.find((known) => known.kind === kind)?.args ?? [];
  const pick = (name) => onChange(name, {});
  const set = (name, value) => {
    const { [name]: _, ...rest } = args;
    onChange(kind, value === null || (Array.isArray(value) && !value.length) ? rest : { ...rest, [name]: value });
  };
  return html`
    <fieldset class="kind-fields">
      <legend class="aside">How it is found out</legend>
      <${Field} label="Found out by" wrong=${wrong}>
        ${(attributes) => html`
          <select ...${attributes} value=${kind} onChange=${(event) => pick(event.currentTarget.value)}>
            ${kinds.map((choice) => html`
              <option key=${choice.kind} value=${choice.kind}>${KIND_NAMES[choice.kind] ?? choice.kind}</option>`)}
          </select>`}
      <//>
      ${takes.map((name) => html`
        <${Argument} key=${`${kind} ${name}`} kind=${kind} name=${name} value=${args[name]}
          languages=${known?.languages ?? {}} onChange=${(value) => set(name, value)} />`)}
    </fieldset>`;
}
