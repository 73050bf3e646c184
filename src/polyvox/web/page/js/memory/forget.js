// @ts-check
// Forgetting: first what would go with it, word by word, then the question, then it is gone.
import { api } from "../api.js";
import { Dialog, notify } from "../dialog.js";
import { conversations } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useState } from "../ui.js";
import { shorten, plural } from "../words.js";
import { changed } from "./state.js";

const LONG = 320;
const BY_MESSAGES =
  "It is forgotten by forgetting the messages it was taken from: left alone, they would bring it back. ";
const NAMED = 24;
const GOES = [
  ["messages", "message"], ["facts", "fact"], ["loops", "mention of a loop", "mentions of loops"],
  ["profile", "line of the profile", "lines of the profile"],
  ["answers", "answer that repeats it: the words leave it", "answers that repeat it: the words leave them"],
  ["titles", "title that repeats it: the words leave it", "titles that repeat it: the words leave them"],
];
const KNOWN = new Set([
  ...GOES.map(([name]) => name), "sessions", "summaries", "days", "returns", "conversations", "receipts", "elsewhere",
  "backups", "indexRows"
]);

/** Whatever an entry says of itself. */
const wordsOf = (one) =>
  (typeof one === "string" ? one : one?.text ?? one?.quote ?? one?.title ?? one?.name ?? one?.id ?? "");
const listOf = (value) => (Array.isArray(value) ? value.filter((one) => wordsOf(one) !== "") : []);
/** What is told by its number alone, as people call it. */
const ELSEWHERE = {
  remembered: ["answer that memory keeps", "answers that memory keeps"],
  trace: ["account of why an answer came about", "accounts of why answers came about"],
  summary: ["running summary of a conversation", "running summaries of conversations"],
  past_run: ["earlier try of an answer", "earlier tries of answers"],
  assertion: ["assertion"], context: ["question kept for an assertion", "questions kept for assertions"],
  sample: ["answer of an evaluation", "answers of evaluations"],
  verdict: ["reason of a verdict", "reasons of verdicts"],
  optimisation: ["improvement of a prompt", "improvements of prompts"],
  job: ["note of failed work", "notes of failed work"],
};
/** "staleAnswers" → "stale answers": what this page does not know yet is shown all the same. */
const spelled = (name) => name.replace(/[_-]/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

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
      <ul>${list.map((one, at) => html`<li key=${one.id ?? at}><${Text} text=${String(wordsOf(one))} /></li>`)}</ul>
    </section>`;
}

/** Entries that say the same, together: `[text, entries]`. */
function alike(list) {
  const found = new Map();
  for (const one of list) found.set(wordsOf(one), [...(found.get(wordsOf(one)) ?? []), one]);
  return [...found];
}

/** Whose answers they are and where; of many, the first ones. What cannot be told is left out. */
const whose = (list) =>
  Promise.all(
    list.slice(0, NAMED).map(({ id }) => api.get(`/api/answers/${encodeURIComponent(id)}`).catch(() => null))
  );

/** Answers that repeat it: the same words once, with everybody who said them. */
function Answers({ title, list }) {
  const [known] = useLoaded(() => whose(list), [list]);
  const by = new Map((known ?? []).filter(Boolean).map((one) => [one.answer_id, one]));
  if (!list.length) return null;
  return html`
    <section><h3>${title}</h3>
      <ul>${alike(list).map(([text, same]) => html`
        <li key=${same[0].id}><${Text} text=${String(text)} />
          <p class="soft by-whom">
            ${same.length > 1 && html`<span>${same.length} times</span>`}
            ${same.map(({ id }) => by.get(id))
              .filter(Boolean)
              .map((one) => html`
                <a key=${one.answer_id} href=${`/c/${one.conversation_id}#turn-${one.turn_id}`}>
                  <bdi>${one.name}</bdi>
                </a>`)}
          </p>
          </li>`)}
          </ul>
    </section>`;
}

function Conversations({ ids }) {
  if (!ids.length) return null;
  const titles = new Map(conversations.value.map((one) => [one.id, one.title]));
  return html`
    <section><h3>A mark in ${plural(ids.length, "conversation")}</h3>
      <p>Where it was said, it then reads that something was forgotten.</p>
      <ul>${ids.map((one) => {
        const id = typeof one === "string" ? one : one.id;
        return html`
          <li key=${id}>
            <a href=${`/c/${encodeURIComponent(id)}`} dir="auto">
              ${titles.get(id) || one.title || "Untitled conversation"}
            </a>
          </li>`;
      })}</ul>
    </section>`;
}

/** What is told by its number alone: how many receipts, and whatever else repeats it. */
function Counted({ receipts, elsewhere }) {
  const others = Object.entries(elsewhere ?? {})
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => plural(count, ...(ELSEWHERE[kind] ?? [spelled(kind)])));
  if (!receipts && !others.length) return null;
  return html`
    <section><h3>Also repeated</h3>
      ${receipts > 0 && html`
        <p>
          ${plural(receipts, "receipt")} ${receipts === 1
            ? "keeps"
            : "keep"} a mark in place of it, and ${receipts === 1 ? "is" : "are"} not exact any more.
        </p>`}
      ${others.length > 0 && html`<p>In ${others.join(", ")}.</p>`}
    </section>`;
}

function Anew({ summaries = [], days = [] }) {
  const told = [
    summaries.length > 0
      && (summaries.length === 1 ? "the summary of 1 session" : `the summaries of ${summaries.length} sessions`),
    days.length > 0 && `the analysis of ${days.join(", ")}`,
  ].filter(Boolean);
  return told.length > 0 && html`
    <section><h3>Written anew</h3><p>From what is left: ${told.join(", and ")}.</p></section>`;
}

function Backups({ names = [] }) {
  return names.length > 0 && html`
    <section class="stays"><h3>${plural(names.length, "backup")} still ${names.length === 1 ? "holds" : "hold"} it</h3>
      <p>Copies of the database, made before its tables changed. Delete the files when you no longer need them.</p>
      <ul>${names.map((name) => html`<li key=${name}><code>${name}</code></li>`)}</ul></section>`;
}

function Preview({ going }) {
  const others = Object.keys(going).filter((name) => !KNOWN.has(name) && listOf(going[name]).length);
  return html`
    ${going.sessions?.length > 0 && html`
      <p>
        ${plural(
          going.sessions.length, "whole session"
        )} will be forgotten, with everything said in ${going.sessions.length === 1 ? "it" : "them"}.
      </p>`}
    ${GOES.map(([name, one, many]) => html`
      <${name === "answers" ? Answers : Group} key=${name} title=${plural(listOf(going[name]).length, one, many)}
        list=${listOf(going[name])} />`)}
    ${others.map((name) => html`
      <${Group} key=${name} title=${`${listOf(going[name]).length} ${spelled(name)}`} list=${listOf(going[name])} />`)}
    <${Conversations} ids=${listOf(going.conversations)} />
    <${Counted} receipts=${going.receipts ?? 0} elsewhere=${going.elsewhere} />
    <${Anew} summaries=${going.summaries} days=${going.days} />
    <${Group} title="Then holds again" list=${listOf(going.returns)} />
    <${Backups} names=${going.backups} />`;
}

/** `target` is {kind, id, words}; `onDone` is called when it is gone. */
export function Forget({ target, onClose, onDone }) {
  const { kind, id, words } = target;
  const [going, failure, again] = useLoaded(() => api.get(
    `/api/memory/forget?kind=${kind}&id=${encodeURIComponent(id)}`
  ), [kind, id]);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(null);
  const forget = async () => {
    if (busy) return;
    setBusy(true);
    setRefused(null);
    try {
      await api.post("/api/memory/forget", { kind, id });
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
    <${Dialog} title="Forget this for good?" onClose=${onClose}>
      <p class="quote target" dir="auto">${shorten(words, LONG)}</p>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!going && !failure && html`<${Waiting}>Looking what would go with it …<//>`}
      ${going && html`
        <p class="soft">
          ${listOf(going.messages).length > 0 && kind !== "message" && BY_MESSAGES}
          This goes, from memory and from its files, and cannot be undone:
        </p>
        <div class="going"><${Preview} going=${going} /></div>`}
      ${refused && html`<${Failed} failure=${refused} />`}
      <div class="row end finish-forgetting">
        <button type="button" class="plain" autofocus onClick=${onClose}>Keep it</button>
        <button type="button" class="solid bad" disabled=${!going} aria-disabled=${busy ? "true" : undefined}
          onClick=${forget}>
          ${busy ? "Forgetting …" : "Forget for good"}
        </button>
      </div>
    <//>`;
}
