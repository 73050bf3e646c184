// @ts-check
// Before the first question: why several voices, who they are, and something to ask them.
import { api } from "../api.js";
import { advisors, colorOf, models } from "../lists.js";
import { html, useEffect, useState } from "../ui.js";
import { monogram } from "../words.js";
import { Companions } from "./companion.js";

const QUESTIONS = [
  "I have a good job and a better idea. How long should the idea have to prove itself before I leap or let it go?",
  "My father should no longer drive, and nobody in the family will say it. Who should, and how?",
  "We keep adding to our product and people like it less. What would you take out first, and how would you know?",
];

/** The first sentence of a text; a text without an end is taken whole. */
function firstSentence(text) {
  const match = /^.+?[.!?…](?=["”’)]*(\s|$))["”’)]*/su.exec(text.trim());
  return match ? match[0] : text.trim();
}

/** In how many answers each advisor only asks; 0 where that is not so, or not known. */
function useAsking() {
  const [asks, setAsks] = useState(0);
  useEffect(() => {
    /** @param {any} reply */
    const read = ({ recipe: { phases } }) =>
      setAsks(phases.length > 1 && phases[0].name === "early" ? phases[0].answers ?? 0 : 0);
    api.get("/api/recipes/council").then(read, () => {});
  }, []);
  return asks;
}

const TIMES = [
  "", "first answer", "first two answers", "first three answers", "first four answers", "first five answers"
];

function Seat({ advisor }) {
  return html`
    <li data-c style=${{ "--c": colorOf(advisor.id) }}>
      <a class="by" href=${`/advisors/${advisor.slug}`}>
        <span class="mono" aria-hidden="true">${monogram(advisor.name)}</span>${advisor.name}
      </a>
      <p>${firstSentence(advisor.prompt || advisor.description)}</p>
    </li>`;
}

function Council({ asks }) {
  const seated = advisors.value.filter((advisor) => advisor.active);
  if (!seated.length) {
    return html`
      <p class="soft">
        Nobody sits on the council, so a plain assistant will answer. <a href="/advisors">Seat an advisor</a>
      </p>`;
  }
  return html`
    <section aria-labelledby="seated">
      <h2 id="seated">The council</h2>
      <p class="soft">
        Each is told what to look for, in words you can read and <a href="/advisors">change</a>. They begin:
      </p>
      <ul class="seats">${seated.map((advisor) => html`<${Seat} key=${advisor.id} advisor=${advisor} />`)}</ul>
      ${asks > 0 && html`
        <p class="soft">
          They listen before they speak: in ${TIMES[asks]
            ? `its ${TIMES[asks]}`
            : `its first ${asks} answers`} each asks you one short question and no more. <a href="/recipes/council">
              Change that
            </a>
        </p>`}
    </section>`;
}

function Starters({ onAsk }) {
  return html`
    <section aria-labelledby="starters">
      <h2 id="starters">Something to begin with</h2>
      <ul class="starters">${QUESTIONS.map((text) => html`
        <li key=${text}>
          <button type="button" onClick=${() => onAsk(text)}><span aria-hidden="true">›</span>${text}</button>
        </li>`)}
        </ul>
    </section>`;
}

const Note = ({ note }) => note && html`
  <aside class="note" aria-labelledby="model-note">
    <h2 id="model-note">A word about the model</h2>
    <p>
      ${firstSentence(note)} With a key from OpenRouter, Anthropic, OpenAI or Gemini, or with Ollama on this machine,
      a capable one takes its place.
    </p>
    <p><a class="plain" href="/settings#keys">Add a key</a></p>
  </aside>`;

function ShortWelcome({ note }) {
  return html`
    <div class="welcome short">
      <h1>What are you turning over?</h1>
      <p class="why soft">
        Say it as you would to someone with time. The circumstances are worth more than the question.
      </p>
      ${note && html`<p class="soft small">${firstSentence(note)} <a href="/settings#keys">Add a key</a></p>`}
      <${Companions} short />
    </div>`;
}

function LongWelcome({ note, onAsk }) {
  const asks = useAsking();
  return html`
    <div class="welcome">
      <h1>One answer sounds certain because nothing stands beside it.</h1>
      <p class="why">
        So here a question goes to several advisors at once, and each writes before it has read the others. Where they
        agree, you may lean a little harder; where they part, you have found what the question is really about.
      </p>
      <div class=${note ? "pair" : ""}><${Starters} onAsk=${onAsk} /><${Note} note=${note} /></div>
      <${Council} asks=${asks} />
      <${Companions} />
    </div>`;
}

/** `onAsk` is given the text of a question that was pressed; `first`: nobody has asked anything yet. */
export function Welcome({ onAsk, first = true }) {
  const note = models.value?.note ?? "";
  return first ? html`<${LongWelcome} note=${note} onAsk=${onAsk} />` : html`<${ShortWelcome} note=${note} />`;
}
