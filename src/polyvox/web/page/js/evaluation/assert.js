// @ts-check
// From an answer to what should hold of answers like it: write assertions, take suggestions, judge.
import { api } from "../api.js";
import { Dialog, notify } from "../dialog.js";
import { errorOf, Field, useForm } from "../form.js";
import { advisorById } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { pref } from "../prefs.js";
import { html, useEffect, useState } from "../ui.js";
import { plural } from "../words.js";
import { PhaseField } from "./assertion.js";
import { markAsserted, markOutcome } from "./marks.js";
import { outcomeOf, UNDER_WAY, useRun, Verdict } from "./verdicts.js";

const SHORT = 80;
const HINT = "One per line, each a single thing that can be seen in the answer: "
  + "“Names one next step”, “Asks before it advises”.";

/** Ways to begin from a passage that was selected. */
function Passage({ passage, onPick }) {
  if (!passage) return null;
  const text = passage.length > SHORT ? `${passage.slice(0, SHORT - 1).trimEnd()}…` : passage;
  const whole = text === passage;
  return html`
    <div class="passage">
      <blockquote>${passage}</blockquote>
      ${whole && html`
        <div class="tools">
          <button type="button" onClick=${() => onPick({ kind: "contains", args: { text }, text: `Says “${text}”` })}>
            Should say this
          </button>
          <button type="button"
            onClick=${() => onPick({ kind: "lacks", args: { text }, text: `Does not say “${text}”` })}>
            Should not say this
          </button>
        </div>`}
    </div>`;
}

/** Proposals by rules and a model; nothing is kept before it is picked. */
function Suggestions({ answer, picked, onPick }) {
  const [suggested, setSuggested] = useState(null);
  const { busy, failure, submit } = useForm(async () => {
    setSuggested(await api.post(`/api/answers/${answer.id}/assertions/suggest`));
  });
  const isPicked = (suggestion) => picked.some((each) => each.text === suggestion.text);
  const fresh = (suggested?.suggestions ?? []).filter((suggestion) => !isPicked(suggestion));
  return html`
    <div class="suggested">
      <button type="button" class="quiet" disabled=${busy} onClick=${submit}>
        ${busy ? "Reading the answer …" : suggested ? "Suggest others" : "Suggest some from this answer"}
      </button>
      ${failure && html`<${Failed} failure=${failure} />`}
      ${suggested?.note && html`<p class="soft">${suggested.note}</p>`}
      ${suggested && !fresh.length && html`<p class="soft" role="status">Nothing more to suggest.</p>`}
      <ul class="takes">
        ${fresh.map((suggestion) => html`
          <li key=${suggestion.text}>
            <button type="button" class="take" onClick=${() => onPick(suggestion)}>
              ${suggestion.text}
            </button> <span class="stamp">${suggestion.kind === "judge" ? "for a judge" : "in code"}</span>
          </li>`)}
      </ul>
    </div>`;
}

function Draft({ answer, passage, onKept }) {
  const kept = pref(`draft.assert.${answer.id}`, "");
  const [picked, setPicked] = useState([]);
  const [phase, setPhase] = useState(null); // null: the answer's own
  const about = { answer_id: answer.id, ...(phase ? { phase } : {}) };
  const text = kept.value;
  const lines = text.split("\n").filter((line) => line.trim());
  const count = lines.length + picked.length;
  const write = (value) => { kept.value = value; };
  const pick = (suggestion) =>
    setPicked((before) => (before.some((each) => each.text === suggestion.text) ? before : [...before, suggestion]));
  const { busy, failure, submit } = useForm(async () => {
    if (lines.length) await api.post("/api/assertions", { ...about, text });
    write("");
    for (const { kind, args, text: words } of picked) {
      await api.post("/api/assertions", { ...about, text: words, kind, args });
      setPicked((before) => before.filter((each) => each.text !== words));
    }
    notify(`${plural(count, "assertion")} kept.`);
    onKept();
  });
  return html`
    <form class="stack asserting" onSubmit=${submit}>
      <${Passage} passage=${passage} onPick=${pick} />
      <${Field} label="What should hold of answers like this?"
        hint=${HINT}>
        ${(attributes) => html`
          <textarea class="box" rows="3" autofocus ...${attributes} value=${text}
            onInput=${(event) => write(event.currentTarget.value)}></textarea>`}
      <//>
      <${PhaseField} value=${phase} otherwise="As in this answer" wrong=${errorOf(failure, "phase")}
        onChange=${setPhase} />
      <${Lint} about=${about} text=${text} onText=${write} onCheck=${pick} />
      ${picked.length > 0 && html`
        <ul class="taken" aria-label="To be kept">
          ${picked.map((suggestion) => html`
            <li key=${suggestion.text}>
              ${suggestion.text} <button type="button" class="inline" aria-label=${`Leave out: ${suggestion.text}`}
                onClick=${() => setPicked(picked.filter((each) => each !== suggestion))}>
                leave out
              </button>
            </li>`)}
        </ul>`}
      <${Suggestions} answer=${answer} picked=${picked} onPick=${pick} />
      ${failure && html`<${Failed} failure=${failure} />`}
      <div class="row end">
        <button type="submit" class="solid" disabled=${busy || !count}>
          ${busy ? "Keeping …" : count ? `Keep ${plural(count, "assertion")}` : "Keep"}
        </button>
      </div>
    </form>`;
}

/** How this very answer stands against its advisor's assertions, and having it judged. */
export function Standing({ answer, again }) {
  const [standing, failure, look] = useLoaded(() => api.get(`/api/answers/${answer.id}/verdicts`), [answer.id, again]);
  const [begun, setBegun] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const [run, lost] = useRun(begun && `/api/evaluations/${begun.id}?verdicts=false`, begun);
  const going = run && UNDER_WAY.has(run.state);
  useEffect(() => { // one that was begun before, here or in another tab
    const mine = (evaluation) => evaluation.answer_id === answer.id && UNDER_WAY.has(evaluation.state);
    api.get(`/api/evaluations?limit=20&advisor=${answer.data.peek().advisor_id}`)
      .then(({ items }) => setBegun((now) => now ?? items.find(mine) ?? null), () => {});
  }, [answer.id]);
  useEffect(() => { if (run && !going) look(); }, [run?.id, going]);
  useEffect(() => { if (standing) markOutcome(answer.id, standing.outcome); }, [standing]);
  const judge = async () => {
    setTrouble(null);
    try {
      setBegun(await api.post("/api/evaluations", { answer_id: answer.id, mode: "judge" }));
    } catch (error) {
      setTrouble(error);
    }
  };
  const change = (now) => {
    const verdicts = standing.verdicts.map((verdict) => (verdict.id === now.id ? now : verdict));
    standing.verdicts.splice(0, standing.verdicts.length, ...verdicts);
    look();
  };
  const ended = run && !going ? run : null;
  const passed = (standing?.verdicts ?? []).filter((verdict) => outcomeOf(verdict) === "pass").length;
  return html`
    <section class="standing" aria-label="How this answer stands">
      <div class="row">
        <button type="button" class="plain" disabled=${going} onClick=${judge}>
          ${going
            ? `Judging … ${run.done} of ${run.total}`
            : standing?.verdicts.length ? "Judge it again" : "Judge this answer"}
        </button>
        ${standing?.verdicts.length > 0 && html`
          <span class="soft">
            ${plural(passed, "assertion")} of ${standing.verdicts.length} ${passed === 1 ? "holds" : "hold"}
          </span>`}
      </div>
      ${[failure, trouble, lost].filter(Boolean)
        .map((problem, at) => html`<${Failed} key=${at} failure=${problem} />`)}
      ${(run?.warnings ?? []).map((warning) => html`<p class="remark" key=${warning}>${warning}</p>`)}
      ${ended?.message && html`<p class="remark" role="status">${ended.message}</p>`}
      ${!standing && !failure && html`<${Waiting}>Looking …<//>`}
      ${standing && html`
        <ul class="verdicts" aria-live="polite">
          ${standing.verdicts.map((verdict) => html`
            <${Verdict} key=${verdict.id} verdict=${verdict} onChange=${change} />`)}
        </ul>`}
    </section>`;
}

/** Those drawn from this answer; editing them is done where all of an advisor's are. */
function DrawnAssertions({ items, slug }) {
  return html`
    <section class="drawn" aria-label="Assertions drawn from this answer">
      ${items.length > 0 && html`
        <h3>Drawn from this answer</h3>
        <ul>
          ${items.map((assertion) => html`
            <li key=${assertion.id} class=${assertion.active ? "" : "soft"}>
              ${assertion.text}${!assertion.active && html` <span class="mark">not in use</span>`}
            </li>`)}
        </ul>`}
      ${slug && html`
        <p><a href=${`/assertions/${slug}`}>All assertions of this advisor: run them, improve its prompt</a></p>`}
    </section>`;
}

export function Assert({ answer, passage = "", onClose }) {
  const { name, advisor_id } = answer.data.value;
  const [items, failure, look] = useLoaded(() => api.get(`/api/answers/${answer.id}/assertions`), [answer.id]);
  useEffect(() => { if (items) markAsserted(answer.id, items.length > 0); }, [items]);
  const slug = advisorById.value.get(advisor_id)?.slug;
  return html`
    <${Dialog} title=${`How ${name} should answer`} onClose=${onClose} wide>
      <div class="stack">
        <${Draft} answer=${answer} passage=${passage} onKept=${look} />
        ${failure && html`<${Failed} failure=${failure} again=${look} />`}
        ${items && html`<${DrawnAssertions} items=${items} slug=${slug} />`}
        ${items && html`<${Standing} answer=${answer} again=${items.length} />`}
      </div>
    <//>`;
}

// Writing assertions: one per line. On request a model gives a second opinion on each, and offers
// checks in code where they say the same.
const RULES = {
  vague: "Vague", compound: "Several in one", negated: "Said by what it is not", contradictory: "Contradiction"
};

/** The text with one line of it in other words (several: split). */
const without = (text, line, instead = []) =>
  text.split("\n").flatMap((written) => {
    const bare = written.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim();
    return [written.trim(), bare].includes(line.trim()) ? instead : [written];
  }).join("\n");

export function Lint({ about, text, onText, onCheck }) {
  const [opinion, setOpinion] = useState(null);
  const { busy, failure, submit } = useForm(async () => {
    setOpinion(await api.post("/api/assertions/lint", { text, ...about }));
  });
  if (!text.trim()) return null;
  const telling = (opinion?.items ?? [])
    .filter((item) => text.includes(item.text) && (item.findings.length || item.check));
  return html`
    <div>
      <button type="button" class="inline" disabled=${busy} onClick=${submit}>
        ${busy ? "Looking …" : "Ask for a second opinion"}
      </button>
      ${opinion && !telling.length && html` <span class="stamp">${opinion.note || "Nothing to warn of."}</span>`}
    </div>
    ${failure && html`<${Failed} failure=${failure} />`}
    ${telling.length > 0 && html`
      <ul class="lint" aria-label="A second opinion">
        ${telling.map((item) => html`
          <li key=${item.text}>
            <p class="says">${item.text}</p>
            ${item.findings.map((each, at) => html`
              <p key=${at}><b>${RULES[each.rule] ?? each.rule}.</b> ${each.message}
                ${each.split?.length > 0 && html` <button type="button" class="inline"
                  onClick=${() => onText(without(text, item.text, each.split))}>
                  Make it ${each.split.length}: ${each.split.map((part) => `“${part}”`).join(", ")}
                </button>`}
                </p>`)}
            ${item.check && html`
              <p>
                This can be checked in code, at no cost and without a judge. <button type="button" class="inline"
                  onClick=${() => { onText(without(text, item.text)); onCheck(item.check); }}>
                  Check “${item.check.text}” in code
                </button>
              </p>`}
          </li>`)}
      </ul>`}`;
}
