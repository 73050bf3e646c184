// The profile: place by place, each line with who says so; written by hand where one likes.
import { api } from "../api.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { useReading } from "../place.js";
import { html, useState } from "../ui.js";
import { useKeptFocus } from "./memory-focus.js";
import { Forget } from "./memory-forget.js";
import { Place } from "./memory-line.js";
import { useNews } from "./memory-state.js";

const DOMAINS = [["relationships", "Relationships"], ["work", "Work"], ["health", "Health"], ["spirituality", "Spirituality"], ["general", "Life in general"]];
/** What a line may be for an empty place: a hint of what belongs there. */
const HINTS = {
  name: "How you want to be called.", tone: "Dry, warm, blunt …", avoid: "A word or a habit that you do not want to meet.",
  instructions: "“Always answer briefly.”", current_focus: "What is on your mind these weeks.", work_context: "What you do, and with whom.",
  key_relationships: "Who they are to you.", patterns: "What you tend to do.", north_star: "What you are after in the long run.",
};

function Bar({ name, part }) {
  const percent = Math.round(part * 100);
  return html`
    <li><span class="name">${name}</span>
      <span class="bar" aria-hidden="true"><i style=${{ "--part": part }}></i></span>
      <span class="num">${percent} %</span></li>`;
}

function Completeness({ known }) {
  return html`
    <section aria-labelledby="known"><h2 id="known">How much is known</h2>
      <ul class="bars">${DOMAINS.map(([key, name]) => html`<${Bar} key=${key} name=${name} part=${known[key] ?? 0} />`)}</ul>
      <p class="soft small">Nothing has to be filled in. What is empty is simply not known.</p>
    </section>`;
}

function Section({ id, title, children }) {
  return html`<section aria-labelledby=${id}><h2 id=${id}>${title}</h2><dl class="places">${children}</dl></section>`;
}

function Whole({ told, put, onForget }) {
  const { model, completeness } = told;
  const one = (line) => (line ? [line] : []);
  const given = (place, label, lines, more = {}) => html`
    <${Place} key=${`${place}-${more.item ?? ""}`} place=${place} label=${label} lines=${lines} hint=${HINTS[place.split(".").at(-1)]} put=${put} onForget=${onForget} ...${more} />`;
  return html`
    <${Section} id="manner" title="How to speak with you">
      ${given("name", "Name", one(model.name), { single: true })}
      ${given("preferences.tone", "Tone", one(model.preferences.tone), { single: true })}
      ${given("instructions", "Standing instructions", model.instructions)}
      ${given("preferences.avoid", "To avoid", model.preferences.avoid)}
    <//>
    <${Section} id="now" title="Now">
      ${given("current_focus", "Current focus", one(model.current_focus), { single: true })}
      ${given("work_context", "Work", one(model.work_context), { single: true })}
    <//>
    <${Section} id="stars" title="North stars">
      ${DOMAINS.map(([key, name]) => given("north_star", name, one(model.north_star[key]), { single: true, item: key }))}
    <//>
    <${Section} id="others" title="People and patterns">
      ${given("key_relationships", "People", model.key_relationships, { named: true })}
      ${given("patterns", "Patterns", model.patterns)}
    <//>
    <${Completeness} known=${completeness} />`;
}

export function Profile() {
  const [read, failure, again] = useLoaded(() => api.get("/api/memory/profile"), []);
  const [mine, setMine] = useState(null);
  const [target, setTarget] = useState(null);
  const [room] = useKeptFocus();
  useNews(again);
  const told = mine && read && mine.version >= read.version ? mine : read;
  useReading(told && 0);
  const gone = async () => { setTarget(null); await again(); setMine(null); };
  if (!told) return failure ? html`<${Failed} failure=${failure} again=${again} />` : html`<${Waiting}>Reading the profile …<//>`;
  return html`
    <div ref=${room}>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!told.exists && html`<div class="empty" role="status"><p>Nothing is known of you yet.</p>
        <p class="soft">“Call me Ana”, “always answer briefly”: what you say of yourself and of how you want to be answered is noted when a session ends. Or write it here.</p></div>`}
      <${Whole} told=${told} put=${setMine} onForget=${setTarget} />
      ${target && html`<${Forget} target=${target} onClose=${() => setTarget(null)} onDone=${gone} />`}
    </div>`;
}
