// A turn's answers as they stand on the page: a place per advisor (with its versions), the rounds
// of an exchange, and the syntheses.

/** `{advisors: [slot], rounds: [[slot]], synthesis: slot|null}`; a slot is `{key, versions}`, oldest
 * version first, in the council's order. */
export function arrange(answers) {
  const places = new Map();
  for (const answer of answers) {
    const { kind, round, advisor_id } = answer.data.value;
    const key = `${kind}/${round}/${advisor_id}`;
    if (!places.has(key)) places.set(key, { key, kind, round, advisor: advisor_id, versions: [] });
    places.get(key).versions.push(answer);
  }
  const slots = [...places.values()];
  for (const slot of slots) slot.versions.sort((a, b) => a.data.value.version - b.data.value.version);
  const rounds = [];
  for (const slot of slots.filter(({ kind }) => kind === "exchange")) (rounds[slot.round] ??= []).push(slot);
  return {
    advisors: slots.filter(({ kind }) => kind === "advisor"),
    rounds: rounds.filter(Boolean),
    synthesis: slots.find(({ kind }) => kind === "synthesis") ?? null,
  };
}

/** The version that counts: the current one, else the last. */
export const current = ({ versions }) => versions.findLast((answer) => answer.data.value.current) ?? versions[versions.length - 1];

const SENTENCE = /[.!?…]["'”’)]?\s+/g;

/** The first sentences of a text, up to about `most` characters; null if all of it fits. */
export function opening(text, most) {
  if (text.length <= most * 1.25) return null;
  let end = 0;
  for (const found of text.matchAll(SENTENCE)) {
    if (found.index + found[0].length > most) break;
    end = found.index + found[0].trimEnd().length;
  }
  let cut = text.slice(0, end);
  if (end < most * 0.6) cut = `${text.slice(0, Math.max(text.lastIndexOf(" ", most), most / 2))} …`;
  const fences = cut.match(/^```/gm)?.length ?? 0;
  return fences % 2 ? `${cut}\n\`\`\`` : cut; // do not leave a block of code open
}
