// Completing @names: who is meant, and what to put in their place.

/** The @word before the caret: `{start, word}` or null. */
export function mentionAt(text, caret) {
  const found = /(?:^|[\s(])@([\w-]*)$/u.exec(text.slice(0, caret));
  return found ? { start: caret - found[1].length - 1, word: found[1].toLowerCase() } : null;
}

/** Advisors that a word may mean: by slug or by any word of the name. */
export function candidates(advisors, word) {
  const fits = ({ slug, name }) => slug.startsWith(word) || name.toLowerCase().split(/\s+/).some((part) => part.startsWith(word));
  return advisors.filter(fits).slice(0, 8);
}

/** The text with the name filled in, and where the caret then stands. */
export function complete(text, { start, word }, slug) {
  const after = text.slice(start + 1 + word.length);
  const put = `@${slug}${after.startsWith(" ") ? "" : " "}`;
  return { text: text.slice(0, start) + put + after, caret: start + put.length + (after.startsWith(" ") ? 1 : 0) };
}
