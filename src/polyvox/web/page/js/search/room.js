// @ts-check
// Everything that was ever said here, found by its words.
import { api } from "../api.js";
import { colorOf, conversations } from "../lists.js";
import { go, route } from "../router.js";
import { asQuery, Snippet } from "../snippet.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { monogram, plural, stamp } from "../words.js";

const WAIT = 250;
const STEP = 30;
const MOST = 100;
const RECENT = 6;

/** Hits by conversation, in the order of the best hit of each. */
function byConversation(hits) {
  const groups = new Map();
  for (const hit of hits) {
    const group = groups.get(hit.conversation_id) || {
      id: hit.conversation_id, title: hit.title, marks: [], hits: []
    };
    if (hit.kind === "title") group.marks = hit.snippet === hit.title ? hit.marks : [];
    else group.hits.push(hit);
    groups.set(hit.conversation_id, group);
  }
  return [...groups.values()];
}

/** What was found for a query; `limit` grows on request. An answer that comes too late is dropped. */
function useHits(query, limit) {
  const [state, setState] = useState({ query: "", hits: [], failure: null });
  useEffect(() => {
    if (!query) { setState({ query, hits: [], failure: null }); return undefined; }
    const stop = new AbortController();
    api.get(`/api/search?limit=${limit}&q=${asQuery(query)}`, { signal: stop.signal }).then(
      (hits) => setState({ query, hits, failure: null }),
      (failure) => failure.name !== "AbortError" && setState({ query, hits: [], failure }),
    );
    return () => stop.abort();
  }, [query, limit]);
  return state;
}

function Who({ hit }) {
  if (hit.kind === "message") return html`<span class="voice">You</span>`;
  const name = hit.advisor_name || "An advisor";
  return html`
    <span class="voice" data-c style=${{ "--c": colorOf(hit.advisor_id) }}>
      <span class="mono" aria-hidden="true">${monogram(name)}</span>${name}
    </span>`;
}

function ConversationHits({ group }) {
  return html`
    <section class="found">
      <h2><a class="hit" href=${`/c/${group.id}`}>
        ${group.title ? html`<${Snippet} text=${group.title} marks=${group.marks} />` : "Untitled conversation"}
      </a></h2>
      <ul>${group.hits.map((hit) => html`
        <li key=${hit.id}><a class="hit" href=${`/c/${group.id}#${hit.turn_id}`}>
          <span class="from"><${Who} hit=${hit} /><span class="stamp">${stamp(hit.at)}</span></span>
          <span class="quote"><${Snippet} text=${hit.snippet} marks=${hit.marks} /></span>
        </a></li>`)}</ul>
    </section>`;
}

const HOW = "Every word must occur, in any of its forms; “in quotes” they must stand together.";

/** Nothing asked yet: how it works, and the way back to what was talked about last. */
function Start() {
  const recent = conversations.value.slice(0, RECENT);
  return html`
    <p class="soft lead">${HOW} Messages, answers and titles are searched.</p>
    ${recent.length > 0 && html`<section class="found"><h2>Or back to</h2><ul>${recent.map((conversation) => html`
      <li key=${conversation.id}>
        <a class="hit" href=${`/c/${conversation.id}`}>
          <span class="from">
            <span class="quote">${conversation.title || "Untitled conversation"}</span>
            <span class="stamp">${stamp(conversation.updated_at)}</span>
          </span>
        </a>
      </li>`)}
      </ul>
      </section>`}`;
}

function Results({ state, query, limit, onMore }) {
  const { hits, failure } = state;
  if (!query) return html`<${Start} />`;
  if (failure) return html`<p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`;
  if (state.query !== query) return html`<p class="soft" role="status">Searching …</p>`;
  if (!hits.length) {
    return html`<div class="lead" role="status">
      <p>Nothing here says “${query}”.</p><p class="soft">${HOW} Fewer words find more.</p></div>`;
  }
  const groups = byConversation(hits);
  const all = hits.length < limit;
  return html`
    <p class="stamp" role="status">
      ${all ? "" : "The best "}${plural(hits.length, "place")} in ${plural(groups.length, "conversation")}
    </p>
    ${groups.map((group) => html`<${ConversationHits} key=${group.id} group=${group} />`)}
    ${!all && (limit < MOST
      ? html`<button type="button" class="plain" onClick=${onMore}>Show more</button>`
      : html`<p class="soft lead">There is more than can be listed. Another word will narrow it.</p>`)}`;
}

/** Arrows walk from the field through the results and back. */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  const stops = [...event.currentTarget.querySelectorAll("input[type=search], a.hit")];
  const next = stops[stops.indexOf(document.activeElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

export default function Search() {
  const asked = (route.value.query.get("q") || "").trim();
  const [text, setText] = useState(asked);
  const [limit, setLimit] = useState(STEP);
  const field = useRef(null);
  const mine = useRef(asked);
  useEffect(() => { field.current.focus(); }, []);
  // The address changed by itself (back, a link): the field follows.
  useEffect(() => { if (asked !== mine.current) { mine.current = asked; setText(asked); } setLimit(STEP); }, [asked]);
  useEffect(() => {
    if (text.trim() === asked) return undefined;
    const later = setTimeout(() => ask(text), WAIT);
    return () => clearTimeout(later);
  }, [text]);
  const ask = (words) => {
    mine.current = words.trim();
    go(mine.current ? `/search?q=${encodeURIComponent(mine.current)}` : "/search", { replace: true });
  };
  const state = useHits(asked, limit);
  return html`
    <div class="room search" onKeyDown=${walk}>
      <header><h1>Search</h1></header>
      <form role="search" onSubmit=${(event) => { event.preventDefault(); ask(text); }}>
        <span class="caret" aria-hidden="true">›</span>
        <input ref=${field} type="search" aria-label="Words to find in every conversation"
          placeholder="Words, or “a phrase in quotes”"
          maxlength="1000" autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} />
      </form>
      <${Results} state=${state} query=${asked} limit=${limit}
        onMore=${() => setLimit(Math.min(MOST, limit + STEP * 2))} />
    </div>`;
}
