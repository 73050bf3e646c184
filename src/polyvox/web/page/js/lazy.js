// Parts that most visits never open are fetched when they are.
import { Failed, useLoaded } from "./load.js";
import { html, useEffect } from "./ui.js";

const AGAIN = 3000; // ms until a part that could not be fetched is asked for again
const known = new Map();

/** The module at `address`. Fetched as a file first: a browser that once failed to import a module
 * never asks for it again. */
async function fetched(address) {
  const reply = await fetch(address).catch(() => null);
  if (!reply?.ok) throw { message: "This part of the page could not be loaded.", hint: "It appears as soon as Polyvox can be reached." };
  known.set(address, await import(address));
  return known.get(address);
}

/** `[module, failure, again]`; while it cannot be had, it is asked for again and again. */
export function useModule(address) {
  const ready = known.get(address);
  const [found, failure, again] = useLoaded(async () => ready ?? fetched(address), [address]);
  useEffect(() => {
    if (!failure) return undefined;
    const timer = setTimeout(again, AGAIN);
    window.addEventListener("online", again);
    return () => { clearTimeout(timer); window.removeEventListener("online", again); };
  }, [failure, again]);
  return [ready ?? found, failure, again];
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
