// A turn as the page holds it: the message that opens it, and the answers to it.
import { signal } from "../ui.js";
import { Answer } from "./answer.js";

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
