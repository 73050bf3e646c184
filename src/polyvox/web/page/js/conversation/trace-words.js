// @ts-check
// What a trace says, in plain words. Whatever is not known here is shown as it came.
import { number, plural } from "../words.js";

/** What a block of the system prompt is for. */
const BLOCKS = {
  persona: "Who it is", identity: "Who the advisor is", shared: "What this conversation is for",
  protocol: "What to do in this phase", rules: "How to write",
  standing_instructions: "What you asked for once and for all", posture: "How to hold itself",
  overlay: "Something to do in this turn",
  bridge: "Where you two stopped a moment ago", handover: "What was before",
  daily_steering: "A note from how yesterday went", ops: "Threads to hold on to",
  user_context: "About you", supplemental_context: "What was looked up", synthesis: "How to bring answers together",
  exchange: "How to respond to the others",
};
const POSTURES = {
  COMPANION: "keeps you company", MOMENTUM: "keeps things moving", REFLECTION: "thinks along",
  RELATIONSHIP: "listens for the people in it", IDEATION: "looks for ideas",
  RECOVERY: "goes gently", PRACTICAL: "helps to get it done",
};
const PRESSURES = { LOW: "with little pressure", MED: "with some pressure", HIGH: "under high pressure" };
const POSTURE_WHY = {
  unchanged: "as before", sure: "the message left no doubt", "asked for": "you asked for it",
  "suggested twice": "two messages running spoke for it",
  held: "one hint is not enough to change it", "no gate": "there was no model to read your message",
  "held: the gate did not read": "your message could not be read, so nothing was changed",
};
const OVERLAYS = {
  daily_focus: "The day's focus", daily_review: "A look back at the day", weekly_compass: "A compass for the week",
  conflict_regulation: "Calming a conflict",
  curiosity_spiral: "Following a story", accountability_tug: "A tug at something open",
};
const OVERLAY_WHY = {
  "session start": "a session began, and it was time for it", "too young": "the talk is too young for one",
  "no gate": "there was no model to read your message", conflict: "there is a conflict in it",
  "a story worth exploring": "there is a story worth exploring", "an open loop": "something is still open",
  crisis: "not in a crisis", urgent: "it was urgent",
  "output task": "you wanted something made", "direct request": "you asked for something directly",
  friction: "you had just corrected it", "no open loop": "nothing is open",
  "tugged today": "that was done today", dismissed: "you waved it away not long ago",
};
const HANDOVER_WHY = {
  "session start": "a session began", continued: "you went straight on",
  "low-signal first message": "the first message said little",
  "said already": "it had been brought back once in this session",
  "nothing to say": "there was nothing to say", "asked for": "you asked about it",
  "third turn or later": "only the first messages of a session are told",
};
const OPS_WHY = {
  "supplemental context is present": "what was looked up takes its place", crisis: "never in a crisis",
  "not about doing": "it was not about doing", "no thread to anchor on": "nothing is open",
  "about doing": "it was about doing", pressure: "there was pressure",
};
const FETCHED = {
  none: "Nothing was asked of memory.", fetched: "Memory told it how things stand, for this session.",
  cached: "It knew from the session's start how things stand.",
  brief: "Memory gave the plainer packet.", empty: "Memory had nothing to tell yet.",
  failed: "Memory could not be asked.", invalidated: "You said that it was wrong, so it is not used in this session.",
};
const RECALL = {
  off: "Looking things up is switched off.", none: "Nothing in the message asked for it.",
  unsure: "It was not sure enough that you wanted it.", "no query": "The message has no words to look for.",
  "nothing found": "It looked, and found nothing that fits.",
  "told already": "What it found stands in the request anyway.", unreachable: "Memory could not be reached.",
};
const STEPS = {
  stt_ms: "Hearing you", wait: "Getting there", session_ms: "Reading the session", gate_ms: "Reading your message",
  brief_ms: "Asking memory", recall_ms: "Looking things up",
  first: "Until the first word", write: "Writing", llm_ms: "The model", tts_ms: "Speaking",
};

const tidy = (word) => word.replaceAll("_", " ");
const because = (what, why) => (why ? `${what}: ${why}.` : `${what}.`);

export const blockName = (name) => BLOCKS[name] ?? tidy(name);
export const stepName = (key) => STEPS[key] ?? tidy(key.replace(/_ms$/, ""));
export const milliseconds = (ms) => (ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${number(ms)} ms`);

export function describePosture({ posture, pressure, reason }) {
  const how = POSTURES[posture] ?? tidy(posture).toLowerCase();
  return because(
    `It ${how}, ${PRESSURES[pressure] ?? tidy(pressure ?? "").toLowerCase()}`, POSTURE_WHY[reason] ?? reason
  );
}

export function describeOverlay({ overlay, overlay_reason: reason }) {
  const why = OVERLAY_WHY[reason] ?? reason;
  return overlay ? because(OVERLAYS[overlay] ?? tidy(overlay), why) : because("None", why);
}

function handoverWhy(reason) {
  const gap = /^gap of (\d+) minutes$/.exec(reason);
  if (gap) return `you were away for ${plural(Number(gap[1]), "minute")}`;
  if (/^depth /.test(reason)) return "it was a day ago, or longer";
  return HANDOVER_WHY[reason] ?? reason;
}

export function describeHandover({ startbrief_runtime: run, handover_reason: reason }) {
  const parts = [
    run.handover_injected && "what was before", run.bridge_injected && "where you stopped"
  ].filter(Boolean);
  return because(
    parts.length ? `It was told ${parts.join(" and ")}` : "It was not told what was before", handoverWhy(reason)
  );
}

export function describeFetch({ startbrief_runtime: { startbrief_fetch: fetched }, startbrief_items_count: items }) {
  const open = items ? ` ${plural(items, "thing")} stood open.` : "";
  return `${FETCHED[fetched] ?? tidy(fetched)}${open}`;
}

export function describeOps({ startbrief_runtime: run, ops_reason: reason }) {
  return because(run.ops_injected ? "A thread or two were named" : "None were named", OPS_WHY[reason] ?? reason);
}

export function describeRecall({ decision, found, relevance, explicit }) {
  const fits = typeof relevance === "number" ? `, the best fitting ${Math.round(relevance * 100)} %` : "";
  const sentence = decision === "found"
    ? `It found ${plural(found, "thing")}${fits}.`
    : RECALL[decision] ?? `${tidy(String(decision))}.`;
  return explicit ? `You asked it to remember. ${sentence}` : sentence;
}

export const describeGate = ({ gate, gate_degrade: degrade }) =>
  (gate === "none"
    ? "No model read your message beforehand."
    : `${gate} read your message${degrade ? `, but it ${reasonText(degrade)}` : ""}.`);

// What could not be done for an answer, and why, in plain words. Whatever is not known is shown as it came.
const WHAT = {
  startbrief: "What a session starts with", brief: "The plainer packet", user_model: "Your profile",
  daily: "The note about yesterday", loops: "What is open", query: "Looking things up",
  standing: "What you asked for once and for all", gate: "Reading your message", ingest: "Keeping the session",
};
const WHY = {
  timeout: "did not come in time", unreachable: "could not be reached",
  malformed: "came in a shape that cannot be read", status: "was refused",
  unreadable: "gave a reply that cannot be read",
  cap: "was left out: the spending limit is reached", unavailable: "could not be reached", refused: "was refused",
  rate_limit: "was asked too often", quota: "has no credit left",
  authentication: "has no key that is accepted", protocol: "sent nonsense", empty: "came back empty",
};

export const reasonText = (why) => WHY[why] ?? tidy(why);

/** "startbrief: timeout (3 s)" as a sentence. */
export function describeDegrade(text) {
  const match = /^([a-z_]+): ([a-z_]+)(?: \((.*)\))?$/.exec(text);
  if (!match) return text;
  const [, what, why, detail] = match;
  if (what === "handover") {
    const trouble = why === "invalid" ? "said what its sources do not bear out" : reasonText(why);
    return `What was before was told in plain words: the model that writes it ${trouble}.`;
  }
  return `${WHAT[what] ?? tidy(what)} ${reasonText(why)}${detail ? ` (${detail})` : ""}.`;
}
