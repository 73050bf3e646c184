// Whether the server can be reached, as the last request found it, and the line that says so.
import { api, away } from "./api.js";
import { useRecovery } from "./load.js";
import { html } from "./ui.js";

export const AwayLine = () => html`<p class="away" role="status">The server is away. What you see is stored; the page catches up by itself.</p>`;

const ask = () => api.get("/healthz").catch(() => {});

/** In a room nobody listens to the server, so it is asked until it is back. */
export function Away() {
  useRecovery(away.value, ask);
  return away.value && html`<${AwayLine} />`;
}
