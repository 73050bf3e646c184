// @ts-check
// One thing that is remembered: what it says, what it rests on, and what can be done about it.
import { api } from "../api.js";
import { notify, notifyFailure } from "../dialog.js";
import { draftOf } from "../draft.js";
import { advisorById } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { shorten, plural } from "../words.js";
import { Origin, Quotes } from "./source.js";
import { changed, dayOf, Long, moment } from "./state.js";

const SOURCES = { user_stated: "", manual: "written by you", inferred: "inferred" };

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
    fact.pinned && "pinned", fact.excluded && "excluded: no answer sees it",
    fact.neverToCloud && "stays on this machine",
    whose && `known to ${whose} alone`, fact.status === "superseded" && `superseded ${dayOf(fact.validTo)}`,
    fact.source === "inferred" && `inferred, ${Math.round(fact.confidence * 100)} % sure`,
    time(fact) && `about ${time(fact)}`,
  ].filter(Boolean);
  return marks.length > 0 && html`<p class="marks">${marks.map((one) => html`<span key=${one}>${one}</span>`)}</p>`;
}

/** What was ever said of the same, in the order of time. */
function History({ fact }) {
  const [whole, failure, again] = useLoaded(() => api.get(`/api/memory/facts/${fact.id}`), [
    fact.id, fact.validTo, fact.text
  ]);
  if (failure) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!whole) return html`<${Waiting}>Looking back …<//>`;
  const line = [...whole.history, whole].sort((a, b) => Date.parse(a.validFrom) - Date.parse(b.validFrom));
  return html`
    <ol class="line">${line.map((one) => html`
      <li key=${one.id} class=${one.status === "current" ? "holds" : ""}>
        <p class="stamp">
          ${moment(one.validFrom)} ${one.validTo ? `to ${moment(one.validTo)}` : "until now"}
          ${SOURCES[one.source] && ` · ${SOURCES[one.source]}`}
        </p>
        <p class="quote" dir="auto">${one.retracts ? html`<em>Taken back:</em> ${one.text}` : one.text}</p>
        <${Quotes} list=${one.evidence} />
      </li>`)}</ol>`;
}

/** A text to be put right in its place; what is typed is kept in this browser until it is saved. */
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
      onClick=${() => mark({ pinned: !pinned }, pinned ? "It is not pinned any more." : "Pinned. It stands first.")}>
      ${word}
    </button>`;
}

function MarkTools({ marked, name, mark }) {
  const out = marked.excluded;
  return html`
    <${PinTool} pinned=${marked.pinned} name=${name} mark=${mark} />
    <button type="button" data-tool="exclude" aria-pressed=${out ? "true" : "false"}
      aria-label=${`${out ? "Include" : "Exclude"}: ${name}`}
      onClick=${() => mark(
        { excluded: !out }, out ? "Included. It can be recalled again." : "Excluded. No answer gets to see it."
      )}>
      ${out ? "Include" : "Exclude"}
    </button>`;
}

/** Whether a part of an entry is unfolded: kept in `unfolded`, so that the entry can move. */
function useUnfolded(unfolded, part, otherwise = false) {
  const [open, setOpen] = useState(unfolded[part] ?? otherwise);
  return [open, (now) => { unfolded[part] = now; setOpen(now); }];
}

export function Fact({ name: entry, item, unfolded, put, onForget }) {
  const { fact, before, others } = item;
  const [editing, setEditing] = useUnfolded(unfolded, "correct", unsaved(`fact.${fact.id}`, { text: fact.text }));
  const [open, setOpen] = useUnfolded(unfolded, "history");
  const back = useWayBack(editing);
  const name = shorten(fact.text);
  const holds = fact.status === "current";
  const mark = (change, done) =>
    attempt(async () => put({ fact: await api.patch(`/api/memory/facts/${fact.id}`, change) }), done);
  const correct = async (text) => {
    if (text === fact.text) return;
    const made = await api.patch(`/api/memory/facts/${fact.id}`, { text });
    setEditing(false); // before it moves
    put({ fact: made, before: { id: fact.id, text: fact.text, saidAt: fact.saidAt }, others: others + 1 });
    changed();
    notify("Corrected. It holds until you say something newer.");
  };
  return html`
    <li data-entry=${entry} class=${`memo${holds ? "" : " past"}${fact.excluded ? " out" : ""}`}>
      <div class="margin-note">
        ${about(fact) && html`<span class="label" dir="auto">${about(fact)}</span>`}
        <time class="stamp" datetime=${fact.saidAt}>${dayOf(fact.saidAt)}</time>
      </div>
      <div class="entry">
        ${editing
          ? html`
            <${Reword} name=${`fact.${fact.id}`} label="Put it rightly" text=${fact.text} max="2000" onSave=${correct}
              onClose=${() => setEditing(false)}>
              <p class="soft small">
                <del dir="auto">${fact.text}</del> stays in its history; what you write holds from now on.
              </p>
              <//>`
          : html`<p class="statement" dir="auto"><${Long} text=${fact.text} /></p>`}
        ${!editing && before && (fact.corrects === before.id || holds) && html`
          <p class="was">
            <span class="aside">Before: </span>
            <del dir="auto">${before.text}</del> <span class="stamp">
              ${fact.corrects ? "corrected by you" : "until"} ${dayOf(fact.saidAt)}
            </span>
          </p>`}
        <${Marks} fact=${fact} />
        <${Quotes} list=${fact.evidence} day=${dayOf(fact.saidAt)} />
        ${fact.source === "manual" && !fact.evidence.length && html`
          <p class="whence">
            <span class="speaker">You</span>
            <span>written by hand</span>
            <time class="stamp" datetime=${fact.saidAt}>${moment(fact.saidAt).slice(11)}</time>
          </p>`}
        <div class="tools">
          ${holds && html`
            <button type="button" data-tool="correct" ref=${back} aria-label=${`Correct: ${name}`}
              aria-expanded=${editing ? "true" : "false"} onClick=${() => setEditing(!editing)}>
              Correct
            </button>`}
          ${holds && html`<${MarkTools} marked=${fact} name=${name} mark=${mark} />`}
          ${!holds && fact.excluded && html`<${MarkTools} marked=${fact} name=${name} mark=${mark} />`}
          ${others > 0 && html`
            <button type="button" data-tool="history" aria-expanded=${open ? "true" : "false"}
              aria-label=${`History, ${plural(others + 1, "statement")}: ${name}`} onClick=${() => setOpen(!open)}>
              History (${others + 1})
            </button>`}
          <button type="button" data-tool="forget" aria-label=${`Forget: ${name}`}
            onClick=${() => onForget({ kind: "fact", id: fact.id, words: fact.text })}>
            Forget …
          </button>
        </div>
        ${open && html`<${History} fact=${fact} />`}
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
            ${message.excluded && html`<span>excluded: no answer sees it</span>`}
          </p>`}
        <${Origin} where=${message} advisor=${message.advisorId} day=${dayOf(message.timestamp)} />
        <div class="tools">
          ${cut && html`
            <button type="button" data-tool="whole" aria-expanded=${whole ? "true" : "false"}
              onClick=${() => setWhole(!whole)}>
              ${whole ? "Show a part" : "Show all of it"}
            </button>`}
          <${MarkTools} marked=${message} name=${name} mark=${mark} />
          <button type="button" data-tool="forget" aria-label=${`Forget: ${name}`}
            onClick=${() => onForget({ kind: "message", id, words: message.text })}>
            Forget …
          </button>
        </div>
      </div>
    </li>`;
}
