// @ts-check
// Open loops: what is to be done, pinned ones first, by how pressing it is, until it is over.
import { api } from "../api.js";
import { notify } from "../dialog.js";
import { draftOf } from "../draft.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { reading, useReading } from "../place.js";
import { go, route } from "../router.js";
import { html, useId, useRef, useState } from "../ui.js";
import { shorten, plural } from "../words.js";
import { attempt, PinTool, remove, Reword, unsaved, useWayBack } from "./item.js";
import { Quotes } from "./source.js";
import { changed, dayOf, Filter, Long, More, useKeptFocus, useNews } from "./state.js";

const STEP = 50;
const FILTERS = [["open", "Open"], ["done", "Done"], ["dropped", "Dropped"]];
const STATES = { open: ["open", "needs_review", "stale"], done: ["done"], dropped: ["dropped"] };
const HORIZONS = { today: "today or tomorrow", this_week: "within a week", ongoing: "ongoing" };
const OPEN = "When you say “I'll call the bank tomorrow”, it appears here after the session, with your words.";
const ORDERS = {
  pinned: "pinned first, then the most urgent", open: "the most urgent first", done: "the newest first",
  dropped: "the newest first"
};
const NONE = {
  open: ["Nothing is open.", OPEN],
  done: ["Nothing is done yet.", "What you mark as done, or say is done, moves here."],
  dropped: ["Nothing was dropped.", "What you decide not to do moves here. You can open it again."],
};

/** A day and how far it is: [words, whether it is past]. */
export function due(day, now = new Date()) {
  if (!day) return ["", false];
  const [year, month, date] = day.split("-").map(Number);
  const left = Math.round(
    (Date.UTC(year, month - 1, date) - Date.UTC(now.getFullYear(), now.getMonth(), now.getDate())) / 86_400_000
  );
  if (left === 0) return ["due today", false];
  if (left === 1) return ["due tomorrow", false];
  if (left < 0) return [left === -1 ? "due yesterday" : `due ${plural(-left, "day")} ago`, true];
  return [left < 7 ? `due in ${left} days` : `due ${day}`, false];
}

function Marks({ loop }) {
  const over = ["done", "dropped"].includes(loop.status);
  const [when, late] = due(loop.dueDate);
  const marks = [
    loop.pinned && ["pinned", ""], over && [loop.status, "over"], !over && when && [when, late ? "late" : ""],
    !over && !when && [HORIZONS[loop.timeHorizon] ?? loop.timeHorizon, ""],
    ["stale", "needs_review"].includes(loop.status)
      && [`still open? last mentioned ${dayOf(loop.lastSeenAt)}`, "look"],
    loop.domain !== "general" && [loop.domain, ""], ...loop.tags.map((tag) => [tag, "tag"]),
  ].filter(Boolean);
  return html`
    <p class="marks">
      ${marks.map(([words, kind]) => html`<span key=${words} class=${kind}><bdi>${words}</bdi></span>`)}
    </p>`;
}

/** What is typed of a loop and not saved yet: its words, and the day it is due. */
const savedOf = (loop) => ({ text: loop.text, day: loop.dueDate ?? "" });
const draftFor = (loop) => draftOf(`loop.${loop.id}`, savedOf(loop));

function DayField({ loop }) {
  const id = useId();
  const draft = draftFor(loop);
  return html`
    <div class="field day">
      <label for=${id}>Due</label>
      <input id=${id} type="date" value=${draft.now.day} onInput=${(event) => draft.set("day", event.target.value)} />
      <small>Empty: no due date.</small>
    </div>`;
}

function Loop({ loop, put, onGone }) {
  const [editing, setEditing] = useState(unsaved(`loop.${loop.id}`, savedOf(loop)));
  const back = useWayBack(editing);
  const name = shorten(loop.text);
  const over = ["done", "dropped"].includes(loop.status);
  const mark = (change, done) =>
    attempt(async () => put(await api.patch(`/api/memory/loops/${loop.id}`, change)), done);
  const end = (status, done) => mark({ status }, done);
  const correct = async (text) => {
    const { day } = draftFor(loop).now;
    const change = {
      ...(text === loop.text ? {} : { text }), ...((loop.dueDate ?? "") === day ? {} : { dueDate: day || null })
    };
    if (Object.keys(change).length) {
      put(await api.patch(`/api/memory/loops/${loop.id}`, change));
      changed();
      notify("Corrected.");
    }
  };
  return html`
    <li class=${`memo loop${over ? " past" : ""}`} data-entry=${loop.id} data-status=${loop.status}>
      <div class="margin-note">
        <span class="label">${loop.type}</span>
        <time class="stamp" datetime=${loop.lastSeenAt}>${dayOf(loop.lastSeenAt)}</time>
      </div>
      <div class="entry">
        ${editing
          ? html`
            <${Reword} name=${`loop.${loop.id}`} label="Corrected text" text=${loop.text} max="300" onSave=${correct}
              onClose=${() => setEditing(false)}>
              <${DayField} loop=${loop} /><//>`
          : html`<p class="statement" dir="auto"><${Long} text=${loop.text} /></p>`}
        <${Marks} loop=${loop} />
        <${Quotes} list=${loop.evidence} day=${dayOf(loop.lastSeenAt)} />
        <div class="tools">
          ${over
            ? html`
              <button type="button" data-tool="end" aria-label=${`Open again: ${name}`}
                onClick=${() => end("open", "Open again.")}>
                Open again
              </button>`
            : html`
              <button type="button" data-tool="end" aria-label=${`Done: ${name}`}
                onClick=${() => end("done", "Done.")}>
                Done
              </button>
              <button type="button" data-tool="drop" aria-label=${`Drop: ${name}`}
                onClick=${() => end("dropped", "Dropped.")}>
                Drop
              </button>
              ${loop.status !== "open" && html`
                <button type="button" data-tool="still" aria-label=${`Still open: ${name}`}
                  onClick=${() => end("open", "Still open.")}>
                  Still open
                </button>`}
              <button type="button" data-tool="correct" ref=${back} aria-label=${`Correct: ${name}`}
                aria-expanded=${editing ? "true" : "false"} onClick=${() => setEditing(!editing)}>
                Correct
              </button>
              <${PinTool} pinned=${loop.pinned} name=${name} mark=${mark} />`}
          <button type="button" data-tool="delete" aria-label=${`Delete: ${name}`}
            onClick=${async () => await remove("loop", loop.id, loop.text) && onGone()}>
            Delete
          </button>
        </div>
      </div>
    </li>`;
}

export function Loops() {
  const named = route.value.query.get("only") ?? "";
  const kind = FILTERS.some(([key]) => key === named) ? named : "open";
  const [many, setMany] = useState(Math.max(STEP, reading()?.shown ?? 0));
  const [mine, setMine] = useState(new Map());
  const [room, toNew] = useKeptFocus();
  const changes = useRef(0);
  const [loops, failure, again] = useLoaded(async () => ({
    kind, since: changes.current,
    list: await api.get(`/api/memory/loops?${STATES[kind].map((one) => `status=${one}`).join("&")}`),
  }), [kind]);
  useNews(again);
  const list = loops?.kind === kind ? loops.list : null;
  useReading(list && many);
  const gone = async () => {
    await again();
    room.current?.querySelector(".count, [role=status]")?.focus();
  };
  // What was changed here stays where it is, so that it can be changed back, until it is read anew.
  const put = (loop) => {
    const number = ++changes.current;
    setMine((now) => new Map(now).set(loop.id, { loop, number }));
  };
  const now = (loop) => (mine.get(loop.id)?.number > loops.since ? mine.get(loop.id).loop : loop);
  const show = (key) => {
    setMany(STEP);
    go(key === "open" ? "/memory/open-loops" : `/memory/open-loops?only=${key}`, { replace: true });
  };
  const [none, how] = NONE[kind];
  return html`
    <div ref=${room}>
      <${Filter} legend="Which loops" value=${kind} options=${FILTERS} onChange=${show} />
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!list && !failure && html`<${Waiting}>Loading …<//>`}
      ${list?.length === 0 && html`
        <div class="empty" role="status" tabindex="-1"><p>${none}</p><p class="soft">${how}</p></div>`}
      ${list?.length > 0 && html`
        <p class="stamp count" role="status" tabindex="-1">
          ${plural(list.length, "loop")}, ${ORDERS[kind === "open" && list[0].pinned ? "pinned" : kind]}
        </p>
        <ol class="memos">
          ${list.slice(0, many)
            .map((loop) => html`<${Loop} key=${loop.id} loop=${now(loop)} put=${put} onGone=${gone} />`)}
        </ol>`}
      ${list?.length > many && html`<${More} toNew=${toNew} onMore=${() => setMany(many + 2 * STEP)}>Show more<//>`}
    </div>`;
}
