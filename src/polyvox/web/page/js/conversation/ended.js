// @ts-check
// That a session was ended is told to the other tabs of this browser.
import { useEffect } from "../ui.js";

const NAME = "polyvox.ended";

export function tellEnded(session) {
  if (!("BroadcastChannel" in globalThis)) return;
  const channel = new BroadcastChannel(NAME);
  channel.postMessage(session);
  channel.close();
}

/** Runs `act` when another tab has ended this session. */
export function useEnded(session, act) {
  useEffect(() => {
    if (!session || !("BroadcastChannel" in globalThis)) return undefined;
    const channel = new BroadcastChannel(NAME);
    channel.addEventListener("message", ({ data }) => data === session && act());
    return () => channel.close();
  }, [session, act]);
}
