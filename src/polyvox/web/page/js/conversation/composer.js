// @ts-check
// The prompt line: who is asked, what is asked, what it will cost.
import { api } from "../api.js";
import { advisors, colorOf, companionRecipes, conversations, labelOf } from "../lists.js";
import { enterSends, pref } from "../prefs.js";
import { remember, toRemember } from "../remember.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { money, plural, compactNumber } from "../words.js";
import { stopAll } from "./actions.js";

const PAUSE = 450;

function Chips({ chosen, onChange }) {
  const on = new Set(chosen);
  const ever = useRef(new Set()); // who was once chosen here can be chosen again
  for (const id of chosen) ever.current.add(id);
  // Somebody who is talked to alone sits in no council, unless it was put there.
  const apart = new Set(conversations.value.filter(({ recipe }) => companionRecipes.value.has(recipe))
    .flatMap((conversation) => conversation.advisors ?? []));
  const everyone = advisors.value.filter(({ id, active }) => active || ever.current.has(id) || !apart.has(id));
  const toggle = (id) =>
    onChange(
      advisors.value.filter((advisor) => (advisor.id === id ? !on.has(id) : on.has(advisor.id)))
        .map((advisor) => advisor.id)
    );
  return html`
    <div class="chips" role="group" aria-label="Who is asked">
      ${everyone.map((advisor) => html`
        <button type="button" key=${advisor.id} class="chip" data-c style=${{ "--c": colorOf(advisor.id) }}
          aria-pressed=${on.has(advisor.id)} onClick=${() => toggle(advisor.id)}>
          ${labelOf(advisor)}
        </button>`)}
      <a class="chip add" href="/advisors">Advisors …</a>
    </div>`;
}

/** What a message would take, a moment after the typing pauses. */
function useEstimate(estimate, text, chosen) {
  const [price, setPrice] = useState(null);
  useEffect(() => {
    setPrice(null);
    if (!text.trim() || toRemember(text) !== null) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setPrice(await estimate(text, chosen, abort.signal));
      } catch (error) {
        if (error.name !== "AbortError") setPrice({ trouble: error.message });
      }
    }, PAUSE);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [text, chosen.join()]);
  return price;
}

function Price({ price, asked, who }) {
  if (price?.trouble) return html`<span class="price num">${price.trouble}</span>`;
  if (!price) {
    return html`<span class="price num">${who ?? (asked ? plural(asked, "advisor") : "a plain assistant")}</span>`;
  }
  const known = price.cost !== null;
  const cost = known
    ? `at most ${money(price.cost)}${price.unpriced ? `, ${price.unpriced} unpriced` : ""}`
    : "price unknown";
  return html`
    <span class="price num" role="status">
      ${who ?? plural(price.advisors.length, "advisor")} · ~${compactNumber(price.input_tokens)} tokens<br />${cost}
    </span>`;
}

function Completion({ matches, at, id, onPick }) {
  return html`
    <ul class="completion" role="listbox" id=${id} aria-label="Advisors">
      ${matches.map((advisor, i) => html`
        <li key=${advisor.id} role="option" id=${`${id}-${i}`} aria-selected=${i === at} data-c
          style=${{ "--c": colorOf(advisor.id) }}
          onMouseDown=${(event) => { event.preventDefault(); onPick(advisor); }}>
            <b>@${advisor.slug}</b> ${advisor.name}
          </li>`)}
    </ul>`;
}

/** Beside the prompt line other ways to say something find their place: () => a component's output. */
const COMPOSER_SIDES = [];

/** `draft` names where the unsent text is kept; `send(text, key, now)` sends it or throws; `now`: it is
 * to be answered without further questions. `asking`: advisors would only ask next; then `onAnswer` has
 * the last message answered. `who` is the one voice that is talked to, where there is no choice; `above`
 * what stands over the line. */
export function Composer({
  draft, chosen, onChoose, estimate, send, live, prefill, who, above, asking = false, onAnswer = null
}) {
  const kept = pref(`draft.${draft}`, { text: "", key: "", now: false });
  const text = kept.value.text;
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [quiet, setQuiet] = useState(false);
  const [failure, setFailure] = useState(null);
  const [sending, setSending] = useState(false);
  const box = useRef(null);
  const list = useId();
  const price = useEstimate(estimate, text, chosen);

  const write = (value) => {
    kept.value = { ...kept.peek(), text: value, key: kept.peek().key && value === text ? kept.peek().key : "" };
  };
  useLayoutEffect(() => {
    const area = box.current;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text, price]); // the price beside it makes it narrower
  useEffect(() => {
    if (!prefill?.text) return;
    write(prefill.text);
    box.current.focus();
  }, [prefill]);

  const mention = quiet || who ? null : mentionAt(text, caret);
  const matches = mention ? candidates(advisors.value, mention.word) : [];
  const picked = Math.min(at, Math.max(0, matches.length - 1));
  const pick = (advisor) => {
    const done = complete(text, mention, advisor.slug);
    write(done.text);
    setCaret(done.caret);
    setAt(0);
    requestAnimationFrame(() => { box.current.focus(); box.current.setSelectionRange(done.caret, done.caret); });
  };

  const go = async (now = false) => {
    if (!text.trim() || sending) return;
    setSending(true);
    setFailure(null);
    const before = kept.peek().now === now ? kept.peek().key : "";
    const key = before || crypto.randomUUID?.() || `${Date.now()}-${Math.random()}`;
    kept.value = { text, key, now }; // sent again after a lost reply, it is still one message
    try {
      const fact = toRemember(text);
      await (fact === null ? send(text, key, now) : remember(fact));
      if (kept.peek().text === text) kept.value = { text: "", key: "", now: false };
    } catch (error) {
      setFailure(error);
      if (error.status) kept.value = { text: kept.peek().text, key: "", now: false };
    } finally {
      setSending(false);
    }
  };

  const onKey = (event) => {
    if (event.isComposing) return;
    if (matches.length) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setAt((picked + (event.key === "ArrowDown" ? 1 : -1) + matches.length) % matches.length);
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); pick(matches[picked]); return; }
      if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); setQuiet(true); return; }
    }
    const plain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    const sends = event.key === "Enter"
      && (event.ctrlKey || event.metaKey || (enterSends.value ? plain : event.shiftKey));
    if (sends) { event.preventDefault(); go(); }
  };
  const see = (event) => { setCaret(event.target.selectionStart); };
  const running = live?.running.value.length ?? 0;

  return html`
    <form class="composer" onSubmit=${(event) => { event.preventDefault(); go(); }} aria-label="Your message">
      ${above}
      ${!who && html`<${Chips} chosen=${chosen} onChange=${onChoose} />`}
      ${failure && html`
        <p class="err" role="alert"><b>${failure.message}</b> ${failure.hint} Your message is still here.</p>`}
      <div class="box">
        <span class="caret" aria-hidden="true">›</span>
        <textarea ref=${box} id="composer" rows="1" dir="auto" aria-label="Your message"
          placeholder=${who ? "Say it as it comes" : "Ask, answer, push back.  @ to ask one of them"} value=${text}
          aria-autocomplete="list" aria-controls=${matches.length ? list : undefined}
          aria-activedescendant=${matches.length ? `${list}-${picked}` : undefined}
          onInput=${(event) => { write(event.target.value); see(event); setQuiet(false); }} onKeyDown=${onKey}
          onKeyUp=${see} onClick=${see}></textarea>
        ${matches.length > 0 && html`<${Completion} matches=${matches} at=${picked} id=${list} onPick=${pick} />`}
        <${Price} price=${price} asked=${chosen.length} who=${who} />
        ${COMPOSER_SIDES.map((side) => side())}
        ${running > (who ? 1 : 0) && html`
          <button type="button" class="plain" onClick=${() => stopAll(live)}>Stop all</button>`}
        ${asking && (text.trim() || !running) && html`
          <button type="button" class="plain answer-now" title="Skip the questions and have it answered"
            disabled=${sending || (!text.trim() && !onAnswer)}
            onClick=${() => (text.trim() ? go(true) : onAnswer())}>
            Answer now
          </button>`}
        <button type="submit" class="solid send" disabled=${!text.trim() || sending}>
          ${running ? "Queue" : "Send"}
        </button>
      </div>
      <p class="hint">
        ${enterSends.value ? "Enter sends, Shift+Enter breaks the line" : "Shift+Enter sends, Enter breaks the line"}
        ${running
          ? ` · a message sent now waits for ${who ? "this answer, then sees it" : "these answers, then sees them"}`
          : ""} · /remember TEXT saves something to memory
      </p>
    </form>`;
}

/** The estimate of a conversation that exists, or of one that does not yet. */
export const estimateFor = (conversation, recipe) => (content, chosen, signal) => (conversation
  ? api.post(`/api/conversations/${conversation}/estimate`, {
    content, advisors: mentioned(content) ? undefined : chosen
  }, { signal })
  : api.post("/api/estimate", { content, advisors: mentioned(content) ? undefined : chosen, recipe }, { signal }));

/** Whether a text names someone, so that the server is to decide who is asked. */
const mentioned = (text) =>
  advisors.value.some(({ slug }) => new RegExp(`(?:^|\\s)@${slug}\\b`, "i").test(text));

// Completing @names: who is meant, and what to put in their place.
/** The @word before the caret: `{start, word}` or null. */
function mentionAt(text, caret) {
  const match = /(?:^|[\s(])@([\w-]*)$/u.exec(text.slice(0, caret));
  return match ? { start: caret - match[1].length - 1, word: match[1].toLowerCase() } : null;
}

/** Advisors that a word may mean: by slug or by any word of the name. */
function candidates(advisors, word) {
  const fits = ({ slug, name }) =>
    slug.startsWith(word) || name.toLowerCase().split(/\s+/).some((part) => part.startsWith(word));
  return advisors.filter(fits).slice(0, 8);
}

/** The text with the name filled in, and where the caret then stands. */
export function complete(text, { start, word }, slug) {
  const after = text.slice(start + 1 + word.length);
  const put = `@${slug}${after.startsWith(" ") ? "" : " "}`;
  return { text: text.slice(0, start) + put + after, caret: start + put.length + (after.startsWith(" ") ? 1 : 0) };
}
