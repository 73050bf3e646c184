// @ts-check
// Forgetting a message: first what goes with it, with a choice of answers to keep, then it is gone.
import { api } from "../api.js";
import { Dialog, notify } from "../dialog.js";
import { conversations } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useState } from "../ui.js";
import { shorten, plural } from "../words.js";
import { changed } from "./state.js";

const LONG = 320;
const NAMED = 24;
const GOES = [
  ["messages", "other message"], ["facts", "fact"], ["loops", "open loop"], ["profile", "line of the profile",
    "lines of the profile"], ["titles", "title made from it", "titles made from it"],
];

function Text({ text }) {
  if (text.length <= LONG) return html`<p class="quote" dir="auto">${text}</p>`;
  return html`
    <details class="long">
      <summary class="quote" dir="auto">${shorten(text, LONG)}</summary><p class="quote" dir="auto">${text}</p>
    </details>`;
}

function Group({ title, list }) {
  if (!list.length) return null;
  return html`
    <section><h3>${title}</h3>
      <ul>${list.map(({ id, text }) => html`<li key=${id}><${Text} text=${text} /></li>`)}</ul>
    </section>`;
}

/** Whose answers they are and where; of many, the first ones. What cannot be told is left out. */
const whose = (list) =>
  Promise.all(
    list.slice(0, NAMED).map(({ id }) => api.get(`/api/answers/${encodeURIComponent(id)}`).catch(() => null))
  );

/** The answers that read it or were told of it: they go too, unless kept. */
function Answers({ list, kept, onKeep }) {
  const [known] = useLoaded(() => whose(list), [list]);
  const by = new Map((known ?? []).filter(Boolean).map((one) => [one.answer_id, one]));
  if (!list.length) return null;
  const keep = (id, on) => onKeep(on ? [...kept, id] : kept.filter((one) => one !== id));
  return html`
    <section class="answers"><h3>${plural(list.length, "answer that used it", "answers that used it")}</h3>
      <p>Removed too, unless you keep ${list.length === 1 ? "it" : "them"}.</p>
      <ul>${list.map(({ id, text }) => {
        const one = by.get(id);
        const name = one?.name ?? "an advisor";
        return html`
          <li key=${id}>
            <label>
              <input type="checkbox" checked=${kept.includes(id)}
                onChange=${(event) => keep(id, event.target.checked)} />
              <span>Keep <b dir="auto">${name}</b>’s answer</span>
            </label>
            ${one && html`<a href=${`/c/${one.conversation_id}#turn-${one.turn_id}`}>Open</a>`}
            <${Text} text=${text} />
          </li>`;
      })}</ul>
    </section>`;
}

function Conversations({ ids }) {
  if (!ids.length) return null;
  const titles = new Map(conversations.value.map((one) => [one.id, one.title]));
  return html`
    <section><h3>In ${plural(ids.length, "conversation")} a mark stays: “forgotten”</h3>
      <ul>${ids.map((id) => html`
        <li key=${id}>
          <a href=${`/c/${encodeURIComponent(id)}`} dir="auto">${titles.get(id) || "Untitled conversation"}</a>
        </li>`)}</ul>
    </section>`;
}

/** What is told in one sentence: records that keep a mark, and what is written anew. */
function Rest({ going }) {
  const marks = going.receipts + Object.values(going.elsewhere).reduce((sum, count) => sum + count, 0);
  const anew = going.summaries.length + going.days.length;
  return html`
    ${marks > 0 && html`
      <p class="soft">${plural(marks, "record")} (what was sent, traces, evaluations) ${marks === 1
        ? "loses"
        : "lose"} it as well.</p>`}
    ${anew > 0 && html`<p class="soft">${plural(anew, "summary", "summaries")} will be rewritten without it.</p>`}`;
}

function Backups({ names }) {
  return names.length > 0 && html`
    <section class="stays"><h3>${plural(names.length, "backup")} still ${names.length === 1 ? "has" : "have"} it</h3>
      <p>Copies of the database, made before an update. Delete the files when you no longer need them.</p>
      <ul>${names.map((name) => html`<li key=${name}><code>${name}</code></li>`)}</ul></section>`;
}

function Preview({ going, words, kept, onKeep }) {
  const above = new Set([words, ...going.answers.map(({ text }) => text)]);
  const groups = { ...going, messages: going.messages.filter(({ text }) => !above.has(text)) };
  return html`
    ${GOES.map(([name, one, many]) => html`
      <${Group} key=${name} title=${plural(groups[name].length, one, many)} list=${groups[name]} />`)}
    <${Answers} list=${going.answers} kept=${kept} onKeep=${onKeep} />
    <${Conversations} ids=${going.conversations} />
    <${Group} title="Current again" list=${going.returns} />
    <${Rest} going=${going} />
    <${Backups} names=${going.backups} />`;
}

/** `target` is a message: {id, words}; `onDone` is called when it is gone. */
export function Forget({ target, onClose, onDone }) {
  const { id, words } = target;
  const [going, failure, again] = useLoaded(
    () => api.get(`/api/memory/forget?kind=message&id=${encodeURIComponent(id)}`), [id]
  );
  const [kept, setKept] = useState([]);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(null);
  const forget = async () => {
    if (busy) return;
    setBusy(true);
    setRefused(null);
    try {
      await api.post("/api/memory/forget", { kind: "message", id, keep: kept });
    } catch (error) {
      setRefused(error);
      setBusy(false);
      return;
    }
    changed();
    notify("Forgotten.");
    onDone();
  };
  return html`
    <${Dialog} title="Forget this message?" onClose=${onClose}>
      <p class="quote target" dir="auto">${shorten(words, LONG)}</p>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!going && !failure && html`<${Waiting}>Loading …<//>`}
      ${going && html`
        <p class="soft">This is deleted from memory and its files. It cannot be undone.</p>
        <div class="going"><${Preview} going=${going} words=${words} kept=${kept} onKeep=${setKept} /></div>`}
      ${refused && html`<${Failed} failure=${refused} />`}
      <div class="row end finish-forgetting">
        <button type="button" class="plain" autofocus onClick=${onClose}>Cancel</button>
        <button type="button" class="solid bad" disabled=${!going} aria-disabled=${busy ? "true" : undefined}
          onClick=${forget}>
          ${busy ? "Forgetting …" : "Forget"}
        </button>
      </div>
    <//>`;
}
