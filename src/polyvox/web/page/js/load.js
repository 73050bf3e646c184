// Fetching what a room shows: waiting, there, or failed with a way to try again.
import { html, useCallback, useEffect, useRef, useState } from "./ui.js";

/** `[value, failure, again]` of an asynchronous `load`; a newer call outruns an older one. */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ value: null, failure: null });
  const turn = useRef(0);
  const again = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const value = await load();
      if (mine === turn.current) setState({ value, failure: null });
    } catch (failure) {
      if (mine === turn.current) setState((before) => ({ ...before, failure }));
    }
  }, inputs);
  useEffect(() => {
    again();
    return () => { turn.current += 1; };
  }, [again]);
  return [state.value, state.failure, again];
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

export function Failed({ failure, again }) {
  return html`
    <div class="err" role="alert">
      <p><b>${failure.message}</b> ${failure.hint}</p>
      ${again && html`<button type="button" class="quiet" onClick=${again}>Try again</button>`}
    </div>`;
}

export const Waiting = ({ children }) => html`<p class="waiting" role="status">${children}</p>`;
