// @ts-check
// A conversation with one voice: a calm column, its sessions apart by a hairline, an end when you say so.
import { api } from "../api.js";
import { announceChange, onChange, useCurrent } from "../current.js";
import { notifyFailure } from "../dialog.js";
import { advisorById, colorOf, companionRecipes, loadAdvisors, loadConversations } from "../lists.js";
import { retryHint, lazy, useLoaded, useRecovery } from "../load.js";
import { pref } from "../prefs.js";
import { go } from "../router.js";
import { html, signal, useCallback, useEffect, useRef, useState } from "../ui.js";
import { duration, moment, monogram } from "../words.js";
import { Composer } from "./composer.js";

export const isCompanion = (details) => companionRecipes.value.has(details?.recipe);

/** The one who is talked to, by id; null where there are several or none. */
export function personaOf(details) {
  if (!isCompanion(details) || details.advisors?.length !== 1) return null;
  const [id] = details.advisors;
  return { id, name: advisorById.value.get(id)?.name ?? (details.title || "The companion") };
}

const saidAt = (turn) => turn.message.value.said_at ?? turn.message.value.created_at;

/** The hairline where a session begins: when, and how long after the one before. */
export function Boundary({ before, turn }) {
  const session = turn.message.value.session_id;
  if (!session || session === before?.message.value.session_id) return null;
  const later = before ? `, ${duration(saidAt(turn) - saidAt(before))} later` : "";
  return html`
    <p class="gap"><a href=${`/sessions/${session}`} title="This session">${moment(saidAt(turn))}${later}</a></p>`;
}

/** At the end of the newest turn: the way to end the session, or that it has ended. */
export function Farewell({ live, turn }) {
  const id = turn.message.value.session_id;
  const busy = turn.running;
  const [session, , look] = useLoaded(async () => (id && !busy ? api.get(`/api/sessions/${id}`) : null), [id, busy]);
  const pressed = useRef(false);
  const line = useRef(null);
  const elsewhere = useCallback(() => { look(); live.sessions.value += 1; }, [look, live]);
  useCurrent(look);
  useEffect(() => (id ? onChange("session", elsewhere, id) : undefined), [id, elsewhere]);
  const over = session?.id === id && session.ended_at !== null;
  useEffect(() => {
    if (over && pressed.current) line.current?.focus({ preventScroll: true }); // the button that had the focus is gone
    pressed.current = false;
  }, [over]);
  if (busy || !session || session.id !== id) return null;
  const end = async () => {
    try {
      await api.post(`/api/sessions/${id}/end`);
    } catch (error) {
      if (error.status !== 409) return notifyFailure(error); // 409: it ended by itself meanwhile
    }
    pressed.current = true;
    announceChange("session", id);
    live.sessions.value += 1;
    return look();
  };
  if (!over) {
    return html`<div class="tools farewell"><button type="button" onClick=${end}>That’s all for now</button></div>`;
  }
  return html`
    <p class="gap over" role="status" tabindex="-1" ref=${line}>
      <span>
        ${session.ended_by === "person"
          ? "You ended it here"
          : "It ended here"}. Your next message begins anew; <a href=${`/sessions/${id}`}>what became of it</a>
      </span>
    </p>`;
}

async function beginConversation(persona, recipe, content, key, veto) {
  const path = `/api/personas/${encodeURIComponent(persona.slug)}/conversation`;
  const talk = await api.post(`${path}?recipe=${encodeURIComponent(recipe)}`);
  try {
    await api.post(`/api/conversations/${talk.id}/turns`, {
      content, idempotency_key: key, ...(veto.length ? { veto } : {})
    });
  } catch (error) {
    if (error.status && talk.head === null) await api.del(`/api/conversations/${talk.id}`).catch(() => {});
    throw error;
  }
  await Promise.all([loadAdvisors(), loadConversations()]).catch(() => {});
  return talk.id;
}

/** Before the first word to somebody. Who has a conversation with it already goes on there. */
export function BeginAlone({ slug, recipe }) {
  const [failure, setFailure] = useState(null);
  const load = useCallback(() => loadPersonas().then(() => setFailure(null), setFailure), []);
  useEffect(() => { load(); }, [load]);
  useRecovery(failure, load);
  const persona = personas.value?.find((each) => each.slug === slug);
  const before = recipe === "companion" ? persona?.conversation_id : null;
  useEffect(() => {
    if (before) go(`/c/${before}`, { replace: true });
  }, [before]);
  if (failure) return html`<p class="hush" role="alert"><b>${failure.message}</b> ${retryHint(failure)}</p>`;
  if (!personas.value || before) return html`<p class="hush" role="status">Opening …</p>`;
  if (!persona) {
    return html`
      <div class="room">
        <header>
          <h1>Nobody of that name is here</h1>
          <p>There is no companion called ${slug}. <a href="/">Begin a conversation</a></p>
        </header>
      </div>`;
  }
  const vetoed = pref(`veto.with.${slug}`, []);
  const send = async (content, key) => {
    const id = await beginConversation(persona, recipe, content, key, vetoed.peek());
    vetoed.value = [];
    go(`/c/${id}`);
  };
  const above = html`<${Strip} name=${`with.${slug}`} query=${`recipe=${encodeURIComponent(recipe)}`} />`;
  return html`
    <header class="top"><span><b>A conversation with ${persona.name}</b></span></header>
    <div class="flow calm begin">
      <div class="meet" data-c style=${{ "--c": personaColor(persona) }}>
        <span class="mono" aria-hidden="true">${monogram(persona.name)}</span>
        <h1>${persona.name}</h1>
        <p class="about">${persona.about}</p>
        <p class="soft">
          It remembers you from one session to the next. What it will use is shown above the prompt line, and <a
            href="/memory">
            what it keeps
          </a> can be seen, corrected and forgotten.
        </p>
      </div>
    </div>
    <${Composer} key=${slug} draft=${`with.${slug}`} chosen=${[]} who=${persona.name} estimate=${async () => null}
      send=${send} above=${above} />`;
}

/** The mark of a companion's conversation: its letter in its colour. */
export function Mark({ details }) {
  const persona = personaOf(details);
  return persona && html`
    <span class="mono" aria-hidden="true" data-c style=${{ "--c": colorOf(persona.id) }}>
      ${monogram(persona.name)}
    </span>`;
}

// Those to talk to alone: whoever comes with the program, and advisors that were talked to so.
export const personas = signal(null);

async function loadPersonas() {
  personas.value = await api.get("/api/personas");
  return personas.value;
}

/** The colour of a persona, also before it is anybody's advisor. */
const personaColor = (persona) =>
  (persona.advisor_id && advisorById.value.has(persona.advisor_id)
    ? colorOf(persona.advisor_id)
    : /^#[0-9a-f]{6}$/i.test(persona.color) ? persona.color : colorOf(persona.slug));

/** Where one talks to it: the conversation that there is, or the beginning of one. */
function personaPath(persona, recipe) {
  const begin = `/?with=${encodeURIComponent(persona.slug)}`;
  if (recipe) return `${begin}&recipe=${encodeURIComponent(recipe)}`;
  return persona.conversation_id ? `/c/${persona.conversation_id}` : begin;
}

/** Before a conversation by a copy of the companion's recipe: with whom. */
export function ChooseAlone({ recipe }) {
  return html`
    <header class="top"><span><b>A new conversation</b> · ${recipe}</span></header>
    <div class="flow begin"><div class="welcome short"><${Companions} recipe=${recipe} short /></div></div>`;
}

/** A conversation with one of them, to choose instead of a council; `recipe`: a copy of theirs. */
export function Companions({ short = false, recipe = "" }) {
  useEffect(() => { loadPersonas().catch(() => {}); }, []);
  if (!personas.value?.length) return null;
  return html`
    <section class=${short ? "companions short" : "companions"} aria-labelledby="companions">
      <h2 id="companions">${recipe ? "Whom would you like to talk with?" : "Or talk with one alone"}</h2>
      ${!short && html`
        <p class="soft">
          A companion is one voice in one column. It remembers you from one session to the next, and you see what it
          will use.
        </p>`}
      <ul class="ones">
        ${personas.value.map((persona) => html`
          <li key=${persona.slug} data-c style=${{ "--c": personaColor(persona) }}>
            <a class="by" href=${personaPath(persona, recipe)}>
              <span class="mono" aria-hidden="true">${monogram(persona.name)}</span>
              ${persona.name}
              ${persona.conversation_id && !recipe && html`<span class="go-on"> go on</span>`}
            </a>
            <p>${persona.about}</p>
          </li>`)}
      </ul>
    </section>`;
}

// Where the strip will stand; what it shows is fetched when the page stands still.
export const Strip = lazy(import.meta.resolve("./strip.js"), "Strip", { quiet: true });
