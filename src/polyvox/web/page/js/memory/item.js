// @ts-check
// One thing that is remembered: what it says, what it rests on, and what can be done about it.
import { api } from "../api.js";
import { confirm, notify, notifyFailure } from "../dialog.js";
import { draftOf } from "../draft.js";
import { advisorById } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { shorten, plural } from "../words.js";
import { Origin, Quotes } from "./source.js";
import { changed, dayOf, Long, moment } from "./state.js";

const SOURCES = { user_stated: "", manual: "written by you", inferred: "inferred" };
const OVER = { superseded: "replaced", done: "done", dropped: "dropped", ended: "no longer true" };

const NAMES = { fact: "fact", loop: "loop", profile: "line" };

/** What the statement is about, where that is not you in general. */
function about({ subject, attribute }) {
  const who = /^(user|i|me|self|the user)$/i.test(subject.trim()) ? "" : subject;
  return [who, attribute.replace(/_/g, " ")].filter(Boolean).join(" · ");
}

/** The time that it speaks of, as exactly as it does. */
function time({ aboutFrom, aboutTo, aboutPrecision }) {
  if (!aboutFrom) return "";
  const days = aboutFrom.slice(0, { year: 4, month: 7 }[aboutPrecision] ?? 10);
  return aboutPrecision === "week" && aboutTo ? `the week from ${days}` : days;
}

function Marks({ fact }) {
  const whose = fact.advisorId && (advisorById.value.get(fact.advisorId)?.name ?? "one advisor");
  const marks = [
    fact.over && `${OVER[fact.over] ?? fact.over} ${dayOf(fact.validTo)}`,
    fact.pinned && "pinned", fact.excluded && "hidden from advisors",
    fact.neverToCloud && "only for models on this computer", whose && `only ${whose} may read it`,
    fact.evidence.length > 1 && `said ${fact.evidence.length} times`,
    fact.source === "inferred" && `inferred, ${Math.round(fact.confidence * 100)} % sure`,
    time(fact) && `about ${time(fact)}`,
  ].filter(Boolean);
  return marks.length > 0 && html`<p class="marks">${marks.map((one) => html`<span key=${one}>${one}</span>`)}</p>`;
}

/** Undoes that a fact is outdated. */
function Still({ fact, onDone, label = "Still true" }) {
  const restore = () => attempt(async () => {
    await api.patch(`/api/memory/facts/${fact.id}`, { current: true });
    await onDone?.();
  }, "Current again.");
  return html`
    <button type="button" data-tool="still" aria-label=${`${label}: ${shorten(fact.text)}`}
      onClick=${restore}>
      ${label}
    </button>`;
}

/** What was ever said of the same, in the order of time. */
function History({ fact, onDone }) {
  const [whole, failure, again] = useLoaded(() => api.get(`/api/memory/facts/${fact.id}`), [
    fact.id, fact.validTo, fact.text
  ]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!whole) return html`<${Waiting}>Loading …<//>`;
  const line = [...whole.history, whole].sort((a, b) => Date.parse(a.validFrom) - Date.parse(b.validFrom));
  return html`
    <ol class="line">${line.map((one) => html`
      <li key=${one.id} class=${one.status === "current" ? "holds" : ""}>
        <p class="stamp">
          ${moment(one.validFrom)} ${one.validTo ? `to ${moment(one.validTo)}` : "until now"}
          ${SOURCES[one.source] && ` · ${SOURCES[one.source]}`}
        </p>
        <p class="quote" dir="auto">${one.text}</p>
        <${Quotes} list=${one.evidence} />
        ${one.status !== "current" && one.id !== fact.id && html`
          <div class="tools"><${Still} fact=${one} onDone=${onDone} /></div>`}
      </li>`)}</ol>`;
}

/** A text to be corrected in its place; what is typed is kept in this browser until it is saved. */
export function Reword({ name, label, text, max, onSave, onClose, children }) {
  const id = useId();
  const box = useRef(null);
  const draft = draftOf(name, { text });
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => {
    if (draft.fields.length) return; // found again, not just opened
    box.current.focus();
    box.current.setSelectionRange(9e9, 9e9);
  }, []);
  const close = () => { draft.forget(); onClose(); };
  const save = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await onSave(draft.now.text.trim());
      close();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const keys = (event) => {
    if (event.key === "Escape") { event.preventDefault(); close(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.current.form.requestSubmit();
  };
  return html`
    <form class="reword" data-tool="correct" onSubmit=${save} onKeyDown=${keys}>
      <label class="label" for=${id}>${label}</label>
      <textarea id=${id} class="box" ref=${box} rows="2" dir="auto" maxlength=${max} value=${draft.now.text}
        onInput=${(event) => draft.set("text", event.target.value)}></textarea>
      ${children}
      ${failure && html`<${Failed} failure=${failure} />`}
      <div class="row">
        <button type="submit" class="solid" disabled=${!draft.now.text.trim()}
          aria-disabled=${busy ? "true" : undefined}>
          ${busy ? "Saving …" : "Save"}
        </button>
        <button type="button" class="plain" onClick=${close}>Cancel</button>
      </div>
    </form>`;
}

/** Whether there is something of this name that was typed and not saved. */
export const unsaved = (name, saved) => draftOf(name, saved).fields.length > 0;

/** The focus goes back to the button that opened something when it closes. */
export function useWayBack(open) {
  const button = useRef(null);
  const was = useRef(open);
  useEffect(() => {
    if (was.current && !open) button.current?.focus({ preventScroll: true });
    was.current = open;
  }, [open]);
  return button;
}

export async function attempt(work, done) {
  try {
    await work();
    changed();
    if (done) notify(done);
  } catch (failure) {
    notifyFailure(failure);
  }
}

export function PinTool({ pinned, name, mark }) {
  const word = pinned ? "Unpin" : "Pin";
  return html`
    <button type="button" data-tool="pin" aria-pressed=${pinned ? "true" : "false"} aria-label=${`${word}: ${name}`}
      onClick=${() => mark({ pinned: !pinned }, pinned ? "Unpinned." : "Pinned. It comes first.")}>
      ${word}
    </button>`;
}

function MarkTools({ marked, name, mark }) {
  const out = marked.excluded;
  return html`
    <${PinTool} pinned=${marked.pinned} name=${name} mark=${mark} />
    <button type="button" data-tool="exclude" aria-pressed=${out ? "true" : "false"}
      aria-label=${`${out ? "Show to advisors" : "Hide from advisors"}: ${name}`}
      onClick=${() => mark(
        { excluded: !out }, out ? "Advisors may read it again." : "Hidden. No advisor reads it."
      )}>
      ${out ? "Show to advisors" : "Hide from advisors"}
    </button>`;
}

/** Whether a part of an entry is unfolded: kept in `unfolded`, so that the entry can move. */
function useUnfolded(unfolded, part, otherwise = false) {
  const [open, setOpen] = useState(unfolded[part] ?? otherwise);
  return [open, (now) => { unfolded[part] = now; setOpen(now); }];
}

const lines = (list, one, many) =>
  (list.length ? `${list.length > 1 ? many : one} ${list.map(({ text }) => `“${shorten(text)}”`).join(", ")}. ` : "");

/** Deletes one statement after a short question; whether it was deleted. */
export async function remove(kind, id, text) {
  try {
    const going = await api.get(`/api/memory/forget?kind=${kind}&id=${encodeURIComponent(id)}`);
    const back = lines(going.returns, "This becomes current again:", "These become current again:");
    const yes = await confirm(`Delete this ${NAMES[kind]}?`, {
      detail: `“${shorten(text, 300)}” ${back}The message it came from stays.`
        + (going.backups.length ? ` Backups still hold it: ${going.backups.join(", ")}.` : ""),
      yes: "Delete",
    });
    if (!yes) return false;
    await api.post("/api/memory/forget", { kind, id });
    changed();
    notify("Deleted.");
    return true;
  } catch (failure) {
    notifyFailure(failure);
    return false;
  }
}

export function Fact({ name: entry, item, unfolded, put, onChanged, onGone }) {
  const { fact, before, others } = item;
  const [editing, setEditing] = useUnfolded(unfolded, "correct", unsaved(`fact.${fact.id}`, { text: fact.text }));
  const [open, setOpen] = useUnfolded(unfolded, "history");
  const back = useWayBack(editing);
  const name = shorten(fact.text);
  const current = fact.status === "current";
  const mark = (change, done) =>
    attempt(async () => put({ fact: await api.patch(`/api/memory/facts/${fact.id}`, change) }), done);
  const correct = async (text) => {
    if (text === fact.text) return;
    const made = await api.patch(`/api/memory/facts/${fact.id}`, { text });
    setEditing(false); // before it moves
    put({ fact: made, before: { id: fact.id, text: fact.text, saidAt: fact.saidAt }, others: others + 1 });
    changed();
    notify("Corrected.");
  };
  // One's own correction is taken back by deleting it; what was said stays, and both are current.
  const undo = () => attempt(async () => {
    if (fact.source === "manual") await api.del(`/api/memory/facts/${fact.id}`);
    else await api.patch(`/api/memory/facts/${before.id}`, { current: true });
    await onChanged();
  }, "Undone.");
  return html`
    <li data-entry=${entry} class=${`memo${current ? "" : " past"}${fact.excluded ? " out" : ""}`}>
      <div class="margin-note">
        ${about(fact) && html`<span class="label" dir="auto">${about(fact)}</span>`}
        <time class="stamp" datetime=${fact.saidAt}>${dayOf(fact.saidAt)}</time>
      </div>
      <div class="entry">
        ${editing
          ? html`
            <${Reword} name=${`fact.${fact.id}`} label="Corrected text" text=${fact.text} max="2000" onSave=${correct}
              onClose=${() => setEditing(false)}>
              <p class="soft small">The old text moves to Outdated.</p>
              <//>`
          : html`<p class="statement" dir="auto"><${Long} text=${fact.text} /></p>`}
        ${!editing && before && current && html`
          <p class="was">
            Before: <del dir="auto">${before.text}</del> <span class="stamp">
              ${fact.source === "manual" ? "corrected by you" : "until"} ${dayOf(fact.saidAt)}
            </span> <button type="button" data-tool="undo" class="quiet"
              aria-label=${`Undo, back to: ${shorten(before.text)}`} onClick=${undo}>
              Undo
            </button>
          </p>`}
        <${Marks} fact=${fact} />
        <${Quotes} list=${fact.evidence} day=${dayOf(fact.saidAt)} />
        ${fact.source === "manual" && !fact.evidence.length && html`
          <p class="whence">
            <span class="speaker">You</span>
            <span>wrote this</span>
            <time class="stamp" datetime=${fact.saidAt}>${moment(fact.saidAt).slice(11)}</time>
          </p>`}
        <div class="tools">
          ${!current && html`<${Still} fact=${fact} onDone=${onChanged} />`}
          ${current && html`
            <button type="button" data-tool="correct" ref=${back} aria-label=${`Correct: ${name}`}
              aria-expanded=${editing ? "true" : "false"} onClick=${() => setEditing(!editing)}>
              Correct
            </button>`}
          ${(current || fact.excluded) && html`<${MarkTools} marked=${fact} name=${name} mark=${mark} />`}
          ${others > 0 && html`
            <button type="button" data-tool="history" aria-expanded=${open ? "true" : "false"}
              aria-label=${`History, ${plural(others + 1, "fact")}: ${name}`} onClick=${() => setOpen(!open)}>
              History (${others + 1})
            </button>`}
          <button type="button" data-tool="delete" aria-label=${`Delete this fact: ${name}`}
            onClick=${async () => await remove("fact", fact.id, fact.text) && onGone()}>
            Delete
          </button>
        </div>
        ${open && html`<${History} fact=${fact} onDone=${onChanged} />`}
      </div>
    </li>`;
}

/** Something that was said, as it was said. */
export function Message({ name: entry, item, unfolded, put, onForget }) {
  const { message } = item;
  const [whole, setWhole] = useUnfolded(unfolded, "whole");
  const part = item.message.excerpt;
  const cut = Boolean(part) && part.length < message.text.trim().length;
  const id = `${message.sessionId}#${message.messageIndex}`;
  const name = shorten(part || message.text);
  const mark = (change, done) => attempt(async () => {
    const made =
      await api.patch(`/api/memory/messages/${encodeURIComponent(message.sessionId)}/${message.messageIndex}`, change);
    put({ message: { ...message, pinned: made.pinned, excluded: made.excluded } });
  }, done);
  return html`
    <li data-entry=${entry} class=${`memo utterance${message.excluded ? " out" : ""}`}>
      <div class="margin-note"><span class="label">${message.role === "user" ? "you said" : "an answer"}</span>
        <time class="stamp" datetime=${message.timestamp}>${dayOf(message.timestamp)}</time></div>
      <div class="entry">
        <p class="statement spoken" dir="auto">${cut && !whole ? `… ${part} …` : message.text}</p>
        ${(message.pinned || message.excluded) && html`
          <p class="marks">
            ${message.pinned && html`<span>pinned</span>`}
            ${message.excluded && html`<span>hidden from advisors</span>`}
          </p>`}
        <${Origin} where=${message} advisor=${message.advisorId} day=${dayOf(message.timestamp)} />
        <div class="tools">
          ${cut && html`
            <button type="button" data-tool="whole" aria-expanded=${whole ? "true" : "false"}
              onClick=${() => setWhole(!whole)}>
              ${whole ? "Show less" : "Show all"}
            </button>`}
          <${MarkTools} marked=${message} name=${name} mark=${mark} />
          <button type="button" data-tool="forget" aria-label=${`Forget: ${name}`}
            onClick=${() => onForget({ id, words: message.text })}>
            Forget …
          </button>
        </div>
      </div>
    </li>`;
}
