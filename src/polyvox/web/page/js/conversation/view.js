// @ts-check
// The room everything is about: a conversation, or the beginning of one.
import { api } from "../api.js";
import { notifyFailure } from "../dialog.js";
import { AssertionDialog } from "../evaluation/marks.js";
import { advisors, companionRecipes, conversations, learnRecipes, loadConversations } from "../lists.js";
import { UnreachableLine, retryHint } from "../load.js";
import { Nowhere } from "../place.js";
import { pref } from "../prefs.js";
import { go, route } from "../router.js";
import { html, useEffect, useMemo, useState } from "../ui.js";
import { plural } from "../words.js";
import { answerNow, conversationCommands } from "./actions.js";
import { BeginAlone, ChooseAlone, personaOf, Strip } from "./companion.js";
import { Composer, estimateFor } from "./composer.js";
import { Flow, reveal } from "./flow.js";
import { stillAsking, useAsksFirst } from "./phases.js";
import { Live } from "./state.js";
import { Title } from "./title.js";
import { Turn } from "./turn-state.js";
import { Welcome } from "./welcome.js";

const activeIds = () => advisors.value.filter((advisor) => advisor.active).map((advisor) => advisor.id);

/** Announce a turn on the page as soon as the server has it, before its events come. */
function announce(live, content, begun) {
  if (live.turn(begun.turn_id)) return;
  const names = new Map(advisors.peek().map((advisor) => [advisor.id, advisor.name]));
  const last = live.turns.peek().at(-1);
  const now = Date.now() * 1000;
  const answers = begun.answers.map(({ answer_id, advisor_id }) => ({
    answer_id, turn_id: begun.turn_id, conversation_id: live.id, advisor_id,
    name: names.get(advisor_id) ?? "Assistant", kind: "advisor", state: "pending", text: "", thinking: "",
    round: 0, version: 1, replaces: null, current: true, excluded: false, model: "", prompt_version_id: null,
    error: null, usage: null, attempts: [], points: null, created_at: now, ended_at: null,
  }));
  const turn = new Turn({
    id: begun.message_id, turn_id: begun.turn_id, parent: last?.id ?? null,
    depth: (last?.message.peek().depth ?? 0) + 1, session_id: begun.session_id ?? null, role: "user",
    content, state: begun.state, excluded: false, asked: [], said_at: now, created_at: now, answers,
  });
  live.turns.value = [...live.turns.peek(), turn];
  live.index();
}

/** The body of a message: what was set aside of what is remembered goes with it. */
const messageBody = (content, key, vetoed, now) => ({
  content, idempotency_key: key, ...(vetoed.peek().length ? { veto: vetoed.peek() } : {}),
  ...(now ? { answer_now: true } : {})
});

function sender(live) {
  const vetoed = pref(`veto.${live.id}`, []);
  return async (content, key, now) => {
    await live.choosing; // the server asks whom it knows to be chosen
    const begun = await api.post(`/api/conversations/${live.id}/turns`, messageBody(content, key, vetoed, now));
    vetoed.value = [];
    live.sessions.value += 1;
    announce(live, content, begun);
    reveal(live, begun.turn_id);
    loadConversations().catch(() => {});
  };
}

function Connection({ live }) {
  const state = live.connection.value;
  if (state === "gone") return html`<p class="err" role="alert"><b>This conversation was deleted.</b></p>`;
  if (state !== "away") return null;
  return html`<${UnreachableLine} />`;
}

function Conversation({ id }) {
  const live = useMemo(() => new Live(id), [id]);
  useEffect(() => {
    const start = async () => {
      await live.open();
      const wanted = route.peek().hash;
      const last = live.turns.peek().at(-1);
      if (wanted) await reveal(live, wanted.replace(/^turn-/, ""));
      else if (last) await reveal(live, last.id);
    };
    start();
    const quiet = conversationCommands(live);
    return () => { live.close(); quiet(); };
  }, [live]);
  const details = live.details.value;
  const failure = live.failure.value;
  const asks = useAsksFirst(details?.recipe ?? "council");
  useEffect(() => { if (details) learnRecipes([details.recipe]).catch(() => {}); }, [details?.recipe]);
  if (failure?.status === 404 && !details) {
    return html`<header class="top"></header><div class="room"><${Nowhere}>${failure.message}<//></div>`;
  }
  if (!details) {
    return html`
      <p class="hush" role="status">
        ${failure ? html`<b>${failure.message}</b> ${retryHint(failure)}` : "Opening …"}
      </p>`;
  }
  const chosen = details.advisors ?? activeIds();
  const choose = (ids) => {
    live.details.value = { ...details, advisors: ids };
    const save = () => api.patch(`/api/conversations/${id}`, { advisors: ids });
    live.choosing = live.choosing.then(save).catch(notifyFailure);
  };
  const asking = stillAsking(live, chosen, Math.min(details.phases ?? Infinity, asks));
  const above = html`<${Strip} name=${id} query=${`conversation=${id}`} changes=${live.sessions.value} />`;
  return html`
    <${Title} live=${live} />
    <${Connection} live=${live} />
    <${Flow} live=${live} />
    <${AssertionDialog} live=${live} />
    <${Composer} key=${id} draft=${id} chosen=${chosen} onChoose=${choose} estimate=${estimateFor(id)}
      send=${sender(live)} live=${live} who=${personaOf(details)?.name} above=${above} asking=${asking}
      onAnswer=${live.turns.value.length > 0 ? () => answerNow(live) : null} />`;
}

const NOTHING = { key: "", id: "" };
const begun = pref("begun", NOTHING); // whose first message may have arrived though its reply was lost

/** The conversation that a first message goes to: a new one, or the one an earlier try has made. */
async function conversationFor(key, given) {
  const { key: before, id } = begun.peek();
  if (before !== key) return (await api.post("/api/conversations", given)).id;
  if (given.advisors) await api.patch(`/api/conversations/${id}`, { advisors: given.advisors });
  return id;
}

function Beginning() {
  const [picked, pick] = useState(null);
  const [prefill, setPrefill] = useState(null);
  const recipe = route.value.query.get("recipe") ?? undefined;
  const vetoed = pref("veto.new", []);
  const chosen = picked ?? activeIds();
  const asking = useAsksFirst(recipe ?? "council") > 0 && chosen.length > 0;
  const send = async (content, key, now) => {
    const id = await conversationFor(key, { advisors: picked ?? undefined, recipe });
    begun.value = { key, id };
    try {
      await api.post(`/api/conversations/${id}/turns`, messageBody(content, key, vetoed, now));
    } catch (error) {
      if (error.status) {
        begun.value = NOTHING;
        await api.del(`/api/conversations/${id}`).catch(() => {});
      }
      throw error;
    }
    begun.value = NOTHING;
    vetoed.value = [];
    await loadConversations().catch(() => {});
    go(`/c/${id}`);
  };
  const above = html`<${Strip} name="new" query=${`recipe=${encodeURIComponent(recipe ?? "council")}`} />`;
  return html`
    <header class="top"><span><b>A new conversation</b> · ${plural(chosen.length, "advisor")}</span></header>
    <div class="flow begin">
      <${Welcome} onAsk=${(text) => setPrefill({ text })} first=${conversations.value.length === 0} />
    </div>
    <${Composer} key="new" draft="new" chosen=${chosen} onChoose=${pick} estimate=${estimateFor(null, recipe)}
      send=${send} prefill=${prefill} above=${above} asking=${asking} />`;
}

export function ConversationRoom() {
  const { parts, query } = route.value;
  const recipe = query.get("recipe");
  useEffect(() => { if (recipe) learnRecipes([recipe]).catch(() => {}); }, [recipe]);
  if (parts[0] === "c" && parts[1]) return html`<${Conversation} key=${parts[1]} id=${parts[1]} />`;
  const alone = query.get("with");
  if (alone) return html`<${BeginAlone} key=${alone} slug=${alone} recipe=${recipe ?? "companion"} />`;
  if (companionRecipes.value.has(recipe)) return html`<${ChooseAlone} recipe=${recipe} />`;
  return html`<${Beginning} />`;
}
