// @ts-check
// Where something was said: the words, who said them and when, and the way to that turn.
import { api } from "../api.js";
import { colorOf } from "../lists.js";
import { html, signal, useEffect } from "../ui.js";
import { monogram } from "../words.js";
import { moment } from "./state.js";

const MOST = 50;
const places = signal(new Map());
const asked = new Set();
let waiting = [];

/** Look everything up anew. */
export function forgetPlaces() {
  asked.clear();
  places.value = new Map();
}

/** Asks for many places at once: a page of entries is one question. */
async function ask() {
  const wanted = waiting.splice(0);
  for (let start = 0; start < wanted.length; start += MOST) {
    const some = wanted.slice(start, start + MOST);
    try {
      const found =
        await api.get(`/api/memory/places?${some.map((one) => `at=${encodeURIComponent(one)}`).join("&")}`);
      const next = new Map(places.peek());
      for (const one of found) next.set(`${one.sessionId}#${one.messageIndex}`, one);
      places.value = next;
    } catch {
      some.forEach((one) => asked.delete(one)); // without the way there, the words still stand here
    }
  }
}

function usePlaceOf(sessionId, index) {
  const key = `${sessionId}#${index}`;
  useEffect(() => {
    if (asked.has(key)) return;
    asked.add(key);
    if (waiting.push(key) === 1) setTimeout(ask);
  }, [key]);
  return places.value.get(key);
}

function Voice({ role, place, advisor }) {
  if (role === "user") return html`<span class="speaker">You</span>`;
  const name = place?.advisorName || "An advisor";
  const id = place?.advisorId ?? advisor ?? "";
  return html`
    <span class="speaker" data-c style=${{ "--c": colorOf(id) }}>
      <span class="mono" aria-hidden="true">${monogram(name)}</span><bdi>${name}</bdi>
    </span>`;
}

function Way({ place }) {
  if (!place) return null;
  if (!place.conversationId) return html`<span class="soft">from elsewhere</span>`;
  const to = `/c/${place.conversationId}${place.turnId ? `#${place.turnId}` : ""}`;
  return html`<a href=${to} dir="auto">${place.title || "Untitled conversation"}</a>`;
}

/** Who, when and where; `where` has sessionId, messageIndex, role and timestamp. `day` is the one
 * that is written beside it already. */
export function Origin({ where, advisor, day }) {
  const place = usePlaceOf(where.sessionId, where.messageIndex);
  const when = moment(where.timestamp);
  return html`
    <span class="whence">
      <${Voice} role=${where.role} place=${place} advisor=${advisor} />
      ${when && html`
        <time class="stamp" datetime=${where.timestamp}>${when.startsWith(`${day} `) ? when.slice(11) : when}</time>`}
      <${Way} place=${place} />
    </span>`;
}

/** The way to a session's first message alone. */
export function Path({ sessionId, index }) {
  return html`<${Way} place=${usePlaceOf(sessionId, index)} />`;
}

/** The very words, and where they come from. */
function Quote({ evidence, day }) {
  return html`
    <figure class="words">
      <blockquote dir="auto">“${evidence.quote}”</blockquote>
      <figcaption><${Origin} where=${evidence} day=${day} /></figcaption>
    </figure>`;
}

/** All quotes of something: the newest in sight, the others a press away. */
export function Quotes({ list, day }) {
  if (!list.length) return null;
  const [newest, ...older] = [...list].reverse();
  return html`
    <${Quote} evidence=${newest} day=${day} />
    ${older.length > 0 && html`
      <details class="more">
        <summary>${older.length === 1 ? "Said once before" : `Said ${older.length} times before`}</summary>
        ${older.map((one) => html`
          <${Quote} key=${`${one.sessionId}#${one.messageIndex}${one.quote}`} evidence=${one} />`)}
      </details>`}`;
}
