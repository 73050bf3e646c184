// What can be done to a turn and its answers. The events that follow change the page.
import { api } from "../api.js";
import { tell, tellFailure } from "../dialog.js";

async function tried(act) {
  try {
    return await act();
  } catch (error) {
    tellFailure(error);
    return null;
  }
}

export const stopAnswer = (answer) => tried(() => api.post(`/api/answers/${answer.id}/stop`));
export const retry = (answer) => tried(() => api.post(`/api/answers/${answer.id}/retry`));
export const regenerate = (answer) => tried(() => api.post(`/api/answers/${answer.id}/regenerate`));
export const replay = (answer) => tried(() => api.post(`/api/answers/${answer.id}/replay`));
export const stopTurn = (turn) => tried(() => api.post(`/api/turns/${turn.id}/stop`));
export const synthesize = (turn) => tried(() => api.post(`/api/turns/${turn.id}/synthesize`));
export const exchange = (turn, rounds = 1) => tried(() => api.post(`/api/turns/${turn.id}/exchange`, { rounds }));

export async function stopAll(live) {
  // The last first: one that waits would begin as soon as the one before it is stopped.
  for (const turn of [...live.running.value].reverse()) await stopTurn(turn);
}

export async function exclude(answer, excluded) {
  const said = await tried(() => api.post(`/api/answers/${answer.id}/${excluded ? "exclude" : "include"}`));
  if (!said) return;
  answer.change({ excluded: said.excluded });
  tell(excluded ? "Left out of later requests. Nothing is deleted." : "Part of later requests again.");
}

export async function excludeMessage(live, message, excluded) {
  const said = await tried(() => api.patch(`/api/messages/${message.id}`, { excluded }));
  if (said) await live.reload();
}

/** Ask again in other words: a branch; what was there stays. */
export async function edit(live, message, content) {
  const said = await api.patch(`/api/messages/${message.id}`, { content });
  await live.reload();
  return said.turn;
}

/** Go on from another branch. */
export async function move(live, turn) {
  await tried(() => api.patch(`/api/conversations/${live.id}`, { head: live.tips[turn] ?? turn }));
  await live.reload();
}
