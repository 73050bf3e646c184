// A place in the profile and the lines that stand there.
import { api } from "../api.js";
import { sure, tell, tellFailure } from "../dialog.js";
import { draftOf } from "../draft.js";
import { Failed } from "../load.js";
import { html, useId, useRef, useState } from "../ui.js";
import { Reword, unsaved, useWayBack } from "./memory-item.js";
import { Quotes } from "./memory-source.js";
import { changed, few, Long } from "./memory-state.js";

const REMOVED = "It does not hold any more, and is not inferred again. The words it was taken from stay; Forget takes those, too.";

const EMPTY = { text: "", who: "" };

function source({ source: from, confidence }) {
  if (from === "manual") return "written by you";
  if (from === "inferred") return `inferred, ${Math.round(confidence * 100)} % sure`;
  return "you said so";
}

function Line({ line, label, put, onForget }) {
  const [editing, setEditing] = useState(unsaved(`line.${line.id}`, { text: line.text }));
  const back = useWayBack(editing);
  const name = `${label}, ${few(line.name || line.text)}`;
  const path = `/api/memory/profile/lines/${line.id}`;
  const done = (told, words) => { put(told); changed(); tell(words); };
  const save = async (text) => text !== line.text && done(await api.patch(path, { text }), "Kept.");
  const remove = async () => {
    if (!await sure("Take this out of the profile?", { detail: `${line.text}. ${REMOVED}`, yes: "Take it out" })) return;
    try {
      done(await api.del(path), "It is out of the profile.");
    } catch (failure) {
      tellFailure(failure);
    }
  };
  return html`
    <dd class="profile-line" data-entry=${line.id}>
      ${editing
        ? html`<${Reword} name=${`line.${line.id}`} label="In other words" text=${line.text} max="2000" onSave=${save} onClose=${() => setEditing(false)} />`
        : html`<p class="statement" dir="auto">${line.name && line.name !== line.text && html`<b dir="auto">${line.name}</b> `}<${Long} text=${line.text} /></p>`}
      <p class="marks"><span>${source(line)}</span></p>
      <${Quotes} list=${line.evidence} />
      <div class="tools">
        <button type="button" data-tool="correct" ref=${back} aria-label=${`Edit: ${name}`} aria-expanded=${editing ? "true" : "false"} onClick=${() => setEditing(!editing)}>Edit</button>
        <button type="button" data-tool="remove" aria-label=${`Remove: ${name}`} onClick=${remove}>Remove</button>
        <button type="button" data-tool="forget" aria-label=${`Forget: ${name}`} onClick=${() => onForget({ kind: "profile", id: line.id, words: line.text })}>Forget …</button>
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
      put(await api.post("/api/memory/profile/lines", { place, item: named ? who.trim() : item, text: text.trim() || who.trim() }));
      changed();
      tell("Kept.");
      close();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const keys = (event) => {
    if (event.key === "Escape") { event.preventDefault(); close(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.currentTarget.requestSubmit(); }
  };
  const found = useRef(draft.fields.length > 0); // not just opened
  const first = (box) => box && !box.dataset.met && (box.dataset.met = "yes", found.current || box.focus());
  return html`
    <form class="reword" data-tool="add" onSubmit=${save} onKeyDown=${keys}>
      ${named && html`<label class="field"><span>Name</span><input type="text" ref=${first} dir="auto" maxlength="200" value=${who} onInput=${(event) => draft.set("who", event.target.value)} /></label>`}
      <label class=${named ? "label" : "aside"} for=${id}>${named ? "Who they are to you" : label}</label>
      <textarea id=${id} class="box" rows="2" dir="auto" maxlength="2000" ref=${named ? undefined : first} placeholder=${hint} value=${text} onInput=${(event) => draft.set("text", event.target.value)}></textarea>
      ${failure && html`<${Failed} failure=${failure} />`}
      <div class="row">
        <button type="submit" class="solid" disabled=${!(named ? who : text).trim()} aria-disabled=${busy ? "true" : undefined}>${busy ? "Saving …" : "Save"}</button>
        <button type="button" class="plain" onClick=${close}>Cancel</button>
      </div>
    </form>`;
}

/** `single`: there is room for one; `item`: which one of several; `named`: each is of somebody. */
export function Place({ place, label, lines, hint, single = false, item = "", named = false, put, onForget }) {
  const [adding, setAdding] = useState(unsaved(`place.${place}.${item}`, EMPTY));
  const back = useWayBack(adding);
  const room = !single || lines.length === 0;
  return html`
    <div class="place" data-place=${`${place}-${item}`}>
      <dt>${label}</dt>
      ${lines.map((line) => html`<${Line} key=${line.id} line=${line} label=${label} put=${put} onForget=${onForget} />`)}
      ${room && html`<dd class="add">
        ${adding
          ? html`<${Add} place=${place} item=${item} label=${label} hint=${hint} named=${named} put=${put} onClose=${() => setAdding(false)} />`
          : html`${lines.length === 0 && html`<p class="soft">${hint}</p>`}
            <div class="tools"><button type="button" data-tool="add" ref=${back} aria-label=${`Add: ${label}`} onClick=${() => setAdding(true)}>Add</button></div>`}
      </dd>`}
    </div>`;
}
