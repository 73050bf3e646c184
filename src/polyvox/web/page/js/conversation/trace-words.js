// @ts-check
// The words of a trace. The server puts decisions, degrades and steps in words; here they become sentences.
import { number } from "../words.js";

/** What a block of the system prompt is for. */
const BLOCKS = {
  persona: "Who it is", identity: "Who the advisor is", shared: "What this conversation is for",
  protocol: "What to do in this phase", rules: "How to write", danger: "What to do when somebody is in danger",
  standing_instructions: "Standing instructions", posture: "How to hold itself",
  safety: "That this is a hard moment",
  overlay: "Something to do in this turn",
  bridge: "Where you two stopped a moment ago", handover: "What was before",
  daily_steering: "A note from how yesterday went", ops: "Threads to hold on to",
  user_context: "About you", supplemental_context: "What was looked up", synthesis: "How to bring answers together",
  exchange: "How to respond to the others",
};

const tidy = (word) => word.replaceAll("_", " ");

/** A phrase with a capital; a model's name ("lab:gate") stays as it is. */
export const capital = (text) => text.replace(/^[a-z](?=[a-z’']*( |$))/, (letter) => letter.toUpperCase());

/** `lead` are words before it, such as "It was told". */
export const sentence = ({ text, why = "" }, lead = "") =>
  `${capital(lead ? `${lead} ${text}` : text)}${why ? `: ${why}` : ""}.`;

export const blockName = (name) => BLOCKS[name] ?? tidy(name);
export const milliseconds = (ms) => (ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${number(ms)} ms`);
