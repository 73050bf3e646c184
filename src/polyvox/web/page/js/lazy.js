// Parts that most visits never open are fetched when they are.
import { html, useEffect, useState } from "./ui.js";

/** A component from a module that is loaded when it is first shown. */
export function lazy(load) {
  let known = null;
  return function Lazy(props) {
    const [part, setPart] = useState(() => known);
    useEffect(() => {
      if (!part) load().then((loaded) => { known = loaded; setPart(() => loaded); });
    }, []);
    return part ? html`<${part} ...${props} />` : null;
  };
}
