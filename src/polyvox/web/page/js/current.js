// @ts-check
// One way to stay current: what is shown is read again when this tab is looked at again, when another
// tab has changed it, and every so often while something is under way.
import { useEffect } from "./ui.js";

/** How often, in milliseconds, work that is under way is looked at. */
export const OFTEN = 2000;

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("polyvox") : null;

/** Tell this browser's other tabs that something of this kind was changed here; `id` says which. */
export const announceChange = (topic, id = "") => channel?.postMessage({ topic, id });

/** Run `act` when another tab has changed something of this kind; returns what ends that. */
export function onChange(topic, act, id = "") {
  const hear = ({ data }) => data.topic === topic && data.id === id && act();
  channel?.addEventListener("message", hear);
  return () => channel?.removeEventListener("message", hear);
}

/** Run `act` when this tab is looked at again; returns what ends that. */
export function onReturn(act) {
  const look = () => document.visibilityState === "visible" && act();
  window.addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  return () => {
    window.removeEventListener("focus", look);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Run `act` every so many milliseconds while somebody sees this tab; 0: not at all. */
export function useEvery(act, every) {
  useEffect(() => {
    if (!every) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && act(), every);
    return () => clearInterval(timer);
  }, [act, every]);
}

/** Keep what `again` reads current; `every` while it is known to change, 0 otherwise. */
export function useCurrent(again, every = 0) {
  useEffect(() => onReturn(again), [again]);
  useEvery(again, every);
}
