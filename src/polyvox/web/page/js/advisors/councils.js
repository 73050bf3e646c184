// @ts-check
// Councils: named sets of advisors to begin a conversation with.
import { api } from "../api.js";
import { Dialog, confirm, notify, notifyFailure } from "../dialog.js";
import { Choices, errorOf, Field, useForm } from "../form.js";
import { advisors, advisorById, colorOf } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { PhasesField, useAsksFirst } from "../conversation/phases.js";
import { about } from "../recipes/words.js";
import { html, useState } from "../ui.js";
import { plural } from "../words.js";

export function Councils() {
  const [list, failure, again] = useLoaded(() => api.get("/api/councils"), []);
  const [open, setOpen] = useState(null);
  const close = (changed) => {
    setOpen(null);
    if (changed === true) again();
  };
  return html`
    <section class="councils" aria-labelledby="councils">
      <h2 id="councils">Councils</h2>
      <p class="intro">A council is a set of advisors with a name, for the questions that need just those.</p>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!list && !failure && html`<${Waiting}>Looking for councils …<//>`}
      ${list?.length === 0 && html`
        <p class="intro">There is none yet. Without one, everybody who is switched on is asked.</p>`}
      ${list?.length > 0 && html`
        <ul class="sets">
          ${list.map((council) => html`
            <${CouncilRow} key=${council.id} council=${council} onEdit=${() => setOpen(council)} again=${again} />`)}
        </ul>`}
      <button type="button" class="plain" onClick=${() => setOpen({ name: "", advisors: [], recipe: "council" })}>
        New council
      </button>
      ${open && html`<${Edit} council=${open} onClose=${close} />`}
    </section>`;
}

function CouncilRow({ council, onEdit, again }) {
  const remove = async () => {
    const detail = "Its advisors stay, and so do the conversations begun with it.";
    if (!(await confirm(`Delete the council ${council.name}?`, { detail, yes: "Delete" }))) return;
    try {
      await api.del(`/api/councils/${council.id}`);
      notify(`The council ${council.name} is deleted.`);
    } catch (failure) {
      notifyFailure(failure);
    }
    again();
  };
  const members = council.advisors.map((id) => advisorById.value.get(id)).filter(Boolean);
  return html`
    <li>
      <h3>${council.name}</h3>
      <p class="members">
        ${members.length === 0 ? html`<span class="soft">Nobody yet.</span>` : members.map((member) => html`
        <span key=${member.id} data-c style=${{ "--c": colorOf(member.id) }}>${member.name}</span>`)}</p>
      <span class="stamp">${plural(members.length, "advisor")} · recipe ${council.recipe}</span>
      <div class="tools">
        <button type="button" aria-label=${`Edit the council ${council.name}`} onClick=${onEdit}>Edit</button>
        <button type="button" aria-label=${`Delete the council ${council.name}`} onClick=${remove}>Delete</button>
      </div>
    </li>`;
}

/** What differs from the council as it was; everything of one that is new. */
function changes(before, { name, members, recipe, phases }) {
  const now = { name, advisors: members, recipe, phases };
  if (!before.id) return now;
  return Object.fromEntries(
    Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]))
  );
}

function Edit({ council, onClose }) {
  const [name, setName] = useState(council.name);
  const [members, setMembers] = useState(council.advisors.filter((id) => advisorById.value.has(id)));
  const [recipe, setRecipe] = useState(council.recipe);
  const [phases, setPhases] = useState(council.phases ?? null);
  const asks = useAsksFirst(recipe);
  const [recipes] = useLoaded(() => api.get("/api/recipes"), []);
  const known = recipes || [{ name: council.recipe, base: null }];
  // Members are asked in the advisors' order, so the order of ticking does not matter.
  const toggle = (id) => setMembers(advisors.value.map((advisor) => advisor.id)
    .filter((member) => (member === id ? !members.includes(id) : members.includes(member))));
  const { busy, failure, submit } = useForm(async () => {
    const body = changes(council, { name: name.trim(), members, recipe, phases });
    if (council.id) await api.patch(`/api/councils/${council.id}`, body);
    else await api.post("/api/councils", body);
    notify(`The council ${name.trim()} is saved.`);
    onClose(true);
  });
  return html`
    <${Dialog} title=${council.id ? `Edit the council ${council.name}` : "New council"} onClose=${onClose}>
      <form class="stack" onSubmit=${submit}>
        <${Field} label="Name" wrong=${errorOf(failure, "name")}>
          ${(attributes) => html`
            <input type="text" autofocus required maxlength="120" ...${attributes} value=${name}
              onInput=${(event) => setName(event.currentTarget.value)} />`}
        <//>
        <fieldset class="picks everyone">
          <legend>Who is in it</legend>
          ${advisors.value.map((advisor) => html`
            <label key=${advisor.id} class="pick" data-c style=${{ "--c": colorOf(advisor.id) }}>
              <input type="checkbox" checked=${members.includes(advisor.id)} onChange=${() => toggle(advisor.id)} />
              <span>${advisor.name}</span>
            </label>`)}
          ${advisors.value.length === 0 && html`<p class="soft">There are no advisors yet.</p>`}
        </fieldset>
        <${Choices} legend="Recipe" value=${recipe} onChange=${setRecipe} wrong=${errorOf(failure, "recipe")}
          options=${known.map((entry) => ({
            value: entry.name, label: about(entry.name, entry.base).title, says: about(entry.name, entry.base).says
          }))} />
        ${asks > 0 && html`<${PhasesField} value=${phases} asks=${asks} onChange=${setPhases} />`}
        ${failure && !["name", "recipe"].includes(failure.param) && html`
          <p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Cancel</button>
          <button type="submit" class="solid" disabled=${busy || !name.trim()}>${busy ? "Saving …" : "Save"}</button>
        </div>
      </form>
    <//>`;
}
