// A run under way: asked for again until it has ended, seldom while nobody looks.
import { api } from "../api.js";
import { useEffect, useState } from "../ui.js";

const EVERY = 900;
const UNSEEN = 8000;
export const UNDER_WAY = new Set(["waiting", "running"]);

/** `[run, failure, set]` of an evaluation or an optimisation that is followed until it has ended. */
export function useRun(path, first = null) {
  const [run, setRun] = useState(first);
  const [failure, setFailure] = useState(null);
  useEffect(() => {
    if (!path) return undefined;
    let over = false;
    let timer = null;
    const look = async () => {
      let going = true;
      timer = null;
      try {
        const now = await api.get(path);
        if (over) return;
        setRun(now);
        setFailure(null);
        going = UNDER_WAY.has(now.state);
      } catch (error) {
        if (over) return;
        setFailure(error);
        going = !error.status; // the server is away: it comes back
      }
      if (going) timer = setTimeout(look, document.hidden ? UNSEEN : EVERY);
    };
    const seen = () => { if (!document.hidden && timer) { clearTimeout(timer); timer = null; look(); } };
    look();
    document.addEventListener("visibilitychange", seen);
    return () => { over = true; clearTimeout(timer); document.removeEventListener("visibilitychange", seen); };
  }, [path, first?.id, first?.state]);
  return [run, failure, setRun];
}
