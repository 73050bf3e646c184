// Writing assertions: one per line, with a quiet second opinion on each, and checks in code where
// they say the same.
import { api } from "../api.js";
import { html, useEffect, useState } from "../ui.js";

const PAUSE = 450;
const RULES = { vague: "Vague", compound: "Several in one", negated: "Said by what it is not", contradictory: "Against another" };

/** What the lint says of the lines, once nobody has typed for a moment. */
export function useLint(text, about) {
  const [found, setFound] = useState([]);
  useEffect(() => {
    if (!text.trim()) { setFound([]); return undefined; }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.post("/api/assertions/lint", { text, ...about }, { signal: stop.signal }).then(({ items }) => setFound(items), () => {});
    }, PAUSE);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [text]);
  return text.trim() ? found : [];
}

/** The text with one line of it in other words (several: split). */
const without = (text, line, instead = []) =>
  text.split("\n").flatMap((one) => (one.trim() === line.trim() || one.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim() === line.trim() ? instead : [one])).join("\n");

export function Lint({ items, text, onText, onCheck }) {
  const telling = items.filter((one) => one.findings.length || one.check);
  if (!telling.length) return null;
  return html`
    <ul class="lint" aria-label="A second opinion">
      ${telling.map((one) => html`
        <li key=${one.text}>
          <p class="says">${one.text}</p>
          ${one.findings.map((each, at) => html`
            <p key=${at}><b>${RULES[each.rule] ?? each.rule}.</b> ${each.message}
              ${each.split?.length > 0 && html` <button type="button" class="inline" onClick=${() => onText(without(text, one.text, each.split))}>Make it ${each.split.length}: ${each.split.map((part) => `“${part}”`).join(", ")}</button>`}</p>`)}
          ${one.check && html`<p>This can be checked in code, at no cost and without a judge. <button type="button" class="inline" onClick=${() => { onText(without(text, one.text)); onCheck(one.check); }}>Check “${one.check.text}” in code</button></p>`}
        </li>`)}
    </ul>`;
}
