// @ts-check
// Where we are: the address is the only state of it. Links are real links; plain clicks stay here.
import { signal } from "./ui.js";

function here() {
  const { pathname, search, hash } = window.location;
  return {
    path: pathname, parts: pathname.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(search), hash: hash.slice(1)
  };
}

/** `{path, parts, query, hash}` of the address. */
export const route = signal(here());

export function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  route.value = here();
}

function ours(event) {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
    return null;
  }
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== window.location.origin) return null;
  return /^\/(api|v1|page|openapi\.json|healthz|metrics)(\/|$)/.test(link.pathname) ? null : link;
}

export function followLinks() {
  window.addEventListener("popstate", () => { route.value = here(); });
  document.addEventListener("click", (event) => {
    const link = ours(event);
    if (!link) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
