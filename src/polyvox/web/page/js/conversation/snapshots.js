// @ts-check
// The turns of a conversation that are here, read from the server in parts.
//
// A part says up to which number it is true (`last_number`). It may be older than what the events
// have told since it was asked for: what comes in meanwhile is held, and laid over it once more.
// Applying an event twice changes nothing, so a part may be newer than its number, too.
import { api, isTransient } from "../api.js";
import { batch, signal } from "../ui.js";
import { Turn } from "./turn-state.js";

export const FIRST = 12;
const MORE = 30;
const AGAIN = 2000;

export class Snapshots {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.closed = false;
    this.details = signal(null);
    /** @type {import("../ui.js").Signal<Turn[]>} */
    this.turns = signal([]);
    this.branches = signal({});
    this.tips = {};
    this.more = signal(false);
    this.failure = signal(null);
    this.begin();
  }

  begin() {
    this.byAnswer = new Map();
    this.taken = 0; // the number of the newest snapshot
    this.asking = 0; // parts on their way
    this.held = []; // the events that came meanwhile
  }

  turn(id) { return this.turns.peek().find((turn) => turn.id === id); }

  index(turns = this.turns.peek()) {
    for (const turn of turns) for (const answer of turn.answers.peek()) this.byAnswer.set(answer.id, answer);
  }

  /**
   * Read something, however long the server is away; null when nobody waits for it any more.
   * @param {string} path
   */
  async read(path) {
    while (!this.closed) {
      try {
        return await api.get(path);
      } catch (error) {
        if (!isTransient(error)) throw error;
        await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
      }
    }
    return null;
  }

  /** @param {string} query @returns {Promise<import("../types").WholeConversation>} */
  part(query) { return this.read(`/api/conversations/${this.id}?${query}`); }

  /** Ask for something of the conversation and take it in, with what happened meanwhile over it. */
  async ask(asked, take) {
    this.asking += 1;
    try {
      const reply = await asked();
      if (reply && !this.closed) batch(() => { take(reply); this.again(reply.last_number); });
    } catch (error) {
      if (!error.status) throw error;
      this.failure.value = error;
    } finally {
      this.asking -= 1;
      if (!this.asking) this.held = [];
    }
  }

  /** Let an event change what is here. @param {import("../types").StreamEvent} _event */
  act(_event) { throw new Error("A snapshot alone follows no events."); }

  /** Take in an event. @param {import("../types").StreamEvent} event */
  apply(event) {
    if (this.asking) this.held.push(event);
    this.act(event);
  }

  again(number) {
    for (const event of this.held) {
      const asks = event.kind === "turn.started" || event.kind === "conversation.changed";
      if (!asks || event.number > number) this.act(event);
    }
  }

  /** Take the newest part of the branch. One that was overtaken on its way does not count. */
  take(whole) {
    if (whole.last_number < this.taken) return;
    this.taken = whole.last_number;
    const { messages, branches, tips, more, ...details } = whole;
    const before = this.turns.peek();
    const known = new Map(before.map((turn) => [turn.id, turn]));
    const fresh = messages.map((message) => {
      const turn = known.get(message.turn_id);
      turn?.merge(message);
      return turn ?? new Turn(message);
    });
    const first = before.findIndex((turn) => turn.id === fresh[0]?.id);
    const older = first > 0 ? before.slice(0, first) : [];
    const turns = [...older, ...fresh];
    if (turns.length !== before.length || turns.some((turn, i) => turn !== before[i])) this.turns.value = turns;
    if (!older.length) this.more.value = more;
    this.branches.value = branches;
    this.tips = tips ?? {};
    this.details.value = details;
    this.failure.value = null;
    this.index(fresh);
  }

  /** Read the newest part again; several wishes at once are one. */
  refresh(least = 3) {
    this.wanted = Math.max(this.wanted ?? 0, least);
    this.refreshing ??= this.ask(async () => {
      await null; // those who wish the same now are heard, too
      const limit = Math.min(200, this.wanted);
      this.wanted = 0;
      this.refreshing = null;
      return this.newest(limit);
    }, (whole) => this.take(whole));
    return this.refreshing;
  }

  /** The newest turns, down to those that we have: there may be many after a long sleep. */
  async newest(limit) {
    const whole = await this.part(`limit=${limit}`);
    const end = this.turns.peek().at(-1)?.message.peek().depth ?? Infinity;
    while (whole?.more && whole.messages[0].depth > end) {
      const [first] = whole.messages;
      const page = await this.part(`limit=${MORE}&before=${first.depth}`);
      if (page?.messages.at(-1)?.turn_id !== first.parent) break; // another branch by now
      whole.messages.unshift(...page.messages);
      whole.more = page.more;
    }
    return whole;
  }

  /** After an edit or a change of branch. Turns before the part that is read are the same ones. */
  reload() { return this.refresh(FIRST); }

  /** One turn anew. */
  reread(turn) {
    return this.ask(() => this.part(`limit=1&before=${turn.message.peek().depth + 1}`), ({ messages }) => {
      if (messages[0]?.turn_id === turn.id) turn.merge(messages[0]);
      this.index([turn]);
    });
  }

  /** Older turns, to stand before those that are here; `before` is called when they are about to. */
  async earlier(before = () => {}) {
    const [first] = this.turns.peek();
    if (!first || this.loading || !this.more.peek()) return;
    this.loading = true;
    try {
      await this.ask(() => this.part(`limit=${MORE}&before=${first.message.peek().depth}`), (page) => {
        if (this.turns.peek()[0] !== first) return; // another branch by now
        before();
        const turns = page.messages.map((message) => new Turn(message));
        this.turns.value = [...turns, ...this.turns.peek()];
        this.more.value = page.more;
        this.index(turns);
      });
    } finally {
      this.loading = false;
    }
  }
}
