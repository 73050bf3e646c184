// @ts-check
// The recipes' room: how advisors are asked, for people who never saw a configuration file.
import { api } from "../api.js";
import { Dialog } from "../dialog.js";
import { errorOf, Field, useForm } from "../form.js";
import { loadAdvisors } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { go } from "../router.js";
import { html, useEffect, useState } from "../ui.js";
import { RecipePage } from "./recipe.js";
import { about, inWords, PARTS } from "./words.js";

export default function Recipes({ parts }) {
  useEffect(() => { loadAdvisors().catch(() => {}); }, []);
  return parts.length ? html`<${RecipePage} key=${parts[0]} name=${parts[0]} />` : html`<${Every} />`;
}

function Every() {
  usePlace("Recipes");
  const [list, failure, again] = useLoaded(() => api.get("/api/recipes"), []);
  const [copying, setCopying] = useState(null);
  return html`
    <div class="room recipes">
      <header>
        <h1>Recipes</h1>
        <p>
          A recipe says how advisors are asked: what they are told, what they remember, what they see of each other. A
          change holds from the next message on, and everything can be undone.
        </p>
      </header>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!list && !failure && html`<${Waiting}>Fetching the recipes …<//>`}
      <div class="cookbook">
        ${list?.map((entry) => html`
          <${Recipe} key=${entry.name} entry=${entry} onCopy=${() => setCopying(entry)} />`)}
      </div>
      ${copying && html`<${Copy} entry=${copying} onClose=${() => setCopying(null)} />`}
    </div>`;
}

/** A recipe of one's own: a copy under a new name, to be changed on its page. */
function Copy({ entry, onClose }) {
  const [name, setName] = useState("");
  const { busy, failure, submit } = useForm(async () => {
    const slug = name.trim().toLowerCase().replace(/[^a-z0-9_-]+/g, "-");
    const made = await api.post("/api/recipes", { name: slug, copy: entry.name });
    go(`/recipes/${made.name}`);
  });
  const unplaced = errorOf(failure, "name") ? null : failure;
  return html`
    <${Dialog} title=${`Copy ${about(entry.name, entry.base).title}`} onClose=${onClose}>
      <form class="stack" onSubmit=${submit}>
        <${Field} label="Name of your recipe" wrong=${errorOf(failure, "name")}
          hint="For example quick-advice: letters without accents, digits and hyphens.">
          ${(attributes) => html`
            <input type="text" autofocus required maxlength="64" ...${attributes} value=${name}
              onInput=${(event) => setName(event.currentTarget.value)} />`}
        <//>
        ${unplaced && html`<p class="err" role="alert"><b>${unplaced.message}</b> ${unplaced.hint}</p>`}
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Cancel</button>
          <button type="submit" class="solid" disabled=${busy || !name.trim()}>${busy ? "Copying …" : "Copy"}</button>
        </div>
      </form>
    <//>`;
}

function Recipe({ entry, onCopy }) {
  const { title, says } = about(entry.name, entry.base);
  const changed = Object.keys(entry.changed).map((part) => PARTS[part] || part);
  return html`
    <article>
      <h2><a href=${`/recipes/${entry.name}`}>${title}</a></h2>
      <p class="lead">${says}</p>
      <p>${inWords(entry.recipe).join(" ")}</p>
      <p class="state">
        ${changed.length
          ? html`<span class="mark">changed by you</span> ${changed.join(", ")}`
          : html`<span class="soft">As it came.</span>`}
      </p>
      <div class="tools">
        <a href=${`/recipes/${entry.name}`} aria-label=${`Change the recipe ${title}`}>Change</a>
        <button type="button" aria-label=${`Copy the recipe ${title}`} onClick=${onCopy}>Copy</button>
        ${entry.base && html`
          <a href=${`/?recipe=${entry.name}`} aria-label=${`Start a conversation with ${title}`}>
            Start a conversation
          </a>`}
      </div>
    </article>`;
}
