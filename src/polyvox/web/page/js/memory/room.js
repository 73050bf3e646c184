// @ts-check
// Memory: what is remembered and from where, what is open, who you are to it, what days were about.
import { download } from "../api.js";
import { notifyFailure } from "../dialog.js";
import { Nowhere, usePlace } from "../place.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { Days } from "./days.js";
import { Remembered } from "./list.js";
import { Loops } from "./loops.js";
import { Profile } from "./profile.js";
import { forgetPlaces } from "./source.js";
import { Work } from "./work.js";

const PARTS = [
  { path: "", name: "Remembered", show: Remembered,
    lead:
      "What was noted from your own words, each with the words it rests on. "
      + "Correct it, pin it, keep it out of answers, or have it forgotten." },
  { path: "open-loops", name: "Open loops", show: Loops,
    lead:
      "What you meant to do, decided, keep up or wait for, the most pressing first. "
      + "It ends when you say so, here or in a conversation. What you pin stays in front and does not grow old." },
  { path: "profile", name: "Profile", show: Profile,
    lead:
      "Who you are to those who answer, and how you want to be spoken to. "
      + "Whoever answers you may be told of it, so what you write here counts at once." },
  { path: "days", name: "Days", show: Days,
    lead: "What each day was about, and its sessions in a few words." },
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

function Part({ part }) {
  usePlace(...(part.path ? [part.name, "Memory"] : ["Memory"]));
  return html`
    <header>
      <div class="head-line"><h1>Memory</h1><div class="tools"><${Export} /></div></div>
      <p>${part.lead}</p>
    </header>
    <${Contents} here=${part.path} />
    <${Work} />
    <${part.show} />`;
}

export default function Memory({ parts }) {
  const part = PARTS.find(({ path }) => path === parts.join("/"));
  useEffect(forgetPlaces, []); // a conversation may have been deleted since
  return html`
    <div class="room memory">
      ${part
        ? html`<${Part} key=${part.path} part=${part} />`
        : html`<${Nowhere}>Memory has no such part. <a href="/memory">See what is remembered</a>.<//>`}
    </div>`;
}
