// Fetching what a room shows: waiting, there, or failed and tried again by itself.
import { passing } from "./api.js";
import { html, useCallback, useEffect, useRef, useState } from "./ui.js";

const PAUSES = [1000, 2000, 4000, 8000, 15_000];
const EVERY = 2000;
const followed = new WeakSet(); // failures that somebody tries to get over already

/** Runs `again` after a failure that may pass: after a pause that grows, and as soon as this tab is
 * looked at or the network is back. */
export function useRecovery(failure, again) {
  const tries = useRef(0);
  useEffect(() => {
    if (!failure || !again || !passing(failure)) {
      if (!failure) tries.current = 0;
      return undefined;
    }
    const retry = () => again();
    const timer = setTimeout(retry, PAUSES[Math.min(tries.current++, PAUSES.length - 1)]);
    for (const name of ["online", "focus"]) window.addEventListener(name, retry);
    return () => {
      clearTimeout(timer);
      for (const name of ["online", "focus"]) window.removeEventListener(name, retry);
    };
  }, [failure, again]);
}

/** What to do about a failure that is tried again by itself. */
export function laterHint(failure) {
  if (!passing(failure)) return failure.hint;
  return failure.status ? `${failure.hint} It is tried again by itself.` : "Nothing is lost. It is tried again by itself; check that Polyvox is running.";
}

/** `[value, failure, again]` of an asynchronous `load`; a newer call outruns an older one. What fails
 * is tried again by itself. */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ value: null, failure: null });
  const turn = useRef(0);
  const again = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const value = await load();
      if (mine === turn.current) setState({ value, failure: null });
    } catch (failure) {
      followed.add(failure);
      if (mine === turn.current) setState((before) => ({ ...before, failure }));
    }
  }, inputs);
  useEffect(() => {
    again();
    return () => { turn.current += 1; };
  }, [again]);
  useRecovery(state.failure, again);
  return [state.value, state.failure, again];
}

/** Look again every now and then while there is something to wait for and somebody to see it. */
export function useWatching(waiting, again) {
  useEffect(() => {
    if (!waiting) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && again(), EVERY);
    return () => clearInterval(timer);
  }, [waiting, again]);
}

/** Runs `again` when this tab is looked at again: another one may have changed things. */
export function useReturning(again) {
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && again();
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [again]);
}

/** With `again` it is tried again by itself, if it may pass. */
export function Failed({ failure, again }) {
  useRecovery(followed.has(failure) ? null : failure, again);
  return html`
    <div class="err" role="alert">
      <p><b>${failure.message}</b> ${again || followed.has(failure) ? laterHint(failure) : failure.hint}</p>
      ${again && html`<button type="button" class="quiet" onClick=${again}>Try again</button>`}
    </div>`;
}

export const Waiting = ({ children }) => html`<p class="waiting" role="status">${children}</p>`;
