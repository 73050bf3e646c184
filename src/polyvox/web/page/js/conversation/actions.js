// @ts-check
// What can be done to a turn and its answers. The events that follow change the page.
import { api } from "../api.js";
import { notify, notifyFailure } from "../dialog.js";
import { addCommand } from "../shortcuts.js";
import { arrangeSlots, currentVersion } from "./turn-state.js";

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    notifyFailure(error);
    return null;
  }
}

export const stopAnswer = (answer) => attempt(() => api.post(`/api/answers/${answer.id}/stop`));
export const retry = (answer) => attempt(() => api.post(`/api/answers/${answer.id}/retry`));
export const regenerate = (answer) => attempt(() => api.post(`/api/answers/${answer.id}/regenerate`));
export const replay = (answer) => attempt(() => api.post(`/api/answers/${answer.id}/replay`));
const stopTurn = (turn) => attempt(() => api.post(`/api/turns/${turn.id}/stop`));
export const synthesize = (turn) => attempt(() => api.post(`/api/turns/${turn.id}/synthesize`));
export const exchange = (turn, rounds = 1) => attempt(() => api.post(`/api/turns/${turn.id}/exchange`, { rounds }));

/** Have the last message answered without further questions: each advisor writes its answer again. */
export async function answerNow(live) {
  const turn = live.turns.peek().at(-1);
  const saved = await attempt(() => api.patch(`/api/conversations/${live.id}`, { phases: 0 }));
  if (!saved) return;
  live.details.value = { ...live.details.peek(), phases: saved.phases };
  for (const slot of arrangeSlots(turn.answers.peek()).advisors) await regenerate(currentVersion(slot));
}

export async function stopAll(live) {
  // The last first: one that waits would begin as soon as the one before it is stopped.
  for (const turn of [...live.running.value].reverse()) await stopTurn(turn);
}

export async function exclude(answer, excluded) {
  const saved = await attempt(() => api.post(`/api/answers/${answer.id}/${excluded ? "exclude" : "include"}`));
  if (!saved) return;
  answer.change({ excluded: saved.excluded });
  notify(excluded ? "Left out of later requests. Nothing is deleted." : "Part of later requests again.");
}

export async function excludeMessage(live, message, excluded) {
  const saved = await attempt(() => api.patch(`/api/messages/${message.id}`, { excluded }));
  if (saved) await live.reload();
}

/** Ask again in other words: a branch; what was there stays. */
export async function edit(live, message, content) {
  const saved = await api.patch(`/api/messages/${message.id}`, { content });
  await live.reload();
  return saved.turn;
}

/** Go on from another branch. */
export async function move(live, turn) {
  await attempt(() => api.patch(`/api/conversations/${live.id}`, { head: live.tips[turn] ?? turn }));
  await live.reload();
}

// What the keyboard and the palette can do in a conversation. None of it destroys anything.
/** The turn whose headline stands at the top of the screen, or the next one below it. */
function step(by) {
  const turns = [...document.querySelectorAll(".turn")];
  const edge = 60;
  const at = turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= edge);
  turns[Math.max(0, Math.min(turns.length - 1, at + by))]?.scrollIntoView({ block: "start" });
}

const last = (live) => live.turns.value.at(-1);
const canFollowUp = (live) => last(live) && !last(live).running && last(live).answers.value.length > 1;

/** Add them for as long as a conversation is open; returns what takes them away. */
export function conversationCommands(live) {
  const group = "This conversation";
  const taken = [
    { id: "turn.next", name: "Next turn", keys: "j", run: () => step(1) },
    { id: "turn.previous", name: "Previous turn", keys: "k", run: () => step(-1) },
    { id: "stop.all", name: "Stop all answers", when: () => live.running.value.length > 0, run: () => stopAll(live) },
    {
      id: "synthesize", name: "Bring the last answers together", when: () => canFollowUp(live),
      run: () => synthesize(last(live))
    },
    {
      id: "exchange", name: "Let them respond to each other", when: () => canFollowUp(live),
      run: () => exchange(last(live))
    },
    { id: "reader.next", name: "Next answer, while reading one", keys: ["]", "ArrowRight"] },
    { id: "reader.previous", name: "Previous answer, while reading one", keys: ["[", "ArrowLeft"] },
  ].map((command) => addCommand({ group, ...command }));
  return () => taken.forEach((take) => take());
}
