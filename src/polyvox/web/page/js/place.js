// Places of the page: their names, and the parts of long ones.
import { html, useEffect } from "./ui.js";

/** A place of its own: its name in the title, and read from its beginning. */
export function usePlace(...names) {
  const title = [...names, "Polyvox"].join(" · ");
  useEffect(() => { document.title = title; }, [title]);
  useEffect(() => {
    const part = window.location.hash && document.getElementById(window.location.hash.slice(1));
    if (part) part.scrollIntoView();
    else window.scrollTo(0, 0);
  }, []);
}

/** A link to a part of this place; the reader's focus goes there, too. */
export function Jump({ to, children }) {
  const jump = (event) => {
    const part = document.getElementById(to);
    if (!part) return;
    event.preventDefault();
    history.replaceState(null, "", `#${to}`);
    part.scrollIntoView();
    part.tabIndex = -1;
    part.focus({ preventScroll: true });
  };
  return html`<a href=${`#${to}`} onClick=${jump}>${children}</a>`;
}
