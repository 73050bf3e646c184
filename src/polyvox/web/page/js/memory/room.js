// @ts-check
// Memory: facts and where they came from, open loops, the profile, and days.
import { api, download } from "../api.js";
import { notifyFailure } from "../dialog.js";
import { useLoaded } from "../load.js";
import { Nowhere, usePlace } from "../place.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { Question } from "./consent.js";
import { Days } from "./days.js";
import { Remembered } from "./list.js";
import { Loops } from "./loops.js";
import { Profile } from "./profile.js";
import { forgetPlaces } from "./source.js";
import { useNews } from "./state.js";
import { Work } from "./work.js";

const PARTS = [
  { path: "", name: "Remembered", show: Remembered,
    lead:
      "Facts noted from what you said, each with your own words. Every advisor may read them, "
      + "unless it says otherwise. Correct, pin, hide or delete what you like." },
  { path: "open-loops", name: "Open loops", show: Loops,
    lead:
      "What you plan, decided, keep up or wait for, the most urgent first. "
      + "Mark it as done here, or say so in a conversation." },
  { path: "profile", name: "Profile", show: Profile,
    lead: "Who you are and how you want to be answered. Advisors read it from your next message on." },
  { path: "days", name: "Days", show: Days, lead: "What each day was about, and its sessions in a few words." },
];

const place = (path) => (path ? `/memory/${path}` : "/memory");

function Contents({ here }) {
  const box = useRef(null);
  useLayoutEffect(() => { // on a narrow phone the line is wider than the window
    const current = box.current.querySelector("[aria-current]");
    box.current.scrollLeft = current.offsetLeft + current.offsetWidth / 2 - box.current.clientWidth / 2;
  }, [here]);
  return html`
    <nav class="tools contents" ref=${box} aria-label="Parts of memory">
      ${PARTS.map(({ path, name }) => html`
        <a key=${path} href=${place(path)} aria-current=${path === here ? "page" : undefined}>${name}</a>`)}
    </nav>`;
}

function Export() {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    if (busy) return;
    setBusy(true);
    await download("/api/memory/export", "polyvox-memory.json").catch(notifyFailure);
    setBusy(false);
  };
  return html`
    <button type="button" aria-disabled=${busy ? "true" : undefined} onClick=${press}
      aria-label="Export all of memory as a file">
      Export
    </button>`;
}

const Unread = () => html`
  <p class="consent soft">
    There is no capable model for memory, so nothing is noted by itself. What you said can still be found, and what you
    add here or with <code>/remember</code> is kept. <a href="/settings#models">Choose a model</a>
  </p>`;

function Part({ part }) {
  const [overview, , look] = useLoaded(() => api.get("/api/memory/overview"), []);
  useNews(look);
  usePlace(...(part.path ? [part.name, "Memory"] : ["Memory"]));
  return html`
    <header>
      <div class="head-line"><h1>Memory</h1><div class="tools"><${Export} /></div></div>
      <p>${part.lead}</p>
    </header>
    <${Contents} here=${part.path} />
    ${overview && !overview.model && html`<${Unread} />`}
    <${Question} overview=${overview} onDone=${look} />
    <${Work} />
    <${part.show} overview=${overview} look=${look} />`;
}

export default function Memory({ parts }) {
  const part = PARTS.find(({ path }) => path === parts.join("/"));
  useEffect(forgetPlaces, []); // a conversation may have been deleted since
  return html`
    <div class="room memory">
      ${part
        ? html`<${Part} key=${part.path} part=${part} />`
        : html`<${Nowhere}>There is no such page. <a href="/memory">Open memory</a>.<//>`}
    </div>`;
}
