// @ts-check
// Telling memory something outright: /remember TEXT in the composer, Add in the memory room.
import { api } from "./api.js";
import { announceChange } from "./current.js";
import { notify } from "./dialog.js";
import { shorten } from "./words.js";

const COMMAND = /^\s*\/remember(?:\s+([\s\S]*))?$/i;

/** The text that a message tells memory; null where it is a message. */
export function toRemember(message) {
  const found = COMMAND.exec(message);
  return found && (found[1] ?? "").trim();
}

export async function remember(text) {
  if (!text) throw { message: "There is nothing to remember.", hint: "Write it behind /remember." };
  await api.post("/api/memory/facts", { text });
  announceChange("memory");
  notify(`Remembered: “${shorten(text)}”`, { hint: "You find it under Memory." });
}
