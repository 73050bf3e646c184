// @ts-check
// Fetching what a room shows: waiting, there, or failed and tried again by itself.
import { api, unreachable, isTransient } from "./api.js";
import { html, useCallback, useEffect, useRef, useState } from "./ui.js";

const PAUSES = [1000, 2000, 4000, 8000, 15_000];
const followed = new WeakSet(); // failures that somebody tries to get over already

/** Runs `again` after a failure that may pass: after a pause that grows, and as soon as this tab is
 * looked at or the network is back. */
export function useRecovery(failure, again) {
  const tries = useRef(0);
  useEffect(() => {
    if (!failure || !again || !isTransient(failure)) {
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
export function retryHint(failure) {
  if (!isTransient(failure)) return failure.hint;
  return failure.status
    ? `${failure.hint} It is tried again by itself.`
    : "Nothing is lost. It is tried again by itself; check that Polyvox is running.";
}

/**
 * `[value, failure, again]` of an asynchronous `load`; a newer call outruns an older one. What fails
 * is tried again by itself.
 * @template Value
 * @param {() => Promise<Value>} load
 * @param {any[]} inputs
 * @returns {[Value, any, () => Promise<void>]}
 */
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

/** With `again` it is tried again by itself, if it may pass. */
export function Failed({ failure, again }) {
  useRecovery(followed.has(failure) ? null : failure, again);
  return html`
    <div class="err" role="alert">
      <p><b>${failure.message}</b> ${again || followed.has(failure) ? retryHint(failure) : failure.hint}</p>
      ${again && html`<button type="button" class="quiet" onClick=${again}>Try again</button>`}
    </div>`;
}

export const Waiting = ({ children }) => html`<p class="waiting" role="status">${children}</p>`;

// Parts that most visits never open are fetched when they are.
const AGAIN = 3000; // ms until a part that could not be fetched is asked for again
const known = new Map();

/** The module at `address`. Fetched as a file first: a browser that once failed to import a module
 * never asks for it again. */
async function fetched(address) {
  const reply = await fetch(address).catch(() => null);
  if (!reply?.ok) {
    throw {
      message: "This part of the page could not be loaded.", hint: "It appears as soon as Polyvox can be reached."
    };
  }
  known.set(address, await import(address));
  return known.get(address);
}

/** `[module, failure, again]`; while it cannot be had, it is asked for again and again. */
export function useModule(address) {
  const ready = known.get(address);
  const [loaded, failure, again] = useLoaded(async () => ready ?? fetched(address), [address]);
  useEffect(() => {
    if (!failure) return undefined;
    const timer = setTimeout(again, AGAIN);
    window.addEventListener("online", again);
    return () => { clearTimeout(timer); window.removeEventListener("online", again); };
  }, [failure, again]);
  return [ready ?? loaded, failure, again];
}

/** The component `name` of a module that is loaded when it is first shown. A `quiet` one says
 * nothing when that fails. */
export function lazy(address, name, { quiet = false } = {}) {
  return function Lazy(props) {
    const [module, failure, again] = useModule(address);
    if (module) return html`<${module[name]} ...${props} />`;
    return failure && !quiet ? html`<${Failed} failure=${failure} again=${again} />` : null;
  };
}

// Whether the server can be reached, as the last request found it, and the line that says so.
export const UnreachableLine = () => html`
  <p class="away" role="status">The server is away. What you see is stored; the page catches up by itself.</p>`;

const ask = () => api.get("/healthz").catch(() => {});

/** In a room nobody listens to the server, so it is asked until it is back. */
export function Unreachable() {
  useRecovery(unreachable.value, ask);
  return unreachable.value && html`<${UnreachableLine} />`;
}
