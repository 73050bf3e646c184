// @ts-check
// Verdicts as people read them: the reason first, then what it came to, and a way to disagree.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { notifyFailure } from "../dialog.js";
import { html, useCallback, useEffect, useRef, useState } from "../ui.js";

const OUTCOMES = { pass: "holds", fail: "does not hold", error: "could not be judged" };
const SIGNS = { pass: "✓", fail: "✗", error: "!", flaky: "~" };

/** An outcome in words and a sign, so that it reads without colour. */
export const Outcome = ({ outcome, words }) => html`
  <span class=${`outcome ${outcome}`}>
    <span aria-hidden="true">${SIGNS[outcome]}</span> ${words ?? OUTCOMES[outcome]}
  </span>`;

/** What counts of a verdict: what the person said of it, else what the judge said. */
export const outcomeOf = (verdict) => verdict.overruled ?? verdict.outcome;

/** What a person said of a verdict. */
function Overruled({ verdict }) {
  if (!verdict.overruled) return null;
  return html` <span class="mark">
    ${verdict.overruled === verdict.outcome ? "you agree" : `you say so; the judge: ${OUTCOMES[verdict.outcome]}`}
  </span>`;
}

/** `signed`: whether to say who judged. */
export function Verdict({ verdict, onChange, named = true, signed = true, children }) {
  const [busy, setBusy] = useState(false);
  const say = async (outcome) => {
    setBusy(true);
    try {
      onChange(await api.post(`/api/verdicts/${verdict.id}/overrule`, { outcome }));
    } catch (error) {
      notifyFailure(error);
    }
    setBusy(false);
  };
  const other = verdict.outcome === "pass" ? "fail" : "pass";
  return html`
    <li class="verdict">
      ${named && html`<p class="says">${verdict.text}</p>`}
      <p class="why"><${Outcome} outcome=${outcomeOf(verdict)} /><${Overruled} verdict=${verdict} />
        ${verdict.reason && html` <q>${verdict.reason}</q>`}</p>
      <div class="tools">
        ${verdict.outcome !== "error" && (verdict.overruled
          ? html`
            <button type="button" disabled=${busy} onClick=${() => say(null)}
              aria-label=${`Take back: ${verdict.text}`}>
              Take that back
            </button>`
          : html`
            ${verdict.judge !== "code" && html`
              <button type="button" disabled=${busy} onClick=${() => say(verdict.outcome)}
                aria-label=${`Agree: ${verdict.text}`}>
                I agree
              </button>`}
            <button type="button" disabled=${busy} onClick=${() => say(other)}
              aria-label=${`Overrule: ${verdict.text}`}>
              ${other === "pass" ? "No, it holds" : "No, it does not hold"}
            </button>`)}
        ${signed && html`
          <span class="stamp">${verdict.judge === "code" ? "checked in code" : `judged by ${verdict.judge}`}</span>`}
      </div>
      ${children}
    </li>`;
}

// A run under way: asked for again until it has ended.
const SOON = 900;
export const UNDER_WAY = new Set(["waiting", "running"]);

/**
 * `[run, failure, set]` of an evaluation or an optimisation that is followed until it has ended. A
 * newer answer outruns an older one.
 * @param {string} path
 * @returns {[any, any, (run: any) => void]}
 */
export function useRun(path, first = null) {
  const [run, setRun] = useState(first);
  const [failure, setFailure] = useState(null);
  const turn = useRef(0);
  const asked = useRef("");
  const look = useCallback(async () => {
    if (!path || asked.current === path) return; // a slow server is asked one question at a time
    asked.current = path;
    const mine = ++turn.current;
    try {
      const now = await api.get(path);
      if (mine === turn.current) { setRun(now); setFailure(null); }
    } catch (error) {
      if (mine === turn.current) setFailure(error);
    }
    asked.current = "";
  }, [path]);
  useEffect(() => {
    asked.current = "";
    look();
    return () => { turn.current += 1; };
  }, [look, first?.id, first?.state]);
  const away = failure && !failure.status; // it comes back
  useCurrent(look, path && (away || (!failure && UNDER_WAY.has(run?.state))) ? SOON : 0);
  return [run, failure, (now) => { turn.current += 1; setRun(now); }];
}
