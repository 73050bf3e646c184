// @ts-check
// The recipes' room: how advisors are asked, for people who never saw a configuration file.
import { api } from "../api.js";
import { loadAdvisors } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { html, useEffect } from "../ui.js";
import { RecipePage } from "./recipe.js";
import { about, inWords, PARTS } from "./words.js";

export default function Recipes({ parts }) {
  useEffect(() => { loadAdvisors().catch(() => {}); }, []);
  return parts.length ? html`<${RecipePage} key=${parts[0]} name=${parts[0]} />` : html`<${Every} />`;
}

function Every() {
  usePlace("Recipes");
  const [list, failure, again] = useLoaded(() => api.get("/api/recipes"), []);
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
      <div class="cookbook">${list?.map((entry) => html`<${Recipe} key=${entry.name} entry=${entry} />`)}</div>
    </div>`;
}

function Recipe({ entry }) {
  const { title, says } = about(entry.name);
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
      </div>
    </article>`;
}
