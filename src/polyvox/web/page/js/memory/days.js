// @ts-check
// Days: what each was about, how it went, and its sessions in a few words.
import { Failed, Waiting } from "../load.js";
import { html } from "../ui.js";
import { plural } from "../words.js";
import { Path } from "./source.js";
import { Long, moment, More, useKeptFocus, usePages } from "./state.js";

const MOODS = ["mood", "energy", "clarity", "connection"];
const SURE = 0.75; // below it the server wants a day looked at; it wants that of others, too

/** How far an analysis is to be trusted. */
function trust({ confidence, themes, metadata: { quality_flag: flag } }) {
  if (flag === "insufficient_data") {
    return `Too little to say more: few words, or no capable model.${themes.length
      ? " The themes are words that came up often."
      : ""}`;
  }
  return flag === "needs_review" && confidence < SURE ? "The model was not sure about this day." : "";
}

const long = (day) =>
  new Date(`${day}T12:00:00`).toLocaleDateString("en-GB", {
    weekday: "long", day: "numeric", month: "long", year: "numeric"
  });

function Scores({ scores }) {
  const known = MOODS.filter((name) => typeof scores[name] === "number");
  if (!known.length) return null;
  return html`
    <dl class="scores">${known.map((name) => html`
      <div key=${name}>
        <dt>${name}</dt>
        <dd>
          <span class="bar" aria-hidden="true"><i style=${{ "--part": scores[name] / 10 }}></i></span>
          <span class="num">${scores[name]} of 10</span>
        </dd>
      </div>`)}
      </dl>`;
}

/** A day's sentence for whoever talks with you next, its themes and scores. */
function Analysis({ told }) {
  const messages = told.scores.messages;
  return html`
    ${told.themes.length > 0 && html`
      <p class="themes">${told.themes.map((theme) => html`<span key=${theme}><bdi>${theme}</bdi></span>`)}</p>`}
    ${told.steeringNote && html`
      <p class="note">
        <span class="label">
          For your next conversation
        </span> <span class="noted" dir="auto">${told.steeringNote}</span>
      </p>`}
    <${Scores} scores=${told.scores} />
    <p class="soft small">${messages > 0 && `${plural(messages, "message")} of yours. `}${trust(told)}</p>`;
}

function Summary({ one }) {
  const index = Number((one.covers[0] ?? "").split("#").at(-1)) || 0;
  return html`
    <li><p class="quote" dir="auto"><${Long} text=${one.text} /></p>
      <p class="whence">
        <time class="stamp" datetime=${one.toldAt}>${moment(one.toldAt).slice(11)}</time>
        <${Path} sessionId=${one.sessionId} index=${index} />
        <span class="soft">
          ${one.model ? `summarized by ${one.model}` : "quoted from you: no capable model"}
        </span>
        </p>
        </li>`;
}

function Day({ one }) {
  const id = `day-${one.day}`;
  return html`
    <section class="day-entry" data-entry=${one.day} aria-labelledby=${id}>
      <h2 id=${id}><time datetime=${one.day}>${long(one.day)}</time></h2>
      ${one.analysis
        ? html`<${Analysis} told=${one.analysis} />`
        : html`<p class="soft small">The summary of this day comes when it is over.</p>`}
      ${one.summaries.length > 0 && html`
        <ul class="sessions">
          ${one.summaries.map((each) => html`<${Summary} key=${each.sessionId} one=${each} />`)}
        </ul>`}
    </section>`;
}

export function Days() {
  const {
    items, next, failure, busy, again, more
  } = usePages((limit, before) => `/api/memory/days?limit=${Math.min(
    60, limit
  )}${before ? `&before=${before}` : ""}`, [], ({ day }) => day);
  const [room, toNew] = useKeptFocus();
  if (failure && !items) return html`<${Failed} failure=${failure} again=${again} />`;
  if (!items) return html`<${Waiting}>Loading …<//>`;
  if (!items.length) {
    return html`<div class="empty" role="status"><p>No days yet.</p>
      <p class="soft">Each session is summarized here when it ends, and each day when it is over.</p>
      </div>`;
  }
  return html`
    <div ref=${room}>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      <p class="stamp count" role="status" tabindex="-1">${next ? "The last " : ""}${plural(items.length, "day")}</p>
      ${items.map((one) => html`<${Day} key=${one.day} one=${one} />`)}
      ${next && html`<${More} busy=${busy} toNew=${toNew} onMore=${more}>Show earlier days<//>`}
    </div>`;
}
