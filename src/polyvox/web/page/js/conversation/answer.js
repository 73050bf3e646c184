// One answer as the page holds it: what changes often (its text) apart from what changes rarely.
import { signal } from "../ui.js";

const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/g;

/** How many characters a text has as the server counts them: Unicode's, not UTF-16's. */
export const characters = (text) => text.length - (text.match(PAIR)?.length ?? 0);

/** The text without its first `count` characters. */
export function after(text, count) {
  let at = 0;
  for (let seen = 0; seen < count && at < text.length; seen++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return text.slice(at);
}

export const RUNNING = new Set(["pending", "streaming"]);

class Growing {
  constructor(text) {
    this.text = signal(text);
    this.length = characters(text);
  }

  /** Take in a piece that begins `at`; false if there is a hole before it. */
  add(piece, at) {
    if (at > this.length) return false;
    const fresh = at === this.length ? piece : after(piece, this.length - at);
    if (fresh) {
      this.text.value += fresh;
      this.length += characters(fresh);
    }
    return true;
  }

  /** Take a whole text, unless what we have is further on. */
  settle(text, over) {
    if (!over && text.length < this.text.value.length) return;
    if (text === this.text.value) return;
    this.text.value = text;
    this.length = characters(text);
  }
}

const OFTEN = new Set(["text", "thinking"]);
const rare = (data) => Object.fromEntries(Object.entries(data).filter(([name]) => !OFTEN.has(name)));

export class Answer {
  /** `data` is an answer as the API gives it. */
  constructor(data) {
    this.id = data.answer_id;
    this.turn = data.turn_id;
    this.said = new Growing(data.text);
    this.thought = new Growing(data.thinking);
    this.data = signal(rare(data));
    this.asking = false; // whether the server is being asked how it is now,
    this.wanted = false; // and is to be asked once more
  }

  /** One that has just been announced by an event. */
  static started(event, conversation, before) {
    return new Answer({
      answer_id: event.answer_id, turn_id: event.turn_id, conversation_id: conversation, advisor_id: event.advisor_id,
      name: event.name, kind: event.kind, state: "pending", text: "", thinking: "", round: event.round,
      version: before ? before.data.peek().version + 1 : 1, replaces: event.replaces, current: true, excluded: false,
      model: "", prompt_version_id: null, error: null, usage: null, attempts: [], points: null,
      created_at: Date.now() * 1000, ended_at: null,
    });
  }

  get running() { return RUNNING.has(this.data.value.state); }

  change(part) { this.data.value = { ...this.data.peek(), ...part }; }

  /** What the server now says of it. Never back from an end to a beginning, never to less text. */
  merge(data) {
    const over = !RUNNING.has(data.state);
    if (!over && !RUNNING.has(this.data.peek().state)) return;
    this.said.settle(data.text, over);
    this.thought.settle(data.thinking, over);
    const next = rare(data);
    if (JSON.stringify(next) !== JSON.stringify(this.data.peek())) this.data.value = next;
  }
}
