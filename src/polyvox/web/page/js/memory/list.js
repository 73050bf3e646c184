// @ts-check
// What is remembered: a list to read, a search, filters, and a field to add something.
import { Failed, Waiting } from "../load.js";
import { remember } from "../remember.js";
import { go, route } from "../router.js";
import { asQuery } from "../snippet.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { dayGroup, number, plural } from "../words.js";
import { Forget } from "./forget.js";
import { Fact, Message, Reword, unsaved, useWayBack } from "./item.js";
import { Filter, More, useKeptFocus, usePages } from "./state.js";

const WAIT = 300;
const FOUND = 30;
const SURE = 0.6; // from here on the server calls it worth telling
const FILTERS = [
  ["current", "Current"], ["pinned", "Pinned"], ["excluded", "Hidden"], ["superseded", "Outdated"]
];
const NONE = {
  pinned: "Nothing is pinned. Pinned facts come first, here and when your advisors look something up.",
  excluded: "Nothing is hidden. Hidden facts stay here, but no advisor reads them.",
  superseded: "Nothing is outdated. When you say something newer about the same thing, the older fact moves here.",
};

const keyOf = ({ kind, fact, message }) =>
  (kind === "fact" ? `fact-${fact.id}` : `message-${message.sessionId}-${message.messageIndex}`);

function Line({ asked, onAsk }) {
  const [text, setText] = useState(asked);
  const mine = useRef(asked);
  // The address changed by itself (back, a link): the field follows.
  useEffect(() => { if (asked !== mine.current) { mine.current = asked; setText(asked); } }, [asked]);
  const ask = (words) => { mine.current = words.trim(); onAsk(mine.current); };
  useEffect(() => {
    if (text.trim() === asked) return undefined;
    const later = setTimeout(() => ask(text), WAIT);
    return () => clearTimeout(later);
  }, [text]);
  return html`
    <form role="search" onSubmit=${(event) => { event.preventDefault(); ask(text); }}>
      <span class="caret" aria-hidden="true">›</span>
      <input type="search" aria-label="Search your memory" placeholder="Search what you said"
        maxlength="1000"
        autocomplete="off" dir="auto" value=${text} onInput=${(event) => setText(event.target.value)} />
    </form>`;
}

const markedOf = (item) => item.fact ?? item.message;
const timeOf = (item) => Date.parse(item.fact?.saidAt ?? item.message?.timestamp ?? "");
const pinnedFirst = (only, asked) => !asked && ["current", "pinned"].includes(only);

/** Whether an item comes before another where pinned ones stand first, then the newest. */
function precedes(a, b) {
  const places = [a, b].map((one) => [markedOf(one).pinned ? 0 : 1, one.kind === "fact" ? 0 : 1, -timeOf(one) || 0]);
  const at = places[0].findIndex((value, each) => value !== places[1][each]);
  return at < 0 ? keyOf(a) > keyOf(b) : places[0][at] < places[1][at];
}

/** The list with an item changed, and where it belongs then. */
function changedIn(list, old, made) {
  if (markedOf(old).pinned === markedOf(made).pinned && Object.is(timeOf(old), timeOf(made))) {
    return list.map((one) => (one === old ? made : one));
  }
  const others = list.filter((one) => one !== old);
  const at = others.findIndex((one) => precedes(made, one));
  return at < 0 ? [...others, made] : [...others.slice(0, at), made, ...others.slice(at)];
}

/** The items under headings: pinned ones, then by time; what was asked for, by how well it fits. */
function grouped(items, only, asked) {
  const groups = [];
  const sure = items.some(({ relevance }) => relevance >= SURE);
  const headed = pinnedFirst(only, asked);
  for (const item of items) {
    const at = timeOf(item) * 1000;
    const name = asked
      ? (item.relevance >= SURE || !sure ? "" : "Less likely")
      : headed && markedOf(item).pinned ? "Pinned" : Number.isNaN(at) ? "Some time" : dayGroup(at);
    if (groups.at(-1)?.name !== name) {
      groups.push({ name, key: `${name}-${groups.filter((one) => one.name === name).length}`, items: [] });
    }
    groups.at(-1).items.push(item);
  }
  return groups;
}

function Nothing({ only, asked, overview, onAll }) {
  if (asked) {
    return html`
      <div class="lead" role="status" tabindex="-1"><p>Nothing found for “<bdi>${asked}</bdi>”.</p>
      <p class="soft">
        Hidden ones are not searched. <button type="button" class="inline" onClick=${onAll}>Show all</button>
      </p>
      </div>`;
  }
  if (only !== "current") return html`<p class="lead soft" role="status" tabindex="-1">${NONE[only]}</p>`;
  if (!overview) return null;
  if (!overview.sessions && !overview.statements) {
    return html`<div class="empty" role="status" tabindex="-1"><p>Nothing is remembered yet.</p>
      <p class="soft">
        When you pause for a while or end a session, what you said appears here${overview.model
          ? ", with the facts noted from it"
          : ""}. Or add something yourself.
      </p>
      <p><a href="/">Start a conversation</a></p></div>`;
  }
  return html`
    <div class="empty" role="status" tabindex="-1">
      <p>No facts yet. ${plural(overview.sessions, "session")} can be searched above.</p>
      ${overview.model && html`
        <p class="soft">
          <code>${overview.model}</code> notes facts from your own words when a session ends.
        </p>`}
    </div>`;
}

function told({ items, next }, only, asked) {
  const names = {
    current: ["fact", "facts"], pinned: ["pinned", "pinned"], excluded: ["hidden", "hidden"],
    superseded: ["outdated fact", "outdated facts"]
  };
  const sure = items.filter(({ relevance }) => relevance >= SURE).length;
  const rest = sure ? items.length - sure : 0;
  if (asked) {
    return html`
      ${items.length >= FOUND ? "The best " : ""}
      ${plural(items.length - rest, "result")} ${sure ? "about" : "that may be about"} “<bdi>${asked}</bdi>
      ”${rest > 0 && `, and ${number(rest)} less likely`}`;
  }
  return `${next ? "The newest " : ""}${plural(items.length, ...names[only])}`;
}

function List({ pages, asked, only, onForget, onGone, overview, onAll, toNew }) {
  const { items, failure, next, busy, again, more, set } = pages;
  const first = useRef(new Map()); // what a corrected item was called before: to the reader it is the same
  const open = useRef(new Map()); // what is unfolded, by that name: it stays so in another group
  if (failure && !items) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!items) return html`<${Waiting}>${asked ? "Searching …" : "Loading …"}<//>`;
  const nameOf = (item) => first.current.get(keyOf(item)) ?? keyOf(item);
  const put = (item) => (change) => {
    first.current.set(keyOf({ ...item, ...change }), nameOf(item));
    set((list) => {
      const old = list.find((one) => keyOf(one) === keyOf(item));
      const made = { ...old, ...change };
      if (!old) return list;
      return pinnedFirst(only, asked) ? changedIn(list, old, made) : list.map((one) => (one === old ? made : one));
    });
  };
  const unfolded = (name) => {
    if (!open.current.has(name)) open.current.set(name, {});
    return open.current.get(name);
  };
  return html`
    ${failure && html`<${Failed} failure=${failure} again=${again} />`}
    ${items.length === 0 ? html`<${Nothing} only=${only} asked=${asked} overview=${overview} onAll=${onAll} />` : html`
      <p class="stamp count" role="status" tabindex="-1">${told(pages, only, asked)}</p>`}
    ${grouped(items, only, asked).map((group) => html`
      <section key=${group.key} class="months">
        ${group.name && html`<h2>${group.name}</h2>`}
        <ol class="memos">${group.items.map((item) => html`
          <${item.kind === "fact" ? Fact : Message} key=${nameOf(item)} name=${nameOf(item)}
            unfolded=${unfolded(nameOf(item))} item=${item} put=${put(item)} onForget=${onForget}
            onChanged=${again} onGone=${onGone} />`)}
          </ol>
      </section>`)}
    ${next && html`<${More} busy=${busy} toNew=${toNew} onMore=${more}>Show older<//>`}`;
}

const addressOf = (query) => {
  const text = Object.entries(query)
    .filter(([, value]) => value)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join("&");
  return text ? `/memory?${text}` : "/memory";
};

const BLANK = { text: "" };

/** Tells memory something outright; the text is kept in this browser until it is saved. */
function Add({ onAdded }) {
  const [open, setOpen] = useState(unsaved("fact.new", BLANK));
  const back = useWayBack(open);
  const add = async (text) => {
    await remember(text);
    await onAdded();
  };
  if (open) {
    return html`
      <${Reword} name="fact.new" label="What should be remembered?" text="" max="2000" onSave=${add}
        onClose=${() => setOpen(false)} />`;
  }
  return html`
    <div class="tools add-fact">
      <button type="button" ref=${back} data-tool="add" onClick=${() => setOpen(true)}>
        Add something to remember
      </button>
    </div>`;
}

export function Remembered({ overview, look }) {
  const query = route.value.query;
  const asked = (query.get("q") ?? "").trim();
  const named = query.get("only") ?? "";
  const only = FILTERS.some(([key]) => key === named) ? named : "current";
  const pages = usePages((limit, after) => (asked
    ? `/api/memory/items?limit=${FOUND}&q=${asQuery(asked)}`
    : `/api/memory/items?limit=${limit}&only=${only}${after ? `&after=${encodeURIComponent(after)}` : ""}`),
    [asked, only], keyOf);
  const [target, setTarget] = useState(null);
  const [room, toNew] = useKeptFocus();
  const gone = async () => {
    setTarget(null);
    await Promise.all([pages.again(), look()]);
    room.current?.querySelector(".count, [role=status]")?.focus(); // the entry that had it is no more
  };
  // The first words of a question are a place of their own: from there, back leads to the list.
  const to = (next, { replace = true } = {}) =>
    go(addressOf({ only: only === "current" ? "" : only, q: asked, ...next }), { replace });
  return html`
    <div ref=${room}>
      <${Line} asked=${asked} onAsk=${(words) => to({ q: words }, { replace: Boolean(asked) || !words })} />
      ${!asked && html`
        <${Add} onAdded=${() => Promise.all([pages.again(), look()])} />
        <${Filter} legend="What is shown" value=${only} options=${FILTERS}
          onChange=${(key) => to({ only: key === "current" ? "" : key })} />`}
      <${List} pages=${pages} asked=${asked} only=${only} overview=${overview} onForget=${setTarget} onGone=${gone}
        onAll=${() => go("/memory")} toNew=${toNew} />
      ${target && html`<${Forget} target=${target} onClose=${() => setTarget(null)} onDone=${gone} />`}
    </div>`;
}
