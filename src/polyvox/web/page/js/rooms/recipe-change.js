// From an edited recipe to the smallest change that says it. Pure.
import { same } from "../draft.js";

const table = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * What to send so that `recipe` (in force) becomes `now` in these parts. What is as in `standard`
 * again is sent as null, which undoes a change; of a table only the keys that differ are sent.
 */
export function changeTo(now, recipe, standard, parts) {
  const change = {};
  for (const part of parts) {
    change[part] = table(now[part]) ? keys(now[part], recipe[part], standard[part])
      : same(now[part], standard[part]) ? null : now[part];
  }
  return change;
}

function keys(now, recipe, standard) {
  const change = {};
  for (const key of new Set([...Object.keys(now), ...Object.keys(recipe)])) {
    const value = now[key] ?? null;
    if (same(value, recipe[key] ?? null)) continue;
    change[key] = same(value, standard[key] ?? null) ? null : value;
  }
  return change;
}

/** The list with one thing moved, for things that come in an order. */
export function moved(list, from, to) {
  const next = [...list];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}
