// Those to talk to alone: whoever comes with the program, and advisors that were talked to so.
import { api } from "./api.js";
import { byId, colorOf } from "./council.js";
import { html, signal, useEffect } from "./ui.js";
import { monogram } from "./words.js";

export const personas = signal(null);

export async function loadPersonas() {
  personas.value = await api.get("/api/personas");
  return personas.value;
}

/** The colour of a persona, also before it is anybody's advisor. */
export const personaColor = (one) => (one.advisor_id && byId.value.has(one.advisor_id) ? colorOf(one.advisor_id) : /^#[0-9a-f]{6}$/i.test(one.color) ? one.color : colorOf(one.slug));

/** Where one talks to it: the conversation that there is, or the beginning of one. */
export const personaPath = (one) => (one.conversation_id ? `/c/${one.conversation_id}` : `/?with=${encodeURIComponent(one.slug)}`);

/** A conversation with one of them, to choose instead of a council. */
export function Companions({ short = false }) {
  useEffect(() => { loadPersonas().catch(() => {}); }, []);
  if (!personas.value?.length) return null;
  return html`
    <section class=${short ? "companions short" : "companions"} aria-labelledby="companions">
      <h2 id="companions">Or talk with one alone</h2>
      ${!short && html`<p class="soft">A companion is one voice in one column. It remembers you from one session to the next, and you see what it will use.</p>`}
      <ul class="ones">
        ${personas.value.map((one) => html`
          <li key=${one.slug} data-c style=${{ "--c": personaColor(one) }}>
            <a class="by" href=${personaPath(one)}><span class="mono" aria-hidden="true">${monogram(one.name)}</span>${one.name}${one.conversation_id && html`<span class="go-on"> go on</span>`}</a>
            <p>${one.about}</p>
          </li>`)}
      </ul>
    </section>`;
}
