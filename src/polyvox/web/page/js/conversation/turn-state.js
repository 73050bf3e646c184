// @ts-check
// A turn as the page holds it: the message that opens it, and the answers to it.
import { signal } from "../ui.js";

export class Turn {
  constructor(message) {
    this.id = message.turn_id;
    this.message = signal({ ...message, answers: undefined });
    this.answers = signal(message.answers.map((data) => new Answer(data)));
  }

  /** What the server now says of it; whatever is the same stays the same object. */
  merge(message) {
    const known = new Map(this.answers.peek().map((answer) => [answer.id, answer]));
    const answers = message.answers.map((data) => {
      const answer = known.get(data.answer_id);
      if (!answer) return new Answer(data);
      answer.merge(data);
      return answer;
    });
    const same = answers.length === known.size && answers.every((answer) => known.has(answer.id));
    if (!same) this.answers.value = answers;
    const next = { ...message, answers: undefined };
    if (JSON.stringify(next) !== JSON.stringify(this.message.peek())) this.message.value = next;
  }

  change(part) { this.message.value = { ...this.message.peek(), ...part }; }

  get running() { return this.answers.value.some((answer) => answer.running); }
}

// One answer as the page holds it: what changes often (its text) apart from what changes rarely.
const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/g;

/** How many characters a text has as the server counts them: Unicode's, not UTF-16's. */
export const characters = (text) => text.length - (text.match(PAIR)?.length ?? 0);

/** The text without its first `count` characters. */
function dropCharacters(text, count) {
  let at = 0;
  for (let seen = 0; seen < count && at < text.length; seen++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return text.slice(at);
}

export const RUNNING = new Set(["pending", "streaming"]);

class GrowingText {
  constructor(text) {
    this.text = signal(text);
    this.length = characters(text);
  }

  /** Take in a piece that begins `at`; false if there is a hole before it. */
  add(piece, at) {
    if (at > this.length) return false;
    const fresh = at === this.length ? piece : dropCharacters(piece, this.length - at);
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
const slowFields = (data) => Object.fromEntries(Object.entries(data).filter(([name]) => !OFTEN.has(name)));

export class Answer {
  /** `data` is an answer as the API gives it. */
  constructor(data) {
    this.id = data.answer_id;
    this.turn = data.turn_id;
    this.said = new GrowingText(data.text);
    this.thought = new GrowingText(data.thinking);
    this.data = signal(slowFields(data));
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
    const next = slowFields(data);
    if (JSON.stringify(next) !== JSON.stringify(this.data.peek())) this.data.value = next;
  }
}

// A turn's answers as they stand on the page: a place per advisor (with its versions), the rounds
// of an exchange, and the syntheses.
/** `{advisors: [slot], rounds: [[slot]], synthesis: slot|null}`; a slot is `{key, versions}`, oldest
 * version first, in the council's order. */
export function arrangeSlots(answers) {
  const places = new Map();
  for (const answer of answers) {
    const { kind, round, advisor_id } = answer.data.value;
    const key = `${kind}/${round}/${advisor_id}`;
    if (!places.has(key)) places.set(key, { key, kind, round, advisor: advisor_id, versions: [] });
    places.get(key).versions.push(answer);
  }
  const slots = [...places.values()];
  for (const slot of slots) slot.versions.sort((a, b) => a.data.value.version - b.data.value.version);
  const rounds = [];
  for (const slot of slots.filter(({ kind }) => kind === "exchange")) (rounds[slot.round] ??= []).push(slot);
  return {
    advisors: slots.filter(({ kind }) => kind === "advisor"),
    rounds: rounds.filter(Boolean),
    synthesis: slots.find(({ kind }) => kind === "synthesis") ?? null,
  };
}

/** The version that counts: the current one, else the last. */
export const currentVersion = ({ versions }) =>
  versions.findLast((answer) => answer.data.value.current) ?? versions[versions.length - 1];

const SENTENCE = /[.!?…]["'”’)]?\s+/g;

/** The first sentences of a text, up to about `most` characters; null if all of it fits. */
export function firstSentences(text, most) {
  if (text.length <= most * 1.25) return null;
  let end = 0;
  for (const match of text.matchAll(SENTENCE)) {
    if (match.index + match[0].length > most) break;
    end = match.index + match[0].trimEnd().length;
  }
  let cut = text.slice(0, end);
  if (end < most * 0.6) cut = `${text.slice(0, Math.max(text.lastIndexOf(" ", most), most / 2))} …`;
  const fences = cut.match(/^```/gm)?.length ?? 0;
  return fences % 2 ? `${cut}\n\`\`\`` : cut; // do not leave a block of code open
}
