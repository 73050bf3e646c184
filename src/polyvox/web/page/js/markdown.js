// Markdown as a component.
import { Scribe } from "./scribe.js";
import { html, useEffect, useLayoutEffect, useRef } from "./ui.js";

/** `live` while more may come. */
export function Prose({ text, live = false }) {
  const root = useRef(null);
  const scribe = useRef(null);
  useLayoutEffect(() => {
    scribe.current ??= new Scribe(root.current);
    scribe.current.show(text, !live);
  }, [text, live]);
  useEffect(() => () => scribe.current?.close(), []);
  return html`<div class="prose" ref=${root} data-live=${live || undefined}></div>`;
}
