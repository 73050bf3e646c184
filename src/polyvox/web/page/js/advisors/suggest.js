// Perspectives for a question: a model proposes, the person picks and changes; those who are
// picked become advisors.
import { api } from "../api.js";
import { Dialog, tell } from "../dialog.js";
import { Field, said } from "../form.js";
import { advisors, loadAdvisors } from "../lists.js";
import { Failed } from "../load.js";
import { ModelField } from "../model-fields.js";
import { pref } from "../prefs.js";
import { html, signal, useEffect, useRef, useState } from "../ui.js";
import { plural } from "../words.js";
import { freshColor } from "./list.js";

/** The last proposals, with what was changed and picked of them: closing the dialog loses nothing. */
const proposals = signal(null);
const COUNTS = [2, 3, 4, 5, 6, 7, 8];

/** The dialog; `question` fills it in, `onAdded` is given the new advisors. */
export function Suggest({ question = "", onClose, onAdded }) {
  const kept = pref("draft.suggest", "");
  const [count, setCount] = useState(5);
  const [model, setModel] = useState(null);
  const found = proposals.value;
  const [failure, setFailure] = useState(null);
  const asking = useRef(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (question) kept.value = question;
    return () => asking.current?.abort();
  }, []);
  const ask = async (event) => {
    event.preventDefault();
    const stop = new AbortController();
    asking.current = stop;
    setBusy(true);
    setFailure(null);
    try {
      const body = { question: kept.value.trim(), count, ...(model ? { model } : {}) };
      const answer = await api.post("/api/advisors/suggest", body, { signal: stop.signal });
      proposals.value = { ...answer, list: answer.suggestions.map((one) => ({ ...one, chosen: false })) };
    } catch (error) {
      if (error.name !== "AbortError") setFailure(error);
    }
    setBusy(false);
  };
  return html`
    <${Dialog} title="Suggest perspectives" onClose=${onClose} wide>
      <form class="stack perspectives" onSubmit=${ask}>
        <${Field} label="The question you carry" hint="A model reads it and proposes people who would see it differently. Nobody is added before you say so.">
          ${(attributes) => html`<textarea class="box" rows="4" autofocus required ...${attributes} value=${kept.value} onInput=${(event) => { kept.value = event.currentTarget.value; }}></textarea>`}
        <//>
        <div class="asking">
          <${Field} label="How many">
            ${(attributes) => html`<select ...${attributes} value=${count} onChange=${(event) => setCount(Number(event.currentTarget.value))}>${COUNTS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select>`}
          <//>
          <div><${ModelField} label="Asked of" value=${model} onChange=${setModel} wrong=${said(failure, "model")} /></div>
          ${busy // two buttons, not one that changes: a click that stops must not become one that asks
            ? html`<button key="stop" type="button" class="plain" onClick=${() => asking.current?.abort()}>Stop</button>`
            : html`<button key="ask" type="submit" class=${found ? "plain" : "solid"} disabled=${!kept.value.trim()}>${found ? "Suggest others" : "Suggest"}</button>`}
        </div>
        <p class="soft" role="status">${busy ? "Thinking of people who would disagree … This takes as long as the model takes." : found ? `${plural(found.list.length, "proposal")} by ${found.model}. Pick those you would like to hear.` : ""}</p>
      </form>
      ${failure && !said(failure, "model") && html`<${Failed} failure=${failure} />`}
      ${found?.note && html`<p class="remark">${found.note}</p>`}
      ${found && html`<${Found} list=${found.list} onClose=${onClose} onAdded=${onAdded} />`}
    <//>`;
}

function change(at, more) {
  const { list, ...rest } = proposals.value;
  proposals.value = { ...rest, list: list.map((one, i) => (i === at ? { ...one, ...more } : one)) };
}

function Found({ list, onClose, onAdded }) {
  const [busy, setBusy] = useState(false);
  const chosen = list.filter((one) => one.chosen && !one.added);
  const add = async () => {
    setBusy(true);
    const made = [];
    for (const [at, one] of list.entries()) {
      if (!one.chosen || one.added) continue;
      try {
        made.push(await api.post("/api/advisors", { name: one.name.trim(), description: one.description, color: freshColor() }));
        await loadAdvisors();
        change(at, { added: true, failure: null });
      } catch (failure) {
        change(at, { failure });
      }
    }
    setBusy(false);
    if (made.length) tell(`${plural(made.length, "advisor")} added: ${made.map((one) => one.name).join(", ")}.`);
    if (made.length) onAdded?.(made);
    if (made.length === chosen.length) onClose();
  };
  return html`
    <ol class="proposed">
      ${list.map((one, at) => html`<${Proposed} key=${`${at} ${one.why}`} one=${one} onChange=${(more) => change(at, more)} />`)}
    </ol>
    <div class="row end finish-picking">
      <button type="button" class="plain" onClick=${onClose}>Close</button>
      <button type="button" class="solid" disabled=${busy || !chosen.length || chosen.some((one) => !one.name.trim() || !one.description.trim())} onClick=${add}>
        ${busy ? "Adding …" : chosen.length ? `Add ${plural(chosen.length, "advisor")}` : "Pick somebody"}</button>
    </div>`;
}

function Proposed({ one, onChange }) {
  const [open, setOpen] = useState(false);
  const twin = advisors.value.some((known) => known.name.toLowerCase() === one.name.trim().toLowerCase());
  const write = (field) => (event) => onChange({ [field]: event.currentTarget.value });
  return html`
    <li>
      <label class="pick"><input type="checkbox" checked=${one.chosen} disabled=${one.added} onChange=${(event) => onChange({ chosen: event.currentTarget.checked })} />
        <span><b>${one.name || "Without a name"}</b>${one.added && html` <span class="mark now">added</span>`}<em>${one.why}</em></span></label>
      ${open ? html`
        <${Field} label="Name" hint=${twin ? "You have an advisor of this name already." : ""}>
          ${(attributes) => html`<input type="text" autofocus maxlength="120" ...${attributes} value=${one.name} onInput=${write("name")} />`}
        <//>
        <${Field} label="Description">
          ${(attributes) => html`<textarea class="box" maxlength="20000" ...${attributes} value=${one.description} onInput=${write("description")}></textarea>`}
        <//>` : html`<p class="says">${one.description}</p>`}
      ${!one.added && html`<div class="tools"><button type="button" aria-expanded=${open} aria-label=${`${open ? "Done with" : "Edit"} ${one.name}`} onClick=${() => setOpen(!open)}>${open ? "Done" : "Edit"}</button></div>`}
      ${one.failure && html`<${Failed} failure=${one.failure} />`}
    </li>`;
}
