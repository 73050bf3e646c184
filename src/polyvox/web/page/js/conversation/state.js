// @ts-check
// A conversation as it is on the page: a snapshot of the server's, kept true by its events.
import { api, isTransient } from "../api.js";
import { follow } from "../stream.js";
import { batch, computed, signal } from "../ui.js";
import { FIRST, Snapshots } from "./snapshots.js";
import { Answer, RUNNING } from "./turn-state.js";

const AGAIN = 2000;

const ENDS = {
  "answer.completed": (event) => ({ state: "completed", usage: event.usage, model: event.model }),
  "answer.failed": (event) => ({
    state: "failed", error: { category: event.category, message: event.message, hint: event.hint }
  }),
  "answer.stopped": (event) => ({ state: "stopped", usage: event.usage }),
  "answer.interrupted": () => ({ state: "interrupted" }),
};

export class Live extends Snapshots {
  constructor(id) {
    super(id);
    this.connection = signal("connecting");
    this.sessions = signal(0); // grows when a session may have begun or ended
    /** @type {Promise<any>} */
    this.choosing = Promise.resolve(); // changes of who is asked, stored in the order they were made
    this.running = computed(() => this.turns.value.filter((turn) => turn.running));
  }

  async open() {
    try {
      const whole = await api.get(`/api/conversations/${this.id}?limit=${FIRST}`);
      if (this.closed) return;
      batch(() => this.take(whole));
      this.listen(whole.last_number);
    } catch (error) {
      this.failure.value = error;
      if (isTransient(error) && !this.closed) this.retry = setTimeout(() => this.open(), AGAIN);
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.retry);
    this.stream?.close();
  }

  listen(after) {
    this.stream?.close();
    this.stream = follow(this.id, after, {
      onEvents: (events) => batch(() => events.forEach((event) => this.apply(event))),
      onState: (state) => { this.connection.value = state; },
      onLost: () => this.lost(),
    });
  }

  /** The server knows less than we do: another store is behind it. Nothing that is here counts. */
  lost() {
    this.begin();
    this.turns.value = [];
    return this.open();
  }

  /** @override @param {import("../types").StreamEvent} event */
  act({ kind, data }) {
    if (kind === "answer.delta" || kind === "answer.thinking") this.delta(kind, data);
    else if (kind === "answer.started") this.started(data);
    else if (kind in ENDS) this.ended(kind, data);
    else if (kind === "turn.started") this.turnStarted(data);
    else if (kind === "turn.completed") this.turnCompleted(data);
    else if (kind === "exchange.notice") this.noticed(data);
    else if (kind === "conversation.changed") this.changed(data);
  }

  delta(kind, { answer_id, text, at }) {
    const answer = this.byAnswer.get(answer_id);
    if (!answer) return;
    const part = kind === "answer.delta" ? answer.said : answer.thought;
    if (!part.add(text, at)) this.settle(answer);
    else if (answer.data.peek().state === "pending") answer.change({ state: "streaming" });
  }

  noticed({ turn_id, message, hint }) {
    const turn = this.turn(turn_id);
    turn?.change({ notice: [message, hint].filter(Boolean).join(" ") });
  }

  /** It may have started to wait: a message that was sent while others are answered is queued. */
  turnStarted({ turn_id }) {
    if (!this.turn(turn_id)) this.refresh();
  }

  /** Whoever waited longest is next. */
  turnCompleted({ turn_id }) {
    this.turnChanged(turn_id, "completed");
    const states = this.turns.peek().map((turn) => turn.message.peek().state);
    if (!states.includes("running") && states.includes("queued")) {
      this.turnChanged(this.turns.peek()[states.indexOf("queued")].id, "running");
    }
  }

  turnChanged(id, state) {
    const turn = this.turn(id);
    if (turn && turn.message.peek().state !== state) turn.change({ state });
  }

  started(event) {
    const turn = this.turn(event.turn_id);
    if (!turn) return;
    const before = this.byAnswer.get(event.replaces);
    if (before?.data.peek().current) before.change({ current: false });
    const answer = this.byAnswer.get(event.answer_id) ?? Answer.started(event, this.id, before);
    this.byAnswer.set(answer.id, answer);
    if (!turn.answers.peek().includes(answer)) turn.answers.value = [...turn.answers.peek(), answer];
    const again = turn.message.peek().state === "completed" && RUNNING.has(answer.data.peek().state);
    if (again) this.turnChanged(turn.id, "running");
  }

  ended(kind, event) {
    const answer = this.byAnswer.get(event.answer_id);
    if (!answer || !RUNNING.has(answer.data.peek().state)) return;
    answer.change({ ...ENDS[kind](event), ended_at: answer.data.peek().ended_at ?? Date.now() * 1000 });
    this.settle(answer);
  }

  /** One answer as the server has it: what events do not carry (its times, attempts, points), what
   * was set since, a piece that we missed. One question at a time, so that the last one counts. */
  async settle(answer) {
    answer.wanted = true;
    if (answer.asking) return;
    answer.asking = true;
    while (answer.wanted && !this.closed) {
      answer.wanted = false;
      const gone = () => null; // deleted meanwhile
      await this.ask(() => this.read(`/api/answers/${answer.id}`).catch(gone), (data) => answer.merge(data));
    }
    answer.asking = false;
  }

  changed({ what, id }) {
    const find = {
      answer: () => this.byAnswer.get(id),
      message: () => this.turns.peek().find((turn) => turn.message.peek().id === id)
    };
    const target = find[what]?.();
    if (what === "head") this.reload();
    else if (what === "details") this.refresh(1);
    else if (target) what === "answer" ? this.settle(target) : this.reread(target);
  }
}
