// @ts-check
// The profile: place by place, each line with who says so; written by hand where one likes.
import { api } from "../api.js";
import { notify } from "../dialog.js";
import { draftOf } from "../draft.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { useReading } from "../place.js";
import { html, useId, useRef, useState } from "../ui.js";
import { shorten } from "../words.js";
import { remove, Reword, unsaved, useWayBack } from "./item.js";
import { Quotes } from "./source.js";
import { changed, Long, useKeptFocus, useNews } from "./state.js";

const DOMAINS = [
  ["relationships", "Relationships"], ["work", "Work"], ["health", "Health"], ["spirituality", "Spirituality"],
  ["general", "Life in general"]
];
/** What a line may be for an empty place: a hint of what belongs there. */
const HINTS = {
  name: "What should they call you?", tone: "Dry, warm, blunt …", avoid: "A word or a habit you dislike.",
  instructions: "“Always answer briefly.”", current_focus: "What is on your mind these weeks?",
  work_context: "What do you do, and with whom?", key_relationships: "Who they are to you.",
  patterns: "What do you tend to do?", north_star: "What do you want in the long run?",
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
      <ul class="bars">
        ${DOMAINS.map(([key, name]) => html`<${Bar} key=${key} name=${name} part=${known[key] ?? 0} />`)}
      </ul>
      <p class="soft small">You do not have to fill anything in.</p>
    </section>`;
}

function Section({ id, title, children }) {
  return html`<section aria-labelledby=${id}><h2 id=${id}>${title}</h2><dl class="places">${children}</dl></section>`;
}

function Whole({ told, put, onGone }) {
  const { model, completeness } = told;
  const one = (line) => (line ? [line] : []);
  const given = (place, label, lines, more = {}) => html`
    <${Place} key=${`${place}-${more.item ?? ""}`} place=${place} label=${label} lines=${lines}
      hint=${HINTS[place.split(".").at(-1)]} put=${put} onGone=${onGone} ...${more} />`;
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
    <${Section} id="stars" title="Long-term goals">
      ${DOMAINS.map(([key, name]) => given("north_star", name, one(model.north_star[key]), {
        single: true, item: key
      }))}
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
  const [room] = useKeptFocus();
  useNews(again);
  const told = mine && read && mine.version >= read.version ? mine : read;
  useReading(told && 0);
  const gone = async () => { await again(); setMine(null); };
  if (!told) {
    return failure
      ? html`<${Failed} failure=${failure} again=${again} />`
      : html`<${Waiting}>Loading …<//>`;
  }
  return html`
    <div ref=${room}>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!told.exists && html`<div class="empty" role="status"><p>Your profile is empty.</p>
        <p class="soft">
          “Call me Ana”, “always answer briefly”: what you say about yourself and how you want to be answered is noted
          when a session ends. Or write it here.
        </p>
        </div>`}
      <${Whole} told=${told} put=${setMine} onGone=${gone} />
    </div>`;
}

// A place in the profile and the lines that stand there.
const EMPTY = { text: "", who: "" };

function source({ source: from, confidence }) {
  if (from === "manual") return "written by you";
  if (from === "inferred") return `inferred, ${Math.round(confidence * 100)} % sure`;
  return "you said this";
}

function Line({ line, label, put, onGone }) {
  const [editing, setEditing] = useState(unsaved(`line.${line.id}`, { text: line.text }));
  const back = useWayBack(editing);
  const name = `${label}, ${shorten(line.name || line.text)}`;
  const path = `/api/memory/profile/lines/${line.id}`;
  const done = (told, words) => { put(told); changed(); notify(words); };
  const save = async (text) => text !== line.text && done(await api.patch(path, { text }), "Saved.");
  return html`
    <dd class="profile-line" data-entry=${line.id}>
      ${editing
        ? html`
          <${Reword} name=${`line.${line.id}`} label="Corrected text" text=${line.text} max="2000" onSave=${save}
            onClose=${() => setEditing(false)} />`
        : html`
          <p class="statement" dir="auto">
            ${line.name && line.name !== line.text && html`<b dir="auto">${line.name}</b> `}
            <${Long} text=${line.text} />
          </p>`}
      <p class="marks"><span>${source(line)}</span></p>
      <${Quotes} list=${line.evidence} />
      <div class="tools">
        <button type="button" data-tool="correct" ref=${back} aria-label=${`Edit: ${name}`}
          aria-expanded=${editing ? "true" : "false"} onClick=${() => setEditing(!editing)}>
          Edit
        </button>
        <button type="button" data-tool="delete" aria-label=${`Delete: ${name}`}
          onClick=${async () => await remove("profile", line.id, line.text) && onGone()}>
          Delete
        </button>
      </div>
    </dd>`;
}

function Add({ place, item, label, hint, named, put, onClose }) {
  const id = useId();
  const draft = draftOf(`place.${place}.${item}`, EMPTY);
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const { text, who } = draft.now;
  const close = () => { draft.forget(); onClose(); };
  const save = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      put(
        await api.post("/api/memory/profile/lines", {
          place, item: named ? who.trim() : item, text: text.trim() || who.trim()
        })
      );
      changed();
      notify("Saved.");
      close();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const keys = (event) => {
    if (event.key === "Escape") { event.preventDefault(); close(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.currentTarget.requestSubmit();
    }
  };
  const found = useRef(draft.fields.length > 0); // not just opened
  const first = (box) => box && !box.dataset.met && (box.dataset.met = "yes", found.current || box.focus());
  return html`
    <form class="reword" data-tool="add" onSubmit=${save} onKeyDown=${keys}>
      ${named && html`
        <label class="field">
          <span>Name</span>
          <input type="text" ref=${first} dir="auto" maxlength="200" value=${who}
            onInput=${(event) => draft.set("who", event.target.value)} />
        </label>`}
      <label class=${named ? "label" : "aside"} for=${id}>${named ? "Who they are to you" : label}</label>
      <textarea id=${id} class="box" rows="2" dir="auto" maxlength="2000" ref=${named ? undefined : first}
        placeholder=${hint} value=${text} onInput=${(event) => draft.set("text", event.target.value)}></textarea>
      ${failure && html`<${Failed} failure=${failure} />`}
      <div class="row">
        <button type="submit" class="solid" disabled=${!(named ? who : text).trim()}
          aria-disabled=${busy ? "true" : undefined}>
          ${busy ? "Saving …" : "Save"}
        </button>
        <button type="button" class="plain" onClick=${close}>Cancel</button>
      </div>
    </form>`;
}

/** `single`: there is room for one; `item`: which one of several; `named`: each is of somebody. */
function Place({ place, label, lines, hint, single = false, item = "", named = false, put, onGone }) {
  const [adding, setAdding] = useState(unsaved(`place.${place}.${item}`, EMPTY));
  const back = useWayBack(adding);
  const room = !single || lines.length === 0;
  return html`
    <div class="place" data-place=${`${place}-${item}`}>
      <dt>${label}</dt>
      ${lines.map((line) => html`
        <${Line} key=${line.id} line=${line} label=${label} put=${put} onGone=${onGone} />`)}
      ${room && html`<dd class="add">
        ${adding
          ? html`
            <${Add} place=${place} item=${item} label=${label} hint=${hint} named=${named} put=${put}
              onClose=${() => setAdding(false)} />`
          : html`${lines.length === 0 && html`<p class="soft">${hint}</p>`}
            <div class="tools">
              <button type="button" data-tool="add" ref=${back} aria-label=${`Add: ${label}`}
                onClick=${() => setAdding(true)}>
                Add
              </button>
            </div>`}
      </dd>`}
    </div>`;
}
