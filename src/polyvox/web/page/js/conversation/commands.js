// What the keyboard and the palette can do in a conversation. None of it destroys anything.
import { addCommand } from "../shortcuts.js";
import { exchange, stopAll, synthesize } from "./verbs.js";

/** The turn whose headline stands at the top of the screen, or the next one below it. */
function step(by) {
  const turns = [...document.querySelectorAll(".turn")];
  const edge = 60;
  const at = turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= edge);
  turns[Math.max(0, Math.min(turns.length - 1, at + by))]?.scrollIntoView({ block: "start" });
}

const last = (live) => live.turns.value.at(-1);
const settled = (live) => last(live) && !last(live).running && last(live).answers.value.length > 1;

/** Add them for as long as a conversation is open; returns what takes them away. */
export function conversationCommands(live) {
  const group = "This conversation";
  const taken = [
    { id: "turn.next", name: "Next turn", keys: "j", run: () => step(1) },
    { id: "turn.previous", name: "Previous turn", keys: "k", run: () => step(-1) },
    { id: "stop.all", name: "Stop all answers", when: () => live.running.value.length > 0, run: () => stopAll(live) },
    { id: "synthesize", name: "Bring the last answers together", when: () => settled(live), run: () => synthesize(last(live)) },
    { id: "exchange", name: "Let them respond to each other", when: () => settled(live), run: () => exchange(last(live)) },
    { id: "reader.next", name: "Next answer, while reading one", keys: ["]", "ArrowRight"] },
    { id: "reader.previous", name: "Previous answer, while reading one", keys: ["[", "ArrowLeft"] },
  ].map((command) => addCommand({ group, ...command }));
  return () => taken.forEach((take) => take());
}
