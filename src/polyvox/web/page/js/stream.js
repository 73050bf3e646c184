// @ts-check
// One event stream per conversation, read with fetch (so that a token can be sent), resumed by
// number after anything: a lost network, a sleeping laptop, a restarted server.
import { authorization, locked } from "./api.js";

const SILENCE = 40_000; // the server says something every 15 s
const WAITS = [250, 500, 1000, 2000, 4000, 8000];
const HIDDEN = 20_000; // a tab nobody looks at gives its connection back
const TURNS = 1500; // how often a tab looks for news that has no connection of its own

/** Follow a conversation from a number on. `onEvents` is given the events of one piece of network
 * at a time; `onState` hears "live", "away" or "gone"; `onLost` that the numbers do not fit. */
export function follow(conversation, after, { onEvents, onState, onLost }) {
  const stream = new Following(conversation, after, { onEvents, onState, onLost });
  stream.start();
  return stream;
}

class Following {
  constructor(conversation, after, listeners) {
    this.path = `/api/conversations/${encodeURIComponent(conversation)}/events`;
    this.after = after;
    this.listeners = listeners;
    this.tries = 0;
    this.closed = false;
    this.reading = null;
  }

  start() {
    this.wake = () => { if (!document.hidden) this.again(); };
    this.watch = setInterval(() => this.check(), 5000);
    this.onHidden = () => (document.hidden ? this.rest() : this.wake());
    document.addEventListener("visibilitychange", this.onHidden);
    for (const name of ["online", "pageshow", "focus"]) window.addEventListener(name, this.wake);
    this.open();
    if (document.hidden) this.rest();
  }

  close() {
    this.closed = true;
    clearInterval(this.watch);
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    document.removeEventListener("visibilitychange", this.onHidden);
    for (const name of ["online", "pageshow", "focus"]) window.removeEventListener(name, this.wake);
    this.reading?.abort();
  }

  /** Hang up a tab that is not looked at, after a while. */
  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => { if (document.hidden) this.hangUp(); }, HIDDEN);
  }

  hangUp() {
    clearTimeout(this.timer);
    this.reading?.abort();
    this.reading = null;
  }

  /** Open at once if nothing is open. */
  again() {
    clearTimeout(this.resting);
    if (this.closed || this.reading) return;
    clearTimeout(this.timer);
    this.open();
  }

  check() {
    if (!this.reading || Date.now() - this.heard < SILENCE) return;
    this.hangUp(); // a connection that died without saying so
    this.again();
  }

  async open() {
    const abort = new AbortController();
    this.reading = abort;
    this.heard = Date.now();
    const free = await takePlace(abort.signal);
    let refused = 0;
    let heard = false;
    try {
      const response =
        await fetch(`${this.path}?after=${this.after}${free ? "" : "&live=false"}`, {
          signal: abort.signal, headers: { Accept: "text/event-stream", ...authorization() }
        });
      if (response.ok) await this.read(response);
      else refused = response.status;
      heard = response.ok;
    } catch (error) {
      if (abort.signal.aborted) return;
      if (error.name === "SyntaxError") throw error;
    } finally {
      free?.();
    }
    if (this.closed || this.reading !== abort) return;
    this.reading = null;
    if (heard && !free) this.timer = setTimeout(() => this.again(), TURNS);
    else this.ended(refused);
  }

  ended(status) {
    if (status === 404) return this.listeners.onState("gone");
    if (status === 401) locked.value = true;
    if (status === 400 || status === 422) return this.listeners.onLost();
    this.listeners.onState("away");
    const wait = WAITS[Math.min(this.tries++, WAITS.length - 1)];
    this.timer = setTimeout(() => this.again(), wait * (0.75 + Math.random() / 2));
    return undefined;
  }

  async read(response) {
    this.tries = 0;
    this.listeners.onState("live");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.heard = Date.now();
      const text = rest + value;
      const end = text.lastIndexOf("\n\n");
      if (end < 0) { rest = text; continue; }
      rest = text.slice(end + 2);
      const events = parse(text.slice(0, end));
      if (!events.length) continue;
      this.listeners.onEvents(events);
      this.after = events[events.length - 1].number;
    }
  }
}

/** The events of whole frames: `{number, kind, data}`; comments are passed over. */
export function parse(text) {
  const events = [];
  for (const frame of text.split("\n\n")) {
    const event = { number: 0, kind: "", data: null };
    for (const line of frame.split("\n")) {
      if (line.startsWith("id: ")) event.number = Number(line.slice(4));
      else if (line.startsWith("event: ")) event.kind = line.slice(7);
      else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
    }
    if (event.kind) events.push(event);
  }
  return events;
}

// A browser has six connections to one server, for all its tabs together. Streams hold some of them
// for as long as they are open, so they take places, of which there are fewer: a tab that finds none
// looks for news now and then instead, and there is always a connection for everything else.
const PLACES = 4;

const hold = (name, signal) => new Promise((resolve) => {
  let free;
  const freed = new Promise((done) => { free = done; });
  const given = (lock) => { resolve(lock ? free : null); return lock ? freed : null; };
  navigator.locks.request(name, { ifAvailable: true }, given).catch(() => resolve(null));
  signal.addEventListener("abort", () => free());
});

/** What gives the place back; null where all are taken. Where tabs cannot agree, everyone has one. */
async function takePlace(signal) {
  if (!navigator.locks) return () => {};
  for (let i = 0; i < PLACES; i++) {
    const free = await hold(`polyvox.stream.${i}`, signal);
    if (free) return free;
  }
  return null;
}
