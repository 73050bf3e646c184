// @ts-check
// Recipes in plain words: what each is for, what its parts are called, what it does as it stands.
import { number, plural } from "../words.js";

const KNOWN = {
  council: {
    title: "Council", says: "Several advisors answer the same message at once, each in a thread of its own."
  },
  agent: {
    title: "Agent", says: "One advisor alone, whose long conversation goes on by name for as long as you like.",
    alone: true
  },
  companion: {
    title: "Companion", says: "One companion who remembers you from one conversation to the next.", alone: true
  },
};

/** `{title, says, alone}` of a recipe by its name, and by the one it was copied from. */
export function about(name, base = null) {
  return KNOWN[name] || {
    title: name.charAt(0).toUpperCase() + name.slice(1), alone: KNOWN[base]?.alone,
    says: base ? `Your own recipe, a copy of ${about(base).title}.` : "A way of asking advisors."
  };
}

export const PARTS = {
  phases: "phases", count_turns: "turn numbers", visibility: "what advisors see of each other",
  window: "how much they remember",
  scope: "conversation or session", context: "the limit", stamps: "times", synthesis: "synthesis", model: "model",
  params: "how the model is asked", blocks: "which texts are sent", texts: "texts",
};

const quoted = (name) => `“${name}”`;

function phases({ phases: list, count_turns: counts }) {
  const sentences = [];
  let before = 0;
  for (const { name, answers } of list) {
    if (answers === null) {
      sentences.push(before ? `from then on ${quoted(name)}` : `Every answer follows ${quoted(name)}`);
      before = null;
      break;
    }
    if (!answers) continue;
    const many = answers > 1 ? `${answers} answers` : "answer";
    sentences.push(before ? `the next ${answers > 1 ? answers : "one"} ${quoted(name)}`
      : `The first ${many} of each advisor ${answers > 1 ? "follow" : "follows"} ${quoted(name)}`);
    before += answers;
  }
  if (!sentences.length) return "There are no phases: every answer is asked for in the same way.";
  if (before !== null) sentences.push("after that no phase holds");
  const open = before === null && counts ? " and is told its turn number" : "";
  return `${sentences.join("; ")}${open}.`;
}

const SEES = {
  none: "Advisors do not see each other’s answers",
  last_turn: "Advisors see what the others said in the last turn",
  thread: "Advisors see everything the others have said",
};

function visibility({ visibility: { default: level, pairs } }) {
  const exceptions = pairs.length ? `, with ${plural(pairs.length, "exception")}` : "";
  return `${SEES[level] || "Advisors see each other"}${exceptions}.`;
}

function memory({ window, scope, context }, they) {
  const where = scope === "session" || window.kind === "recent" ? "the current session" : "the conversation";
  const kept = {
    graceful: `${they} all of ${where} that fits; when it does not, the oldest goes first.`,
    bookends: `${they} how ${where} began and its newest part, at most ${plural(window.max_messages, "message")}.`,
    recent: `${they} the last ${plural(window.last_messages, "message")} of ${where}.`,
  }[window.kind];
  return context ? `${kept} At most ${limitInWords(context)} are sent.` : kept;
}

/** A limit as the server writes it ("150000 chars") as `{amount, unit}`; null where it is none. */
export function readLimit(text) {
  const [, amount, unit] = (text || "").match(/^\s*(\d[\d_]*)\s*(chars|tokens)\s*$/) || [];
  return amount ? { amount: Number(amount.replaceAll("_", "")), unit } : null;
}

/** The same as people say it: 150,000 characters. */
export function limitInWords(text) {
  const limit = readLimit(text);
  return limit ? `${number(limit.amount)} ${limit.unit === "chars" ? "characters" : "tokens"}` : text;
}

const TIMES = {
  all: "Every message carries the time it was sent.",
  history: "Earlier messages carry the time they were sent, the newest does not.",
  none: "No times are sent.",
};

const TOGETHER = {
  always: "After every turn the answers are brought together in a synthesis.",
  on_request: "The answers are brought together when you ask for it.",
};

/** What a recipe does as it stands, sentence by sentence. One that is made for a single advisor
 * says nothing of the others unless they were let in. */
export function inWords(recipe) {
  const { alone } = about(recipe.name, recipe.base);
  const { visibility: { default: level, pairs }, synthesis, model } = recipe;
  return [
    phases(recipe),
    (!alone || level !== "none" || pairs.length > 0) && visibility(recipe),
    memory(recipe, alone ? "It remembers" : "They remember"),
    TIMES[recipe.stamps],
    (!alone || synthesis === "always") && TOGETHER[synthesis],
    model && `Advisors without a model of their own speak through ${model}.`,
  ].filter(Boolean);
}
