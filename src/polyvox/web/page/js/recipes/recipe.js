// @ts-check
// One recipe, part by part. Edits are a draft until they are saved; only what differs is sent.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { confirm, notify, notifyFailure } from "../dialog.js";
import { draftOf, same, SaveBar } from "../draft.js";
import { Choices, errorOf, useForm, useScrollToError } from "../form.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { ModelField, ParamsFields } from "../model-fields.js";
import { Jump, usePlace } from "../place.js";
import { go } from "../router.js";
import { html } from "../ui.js";
import { Memory, Visibility } from "./parts.js";
import { Phases, Texts } from "./texts.js";
import { about, inWords, PARTS } from "./words.js";

export function RecipePage({ name }) {
  const [loaded, failure, again] = useLoaded(() => api.get(`/api/recipes/${encodeURIComponent(name)}`), [name]);
  useCurrent(again);
  if (loaded) return html`<${Edit} loaded=${loaded} again=${again} lost=${failure} />`;
  return html`
    <div class="room">
      <p><a class="back" href="/recipes">Recipes</a></p>
      ${failure ? html`<${Failed} failure=${failure} again=${again} />` : html`<${Waiting}>Fetching this recipe …<//>`}
    </div>`;
}

function Edit({ loaded, again, lost }) {
  const { name, base, fixed, recipe, standard, wording } = loaded;
  const { title, says } = about(name, base);
  usePlace(title, "Recipes");
  const draft = draftOf(`recipe.${name}`, recipe);
  const { busy, failure, submit, clear } = useForm(async () => {
    if (!draft.fields.length) return;
    await api.patch(`/api/recipes/${name}`, smallestChange(draft.now, recipe, standard, draft.fields));
    await again();
    draft.sent(draft.mine);
    notify("Saved. It holds from the next message on.");
  });
  useScrollToError(failure);
  const reset = async () => {
    const detail = "Every part becomes as it came. What you wrote into its texts is gone.";
    if (!(await confirm(`Undo every change to ${title}?`, { detail, yes: "Undo all" }))) return;
    try {
      await api.del(`/api/recipes/${name}`);
      draft.forget();
      clear();
      await again();
      notify("The recipe is as it came.");
    } catch (error) {
      notifyFailure(error);
    }
  };
  const remove = async () => {
    const detail = "Conversations that use it continue with the recipe Council.";
    if (!(await confirm(`Delete the recipe ${title}?`, { detail, yes: "Delete" }))) return;
    try {
      await api.del(`/api/recipes/${name}`);
      draft.forget();
      go("/recipes");
    } catch (error) {
      notifyFailure(error);
    }
  };
  const touched = Object.keys(loaded.changed).length > 0;
  const part = { draft, standard, failure, now: draft.now, set: draft.set, wording };
  const unplaced = failure && Object.keys(PARTS).some((part) => errorOf(failure, part)) ? null : failure;
  return html`
    <div class="room recipe">
      <header>
        <p><a class="back" href="/recipes">Recipes</a></p>
        <h1>${title}</h1>
        <p>${says}</p>
        ${!fixed && html`
          <div class="tools">
            <a href=${`/?recipe=${name}`}>Start a conversation</a>
            <button type="button" onClick=${remove}>Delete this recipe</button>
          </div>`}
        ${touched && fixed && html`
          <div class="tools">
            <span class="mark">changed by you</span><button type="button" onClick=${reset}>Undo every change</button>
          </div>`}
      </header>
      ${lost && html`<${Failed} failure=${lost} again=${again} />`}
      <p class="in-words">${inWords(draft.now).join(" ")}</p>
      <nav class="tools contents" aria-label="Parts of this recipe">
        ${SECTIONS.map(({ id, title: called }) => html`<${Jump} key=${id} to=${id}>${called}<//>`)}
      </nav>
      <form noValidate onSubmit=${submit}>
        ${SECTIONS.map((section) => html`<${Part} key=${section.id} ...${section} ...${part} />`)}
        <${SaveBar} names=${draft.fields.map((field) => PARTS[field] || field)} failure=${unplaced} busy=${busy}
          onDiscard=${() => { draft.forget(); clear(); }} />
      </form>
    </div>`;
}

/** Failures that are shown at a field of their own. */
const AT_FIELD = /^(phases\.\d+\.(name|answers|text)|window\.\w+|params\.\w+|texts\.)/;

/** A part with its state: as it came, changed by you, or not saved yet; and the way back. */
function Part({ id, title, parts, inside: Inside, ...given }) {
  const { draft, standard, failure } = given;
  const differs = parts.some((part) => !same(draft.now[part], standard[part]));
  const unsaved = parts.some((part) => draft.fields.includes(part));
  const wrong = !AT_FIELD.test(failure?.param) && parts.map((part) => errorOf(failure, part)).find(Boolean);
  const back = () => parts.forEach((part) => draft.set(part, standard[part]));
  return html`
    <section class="part" id=${id} aria-labelledby=${`${id}-title`}>
      <div class="part-head">
        <h2 id=${`${id}-title`}>${title}</h2>
        ${unsaved
          ? html`<span class="mark">not saved yet</span>`
          : differs && html`<span class="mark">changed by you</span>`}
        ${differs && html`
          <button type="button" class="quiet" aria-label=${`${title}: back to the original`} onClick=${back}>
            Back to the original
          </button>`}
      </div>
      ${wrong && html`<p class="err" role="alert"><b>${wrong.message}</b> ${wrong.hint}</p>`}
      <div class="stack"><${Inside} ...${given} /></div>
    </section>`;
}

const STAMPS = [
  {
    value: "all", label: "On every message",
    says: "Advisors can tell how long ago something was said, and what day it is."
  },
  { value: "history", label: "On earlier messages only", says: "The newest message comes without a time." },
  { value: "none", label: "Never", says: "Advisors do not know when anything was said." },
];

const Times = ({ now, set }) => html`
  <${Choices} legend="Where the time a message was sent stands in front of it" value=${now.stamps} options=${STAMPS}
    onChange=${(value) => set("stamps", value)} />`;

const TOGETHER = [
  { value: "on_request", label: "When I ask", says: "A button below the answers brings them together." },
  { value: "always", label: "After every turn", says: "One more model call each time, which costs what it costs." },
];

const Synthesis = ({ now, set }) => html`
  <${Choices} legend="When a synthesis says where the answers agree and where they do not" value=${now.synthesis}
    options=${TOGETHER} onChange=${(value) => set("synthesis", value)} />`;

const Model = ({ now, set, failure }) => html`
  <p class="intro">For advisors that have no model or numbers of their own.</p>
  <div class="narrow stack">
    <${ModelField} value=${now.model || null} onChange=${(value) => set("model", value || "")} />
  </div>
  <${ParamsFields} value=${now.params} failure=${failure} onChange=${(value) => set("params", value)} />`;

const SECTIONS = [
  { id: "phases", title: "Phases", parts: ["phases", "count_turns"], inside: Phases },
  { id: "sight", title: "What advisors see of each other", parts: ["visibility"], inside: Visibility },
  { id: "memory", title: "How much they remember", parts: ["window", "scope", "context"], inside: Memory },
  { id: "times", title: "Times", parts: ["stamps"], inside: Times },
  { id: "synthesis", title: "Bringing answers together", parts: ["synthesis"], inside: Synthesis },
  { id: "model", title: "Model", parts: ["model", "params"], inside: Model },
  { id: "texts", title: "What every advisor is told", parts: ["blocks", "texts"], inside: Texts },
];

// From an edited recipe to the smallest change that says it. Pure.
const table = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * What to send so that `recipe` (in force) becomes `now` in these parts. What is as in `standard`
 * again is sent as null, which undoes a change; of a table only the keys that differ are sent.
 */
function smallestChange(now, recipe, standard, parts) {
  const change = {};
  for (const part of parts) {
    change[part] = table(now[part]) ? keys(now[part], recipe[part], standard[part])
      : same(now[part], standard[part]) ? null : now[part];
  }
  return change;
}

function keys(now, recipe, standard) {
  const change = {};
  for (const key of new Set([...Object.keys(now), ...Object.keys(recipe)])) {
    const value = now[key] ?? null;
    if (same(value, recipe[key] ?? null)) continue;
    change[key] = same(value, standard[key] ?? null) ? null : value;
  }
  return change;
}
