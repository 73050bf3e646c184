// @ts-check
// Perspectives for a question: a model proposes, the person picks and changes; those who are
// picked become advisors.
import { api } from "../api.js";
import { Dialog, notify } from "../dialog.js";
import { errorOf, Field, useForm } from "../form.js";
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
  const proposed = proposals.value;
  const asking = useRef(null);
  useEffect(() => {
    if (question) kept.value = question;
    return () => asking.current?.abort();
  }, []);
  const { busy, failure, submit } = useForm(async () => {
    const stop = new AbortController();
    asking.current = stop;
    const body = { question: kept.value.trim(), count, ...(model ? { model } : {}) };
    const answer = await api.post("/api/advisors/suggest", body, { signal: stop.signal });
    const list = answer.suggestions.map((suggestion) => ({ ...suggestion, chosen: false }));
    proposals.value = { ...answer, list };
  });
  return html`
    <${Dialog} title="Suggest perspectives" onClose=${onClose} wide>
      <form class="stack perspectives" onSubmit=${submit}>
        <${Field} label="The question you carry"
          hint="A model reads it and proposes people who would see it differently. Nobody is added before you say so.">
          ${(attributes) => html`
            <textarea class="box" rows="4" autofocus required ...${attributes} value=${kept.value}
              onInput=${(event) => { kept.value = event.currentTarget.value; }}></textarea>`}
        <//>
        <div class="asking">
          <${Field} label="How many">
            ${(attributes) => html`
              <select ...${attributes} value=${count}
                onChange=${(event) => setCount(Number(event.currentTarget.value))}>
                ${COUNTS.map((number) => html`<option key=${number} value=${number}>${number}</option>`)}
              </select>`}
          <//>
          <div>
            <${ModelField} label="Asked of" value=${model} onChange=${setModel} wrong=${errorOf(failure, "model")} />
          </div>
          ${busy // two buttons, not one that changes: a click that stops must not become one that asks
            ? html`
              <button key="stop" type="button" class="plain" onClick=${() => asking.current?.abort()}>Stop</button>`
            : html`
              <button key="ask" type="submit" class=${proposed ? "plain" : "solid"} disabled=${!kept.value.trim()}>
                ${proposed ? "Suggest others" : "Suggest"}
              </button>`}
        </div>
        <p class="soft" role="status">
          ${busy
            ? "Thinking of people who would disagree … This takes as long as the model takes."
            : proposed
            ? `${plural(proposed.list.length, "proposal")} by ${proposed.model}. Pick those you would like to hear.`
            : ""}
        </p>
      </form>
      ${failure && !errorOf(failure, "model") && html`<${Failed} failure=${failure} />`}
      ${proposed?.note && html`<p class="remark">${proposed.note}</p>`}
      ${proposed && html`<${Proposals} list=${proposed.list} onClose=${onClose} onAdded=${onAdded} />`}
    <//>`;
}

function change(at, more) {
  const { list, ...rest } = proposals.value;
  proposals.value = { ...rest, list: list.map((proposal, i) => (i === at ? { ...proposal, ...more } : proposal)) };
}

function Proposals({ list, onClose, onAdded }) {
  const [busy, setBusy] = useState(false);
  const chosen = list.filter((proposal) => proposal.chosen && !proposal.added);
  const add = async () => {
    setBusy(true);
    const made = [];
    for (const [at, proposal] of list.entries()) {
      if (!proposal.chosen || proposal.added) continue;
      try {
        made.push(
          await api.post("/api/advisors", {
            name: proposal.name.trim(), description: proposal.description, color: freshColor()
          })
        );
        await loadAdvisors();
        change(at, { added: true, failure: null });
      } catch (failure) {
        change(at, { failure });
      }
    }
    setBusy(false);
    if (made.length) {
      notify(`${plural(made.length, "advisor")} added: ${made.map((advisor) => advisor.name).join(", ")}.`);
    }
    if (made.length) onAdded?.(made);
    if (made.length === chosen.length) onClose();
  };
  return html`
    <ol class="proposed">
      ${list.map((proposal, at) => html`
        <${Proposed} key=${`${at} ${proposal.why}`} proposal=${proposal} onChange=${(more) => change(at, more)} />`)}
    </ol>
    <div class="row end finish-picking">
      <button type="button" class="plain" onClick=${onClose}>Close</button>
      <button type="button" class="solid"
        disabled=${busy || !chosen.length
          || chosen.some((proposal) => !proposal.name.trim() || !proposal.description.trim())}
        onClick=${add}>
        ${busy ? "Adding …" : chosen.length ? `Add ${plural(chosen.length, "advisor")}` : "Pick somebody"}</button>
    </div>`;
}

function Proposed({ proposal, onChange }) {
  const [open, setOpen] = useState(false);
  const twin = advisors.value.some((known) => known.name.toLowerCase() === proposal.name.trim().toLowerCase());
  const write = (field) => (event) => onChange({ [field]: event.currentTarget.value });
  return html`
    <li>
      <label class="pick">
        <input type="checkbox" checked=${proposal.chosen} disabled=${proposal.added}
          onChange=${(event) => onChange({ chosen: event.currentTarget.checked })} />
        <span>
          <b>${proposal.name || "Without a name"}</b>
          ${proposal.added && html` <span class="mark now">added</span>`}
          <em>${proposal.why}</em>
        </span>
        </label>
      ${open ? html`
        <${Field} label="Name" hint=${twin ? "You have an advisor of this name already." : ""}>
          ${(attributes) => html`
            <input type="text" autofocus maxlength="120" ...${attributes} value=${proposal.name}
              onInput=${write("name")} />`}
        <//>
        <${Field} label="Description">
          ${(attributes) => html`
            <textarea class="box" maxlength="20000" ...${attributes} value=${proposal.description}
              onInput=${write("description")}></textarea>`}
        <//>` : html`<p class="says">${proposal.description}</p>`}
      ${!proposal.added && html`
        <div class="tools">
          <button type="button" aria-expanded=${open} aria-label=${`${open ? "Done with" : "Edit"} ${proposal.name}`}
            onClick=${() => setOpen(!open)}>
            ${open ? "Done" : "Edit"}
          </button>
        </div>`}
      ${proposal.failure && html`<${Failed} failure=${proposal.failure} />`}
    </li>`;
}
