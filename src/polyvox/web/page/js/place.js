// @ts-check
// Places of the page: their names, the parts of long ones, and how far one had read in them.
import { html, useEffect, useLayoutEffect, useRef } from "./ui.js";

const SOON = 200; // ms after scrolling

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

/** How far one had read when one left: {top, shown, entry, off}; null where one comes anew. */
export const reading = () => history.state?.reading ?? null;

/** @returns {HTMLElement[]} */
const entries = () => [...document.querySelectorAll("[data-entry]")].map((entry) => /** @type {any} */ (entry));

/** The entry at the upper edge of the window, and how far below it that begins. */
function edge() {
  for (const element of entries()) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > 0) return { entry: element.dataset.entry, off: top };
  }
  return {};
}

function goBack({ top, entry, off }) {
  if (!top) return;
  const element = entries().find((each) => each.dataset.entry === entry);
  window.scrollTo(0, element ? window.scrollY + element.getBoundingClientRect().top - off : top);
}

/**
 * Going back to this place, or loading it anew, leads to where one had read to. `shown` is how many
 * entries are asked for, null until they are there; what was kept of it is in `reading()`.
 */
export function useReading(shown) {
  const there = shown !== null;
  const now = useRef(shown);
  now.current = shown;
  useLayoutEffect(() => { if (there && reading()) goBack(reading()); }, [there]);
  useEffect(() => {
    let later = 0;
    const keep = () => {
      if (now.current !== null) {
        history.replaceState(
          { ...history.state, reading: { top: window.scrollY, shown: now.current, ...edge() } }, ""
        );
      }
    };
    const soon = () => { clearTimeout(later); later = setTimeout(keep, SOON); };
    const leave = () => clearTimeout(later);
    window.addEventListener("scroll", soon, { passive: true });
    window.addEventListener("pagehide", keep);
    window.addEventListener("popstate", leave);
    document.addEventListener("click", keep, true); // before a link is followed
    return () => {
      leave();
      window.removeEventListener("scroll", soon);
      window.removeEventListener("pagehide", keep);
      window.removeEventListener("popstate", leave);
      document.removeEventListener("click", keep, true);
    };
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

// An address at which nothing is, and the way back.
export function Nowhere({ children = "This address leads nowhere." }) {
  usePlace("Nothing is here");
  return html`
    <header>
      <h1>Nothing is here</h1><p>${children} <a href="/">Begin a conversation</a>, or choose one from the list.</p>
    </header>`;
}
