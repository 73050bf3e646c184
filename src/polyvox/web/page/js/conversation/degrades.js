// What could not be done for an answer, and why, in plain words. Whatever is not known is shown as it came.
const WHAT = {
  startbrief: "What a session starts with", brief: "The plainer packet", user_model: "Your profile", daily: "The note about yesterday", loops: "What is open", query: "Looking things up",
  standing: "What you asked for once and for all", gate: "Reading your message", ingest: "Keeping the session",
};
const WHY = {
  timeout: "did not come in time", unreachable: "could not be reached", malformed: "came in a shape that cannot be read", status: "was refused", unreadable: "gave a reply that cannot be read",
  cap: "was left out: the spending limit is reached", unavailable: "could not be reached", refused: "was refused", rate_limit: "was asked too often", quota: "has no credit left",
  authentication: "has no key that is accepted", protocol: "sent nonsense", empty: "came back empty",
};

const tidy = (word) => word.replaceAll("_", " ");

export const whyNot = (why) => WHY[why] ?? tidy(why);

/** "startbrief: timeout (3 s)" as a sentence. */
export function degradeTold(text) {
  const found = /^([a-z_]+): ([a-z_]+)(?: \((.*)\))?$/.exec(text);
  if (!found) return text;
  const [, what, why, detail] = found;
  if (what === "handover") return `What was before was told in plain words: the model that writes it ${why === "invalid" ? "said what its sources do not bear out" : whyNot(why)}.`;
  return `${WHAT[what] ?? tidy(what)} ${whyNot(why)}${detail ? ` (${detail})` : ""}.`;
}
