// @ts-check
// One advisor: who it is, which model speaks for it, how it looks; and everything it has been.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { notify } from "../dialog.js";
import { draftOf, SaveBar } from "../draft.js";
import { errorOf, useForm, useScrollToError } from "../form.js";
import { loadAdvisors } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { NO_PARAMS } from "../model-fields.js";
import { Jump, usePlace } from "../place.js";
import { go } from "../router.js";
import { html, useState } from "../ui.js";
import { AdvisorForm, NAMES } from "./fields.js";
import { duplicateAdvisor, freshColor, removeAdvisor, Seal } from "./list.js";
import { PromptHistory } from "./prompt.js";

/** What the form edits; the rest of an advisor is the server's. */
const FIELDS = Object.keys(NAMES);
const SHOWN = ["name", "slug", "description", "prompt", "model", "color", "params"];
const pick = (advisor) => Object.fromEntries(FIELDS.map((field) => [field, advisor[field]]));

/** What to send for edited fields: nothing else, and no text is null. Params are one value to the
 * server: the numbers that were edited are laid over what the others are by now. */
function body({ fields, mine, was }, current) {
  const sent = {};
  for (const field of fields) {
    const value = mine[field];
    const edited = ([name, number]) => number !== was("params")?.[name];
    if (field === "prompt") sent.prompt = value && value.trim() ? value : null;
    else if (field === "params") sent.params = {
      ...current.params, ...Object.fromEntries(Object.entries(value).filter(edited))
    };
    else sent[field] = typeof value === "string" && field !== "description" ? value.trim() : value;
  }
  return sent;
}

/** Errors that no field shows. */
const unplaced = (failure) => (failure && SHOWN.some((field) => errorOf(failure, field)) ? null : failure);

export function AdvisorPage({ slug }) {
  const fetch = () => api.get(`/api/advisors/${encodeURIComponent(slug)}`);
  const [advisor, failure, again] = useLoaded(fetch, [slug]);
  useCurrent(again);
  if (!advisor) {
    return html`
      <div class="room">
        <p><a class="back" href="/advisors">Advisors</a></p>
        ${failure
          ? html`<${Failed} failure=${failure} again=${again} />`
          : html`<${Waiting}>Fetching this advisor …<//>`}
      </div>`;
  }
  return html`<${Edit} key=${advisor.id} advisor=${advisor} again=${again} lost=${failure} />`;
}

function Edit({ advisor, again, lost }) {
  usePlace(advisor.name, "Advisors");
  const saved = pick(advisor);
  const draft = draftOf(`advisor.${advisor.id}`, saved);
  const settle = async (now) => {
    clear();
    await Promise.allSettled([loadAdvisors(), now.slug === advisor.slug ? again() : null]);
    if (now.slug !== advisor.slug) go(`/advisors/${now.slug}`, { replace: true });
  };
  const { busy, failure, submit, clear } = useForm(async () => {
    if (!draft.fields.length) return;
    const current = draft.fields.includes("params") ? await api.get(`/api/advisors/${advisor.id}`) : advisor;
    const now = await api.patch(`/api/advisors/${advisor.id}`, body(draft, current));
    await settle(now);
    draft.sent(draft.mine);
    const versioned = now.version_id !== advisor.version_id;
    notify(versioned ? `${now.name} is saved, with a new version of its prompt.` : `${now.name} is saved.`);
  });
  useScrollToError(failure);
  const discard = () => { draft.forget(); clear(); };
  return html`
    <div class="room advisor">
      <header>
        <p><a class="back" href="/advisors">Advisors</a></p>
        <h1>
          <${Seal} advisor=${draft.now} color=${draft.now.color || undefined} />${draft.now.name || "Without a name"}
        </h1>
        <div class="tools">
          <button type="button" onClick=${() => duplicateAdvisor(advisor)}>Duplicate</button>
          <button type="button" onClick=${async () => (await removeAdvisor(advisor)) && go("/advisors")}>
            Remove
          </button>
          <${Jump} to="history">History<//>
          <a href=${`/assertions/${advisor.slug}`}>Assertions</a>
        </div>
      </header>
      ${lost && html`<${Failed} failure=${lost} again=${again} />`}
      <form noValidate onSubmit=${submit} onKeyDown=${(event) => saves(event) && submit(event)}>
        <${AdvisorForm} draft=${draft} saved=${saved} failure=${failure} />
        <${SaveBar} names=${draft.fields.map((field) => NAMES[field])} failure=${unplaced(failure)} busy=${busy}
          onDiscard=${discard} />
      </form>
      <${PromptHistory} key=${advisor.version_id} advisor=${advisor} onChanged=${settle} />
    </div>`;
}

const saves = (event) => event.key === "s" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;

export function NewAdvisor() {
  usePlace("A new advisor", "Advisors");
  const [color] = useState(freshColor);
  const blank = {
    name: "", slug: "", description: "", prompt: null, model: null, color, params: NO_PARAMS, active: true
  };
  const draft = draftOf("advisor.new", blank);
  const { busy, failure, submit } = useForm(async () => {
    const { slug, ...rest } = body({ fields: FIELDS, mine: draft.now, was: () => blank.params }, blank);
    const made = await api.post("/api/advisors", slug ? { ...rest, slug } : rest);
    draft.forget();
    await loadAdvisors();
    notify(`${made.name} is on the list.`);
    go("/advisors");
  });
  useScrollToError(failure);
  return html`
    <div class="room advisor">
      <header>
        <p><a class="back" href="/advisors">Advisors</a></p>
        <h1><${Seal} advisor=${draft.now} color=${draft.now.color} />${draft.now.name || "A new advisor"}</h1>
        <p>
          Somebody whose judgement you would like to hear. A name and a few honest sentences are enough; everything
          can be changed later.
        </p>
      </header>
      <form noValidate onSubmit=${submit}>
        <${AdvisorForm} draft=${draft} saved=${blank} failure=${failure} fresh />
        ${unplaced(failure) && html`<p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
        <div class="row finish">
          <button type="submit" class="solid" disabled=${busy}>${busy ? "Saving …" : "Add this advisor"}</button>
          <a class="plain" href="/advisors">Not now</a>
          ${draft.fields.length > 0 && html`
            <span class="soft">
              Kept in this browser until you add it. <button type="button" class="inline"
                onClick=${() => draft.forget()}>
                Start over
              </button>
            </span>`}
        </div>
      </form>
    </div>`;
}
