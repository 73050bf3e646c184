// @ts-check
// Settings: what the server goes by, and what this browser likes.
import { useCurrent } from "../current.js";
import { models } from "../lists.js";
import { Consent } from "../memory/consent.js";
import { enterSends, onPhone, theme } from "../prefs.js";
import { route } from "../router.js";
import { letterKeys } from "../shortcuts.js";
import { html, useEffect, useLayoutEffect } from "../ui.js";
import { Keys } from "./keys.js";
import { Providers } from "./providers.js";
import { ModelList, SettingRow } from "./rows.js";
import { settingsFailure, settingsState, loadSettings } from "./state.js";

const TITLES = { models: "Models", limits: "Limits", sessions: "Sessions", safety: "Help in a crisis", "": "General" };
const LEADS = {
  keys: "One key is enough to begin. "
    + "The first provider below that has one is used unless you name a default model.",
  models: "A model is written provider:name. An advisor may have one of its own; this is what the others use.",
  limits:
    "How much, how long, how dear. A cap on cost is kept by the server: when it is reached, nothing more is asked.",
};
const DATABASES = { sqlite: "SQLite", postgresql: "PostgreSQL" };

/** The rows by the table they are in; models first, and those outside any table after the limits. */
export function sections(rows) {
  const groups = new Map([["models", []], ["limits", []], ["", []]]);
  for (const row of rows) {
    const table = row.name.includes(".") ? row.name.split(".")[0] : "";
    if (!groups.has(table)) groups.set(table, []);
    groups.get(table).push(row);
  }
  return [...groups].filter(([, group]) => group.length).map(([table, group]) => ({
    id: table || "general", title: TITLES[table] ?? table[0].toUpperCase() + table.slice(1), lead: LEADS[table],
    rows: group,
  }));
}

function Part({ id, title, lead, children }) {
  return html`
    <section id=${id} aria-labelledby=${`${id}-title`} class="part">
      <h2 id=${`${id}-title`} tabindex="-1">${title}</h2>
      ${lead && html`<p class="soft lead">${lead}</p>`}
      ${children}
    </section>`;
}

const Group = ({ group }) => html`
  <${Part} ...${group}>${group.rows.map((row) => html`
    <${SettingRow} key=${row.name} row=${row} />
    ${row.name === "models.default" && html`<${Consent} inputs=${[settingsState.value]} />`}`)}<//>`;

function Radios({ legend, help, name, value, options }) {
  return html`
    <fieldset class="setting">
      <legend class="aside">${legend}</legend>
      <div class="what"><b aria-hidden="true">${legend}</b><small>${help}</small></div>
      <div class="value choice">${options.map(([key, label]) => html`
        <label key=${key}>
          <input type="radio" name=${name} checked=${value.value === key} onChange=${() => { value.value = key; }} />
          <span>${label}</span>
        </label>`)}
        </div>
    </fieldset>`;
}

const Browser = () => html`
  <${Part} id="browser" title="This browser" lead="Kept here, for whoever uses this browser.">
    <${Radios} legend="Theme" help="Paper by day, ink by night." name="theme" value=${theme}
      options=${[["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]]} />
    <${Radios} legend="Enter" help="In the field you write in; with Shift it does the other." name="enter"
      value=${enterSends} options=${[[true, "Sends"], [false, "Breaks the line"]]} />
    <${Radios} legend="Answers on a phone" help="Side by side to swipe through, or one below the other." name="phone"
      value=${onPhone} options=${[["row", "Swipe row"], ["column", "1 column"]]} />
    <${Radios} legend="Letters as shortcuts" help="Such as g then s for this page. Press ? to see them all."
      name="letters" value=${letterKeys} options=${[[true, "On"], [false, "Off"]]} />
  <//>`;

function About() {
  const { health, file } = settingsState.value;
  const { default: answering, note } = models.value;
  return html`
    <${Part} id="about" title="About">
      <p class="about">
        Polyvox <b>${health.version}</b>
        , with ${DATABASES[health.database]
          ?? health.database}; answers come from <code>${answering}</code> unless an advisor has its own model.
      </p>
      ${note && html`<p class="about">${note}</p>`}
      ${health.trouble && html`<p class="err"><b>The database has trouble.</b> ${health.trouble}</p>`}
      <p class="about soft">
        What is changed on this page is kept in <code>${file}</code>
        . A configuration file, the environment and the command line come before it.
      </p>
    <//>`;
}

const Recipes = () => html`
  <${Part} id="recipes" title="Recipes and windows">
    <p class="about">
      How a council talks (its phases, what the advisors see of each other, how much history is sent) is in its
      recipe. <a
        href="/recipes">
        Recipes
      </a>
    </p>
  <//>`;

function Contents({ parts }) {
  return html`
    <nav class="tools contents" aria-label="On this page">
      ${parts.map(([id, title]) => html`<a key=${id} href=${`#${id}`}>${title}</a>`)}
    </nav>`;
}

/** The part the address names, in view; again whenever the address names another. */
function useHash(ready) {
  const { hash } = route.value;
  useLayoutEffect(() => {
    const part = ready && hash && document.getElementById(hash);
    if (!part) return;
    part.scrollIntoView();
    part.querySelector("h2")?.focus({ preventScroll: true });
  }, [ready, route.value]);
}

function Body() {
  if (settingsFailure.value && !settingsState.value) {
    return html`<div class="err" role="alert"><b>${settingsFailure.value.message}</b> ${settingsFailure.value.hint}
      <div class="tools"><button type="button" onClick=${loadSettings}>Try again</button></div></div>`;
  }
  if (!settingsState.value) return html`<p class="soft" role="status">Reading the settings …</p>`;
  const [models, ...rest] = sections(settingsState.value.settings);
  const parts = [
    [models.id, models.title], ["keys", "Keys"], ["providers", "Providers"],
    ...rest.map(({ id, title }) => [id, title]), ["recipes", "Recipes"], ["browser", "This browser"],
    ["about", "About"]
  ];
  return html`
    ${settingsFailure.value && html`
      <p class="err" role="alert"><b>${settingsFailure.value.message}</b> ${settingsFailure.value.hint}</p>`}
    <${Contents} parts=${parts} />
    <${ModelList} />
    <${Group} group=${models} />
    <${Part} id="keys" title="Keys"
      lead=${LEADS.keys}>
      <${Keys} />
    <//>
    <${Part} id="providers" title="Providers"
      lead="Any server that speaks as OpenAI or Anthropic do can be added, one on your own machine as well.">
      <${Providers} />
    <//>
    ${rest.map((group) => html`<${Group} key=${group.id} group=${group} />`)}
    <${Recipes} />
    <${Browser} />
    <${About} />`;
}

export default function Settings() {
  useEffect(() => { loadSettings(); }, []);
  useCurrent(loadSettings);
  useHash(Boolean(settingsState.value));
  return html`
    <div class="room settings">
      <header>
        <h1>Settings</h1><p>A change is kept when you leave its field, and holds from the next message on.</p>
      </header>
      <${Body} />
    </div>`;
}
