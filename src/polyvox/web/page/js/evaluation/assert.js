// From an answer to what should hold of answers like it: write assertions, take suggestions, judge.
import { api } from "../api.js";
import { Dialog, tell } from "../dialog.js";
import { Field } from "../form.js";
import { byId } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { pref } from "../prefs.js";
import { html, useEffect, useState } from "../ui.js";
import { plural } from "../words.js";
import { noteAsserted, noteStanding } from "./marks.js";
import { counts, UNDER_WAY, useRun, Verdict } from "./verdicts.js";

const SHORT = 80;

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
          <button type="button" onClick=${() => onPick({ kind: "contains", args: { text }, text: `Says “${text}”` })}>Should say this</button>
          <button type="button" onClick=${() => onPick({ kind: "lacks", args: { text }, text: `Does not say “${text}”` })}>Should not say this</button>
        </div>`}
    </div>`;
}

/** Proposals by rules and a model; nothing is kept before it is picked. */
function Suggestions({ answer, picked, onPick }) {
  const [found, setFound] = useState(null);
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setFailure(null);
    try {
      setFound(await api.post(`/api/answers/${answer.id}/assertions/suggest`));
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  const fresh = (found?.suggestions ?? []).filter((one) => !picked.some((each) => each.text === one.text));
  return html`
    <div class="suggested">
      <button type="button" class="quiet" disabled=${busy} onClick=${ask}>${busy ? "Reading the answer …" : found ? "Suggest others" : "Suggest some from this answer"}</button>
      ${failure && html`<${Failed} failure=${failure} />`}
      ${found?.note && html`<p class="soft">${found.note}</p>`}
      ${found && !fresh.length && html`<p class="soft" role="status">Nothing more to suggest.</p>`}
      <ul class="takes">${fresh.map((one) => html`<li key=${one.text}><button type="button" class="take" onClick=${() => onPick(one)}>${one.text}</button> <span class="stamp">${one.kind === "judge" ? "for a judge" : "in code"}</span></li>`)}</ul>
    </div>`;
}

function Draft({ answer, passage, onKept }) {
  const kept = pref(`draft.assert.${answer.id}`, "");
  const [picked, setPicked] = useState([]);
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const text = kept.value;
  const lines = text.split("\n").filter((line) => line.trim());
  const count = lines.length + picked.length;
  const write = (value) => { kept.value = value; };
  const pick = (one) => setPicked((before) => (before.some((each) => each.text === one.text) ? before : [...before, one]));
  const keep = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      if (lines.length) await api.post("/api/assertions", { answer_id: answer.id, text });
      write("");
      for (const { kind, args, text: words } of picked) {
        await api.post("/api/assertions", { answer_id: answer.id, text: words, kind, args });
        setPicked((before) => before.filter((each) => each.text !== words));
      }
      tell(`${plural(count, "assertion")} kept.`);
      onKept();
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return html`
    <form class="stack asserting" onSubmit=${keep}>
      <${Passage} passage=${passage} onPick=${pick} />
      <${Field} label="What should hold of answers like this?" hint="One per line, each a single thing that can be seen in the answer: “Names one next step”, “Asks before it advises”.">
        ${(attributes) => html`<textarea class="box" rows="3" autofocus ...${attributes} value=${text} onInput=${(event) => write(event.currentTarget.value)}></textarea>`}
      <//>
      <${Lint} about=${{ answer_id: answer.id }} text=${text} onText=${write} onCheck=${pick} />
      ${picked.length > 0 && html`<ul class="taken" aria-label="To be kept">${picked.map((one) => html`<li key=${one.text}>${one.text} <button type="button" class="inline" aria-label=${`Leave out: ${one.text}`} onClick=${() => setPicked(picked.filter((each) => each !== one))}>leave out</button></li>`)}</ul>`}
      <${Suggestions} answer=${answer} picked=${picked} onPick=${pick} />
      ${failure && html`<${Failed} failure=${failure} />`}
      <div class="row end"><button type="submit" class="solid" disabled=${busy || !count}>${busy ? "Keeping …" : count ? `Keep ${plural(count, "assertion")}` : "Keep"}</button></div>
    </form>`;
}

/** How this very answer stands against its advisor's assertions, and having it judged. */
export function Standing({ answer, again }) {
  const [said, failure, look] = useLoaded(() => api.get(`/api/answers/${answer.id}/verdicts`), [answer.id, again]);
  const [begun, setBegun] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const [run, lost] = useRun(begun && `/api/evaluations/${begun.id}?verdicts=false`, begun);
  const going = run && UNDER_WAY.has(run.state);
  useEffect(() => { // one that was begun before, here or in another tab
    const mine = (one) => one.answer_id === answer.id && UNDER_WAY.has(one.state);
    api.get(`/api/evaluations?limit=20&advisor=${answer.data.peek().advisor_id}`).then(({ items }) => setBegun((now) => now ?? items.find(mine) ?? null), () => {});
  }, [answer.id]);
  useEffect(() => { if (run && !going) look(); }, [run?.id, going]);
  useEffect(() => { if (said) noteStanding(answer.id, said.outcome); }, [said]);
  const judge = async () => {
    setTrouble(null);
    try {
      setBegun(await api.post("/api/evaluations", { answer_id: answer.id, mode: "judge" }));
    } catch (error) {
      setTrouble(error);
    }
  };
  const change = (now) => {
    const verdicts = said.verdicts.map((one) => (one.id === now.id ? now : one));
    said.verdicts.splice(0, said.verdicts.length, ...verdicts);
    look();
  };
  const ended = run && !going ? run : null;
  return html`
    <section class="standing" aria-label="How this answer stands">
      <div class="row">
        <button type="button" class="plain" disabled=${going} onClick=${judge}>${going ? `Judging … ${run.done} of ${run.total}` : said?.verdicts.length ? "Judge it again" : "Judge this answer"}</button>
        ${said?.verdicts.length > 0 && html`<span class="soft">${plural(said.verdicts.filter((one) => counts(one) === "pass").length, "assertion")} of ${said.verdicts.length} ${said.verdicts.filter((one) => counts(one) === "pass").length === 1 ? "holds" : "hold"}</span>`}
      </div>
      ${[failure, trouble, lost].filter(Boolean).map((one, at) => html`<${Failed} key=${at} failure=${one} />`)}
      ${(run?.warnings ?? []).map((one) => html`<p class="remark" key=${one}>${one}</p>`)}
      ${ended?.message && html`<p class="remark" role="status">${ended.message}</p>`}
      ${!said && !failure && html`<${Waiting}>Looking …<//>`}
      ${said && html`<ul class="verdicts" aria-live="polite">${said.verdicts.map((one) => html`<${Verdict} key=${one.id} verdict=${one} onChange=${change} />`)}</ul>`}
    </section>`;
}

/** Those drawn from this answer; editing them is done where all of an advisor's are. */
function Drawn({ items, slug }) {
  return html`
    <section class="drawn" aria-label="Assertions drawn from this answer">
      ${items.length > 0 && html`<h3>Drawn from this answer</h3><ul>${items.map((one) => html`<li key=${one.id} class=${one.active ? "" : "soft"}>${one.text}${!one.active && html` <span class="mark">not in use</span>`}</li>`)}</ul>`}
      ${slug && html`<p><a href=${`/assertions/${slug}`}>All assertions of this advisor: run them, improve its prompt</a></p>`}
    </section>`;
}

export function Assert({ answer, passage = "", onClose }) {
  const { name, advisor_id } = answer.data.value;
  const [items, failure, look] = useLoaded(() => api.get(`/api/answers/${answer.id}/assertions`), [answer.id]);
  useEffect(() => { if (items) noteAsserted(answer.id, items.length > 0); }, [items]);
  const slug = byId.value.get(advisor_id)?.slug;
  return html`
    <${Dialog} title=${`How ${name} should answer`} onClose=${onClose} wide>
      <div class="stack">
        <${Draft} answer=${answer} passage=${passage} onKept=${look} />
        ${failure && html`<${Failed} failure=${failure} again=${look} />`}
        ${items && html`<${Drawn} items=${items} slug=${slug} />`}
        ${items && html`<${Standing} answer=${answer} again=${items.length} />`}
      </div>
    <//>`;
}

// Writing assertions: one per line. On request a model gives a second opinion on each, and offers
// checks in code where they say the same.
const RULES = { vague: "Vague", compound: "Several in one", negated: "Said by what it is not", contradictory: "Against another" };

/** The text with one line of it in other words (several: split). */
const without = (text, line, instead = []) =>
  text.split("\n").flatMap((one) => (one.trim() === line.trim() || one.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim() === line.trim() ? instead : [one])).join("\n");

export function Lint({ about, text, onText, onCheck }) {
  const [opinion, setOpinion] = useState(null);
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  if (!text.trim()) return null;
  const ask = async () => {
    setBusy(true);
    setFailure(null);
    try {
      setOpinion(await api.post("/api/assertions/lint", { text, ...about }));
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  const telling = (opinion?.items ?? []).filter((one) => text.includes(one.text) && (one.findings.length || one.check));
  return html`
    <div><button type="button" class="inline" disabled=${busy} onClick=${ask}>${busy ? "Looking …" : "Ask for a second opinion"}</button>
      ${opinion && !telling.length && html` <span class="stamp">${opinion.note || "Nothing to warn of."}</span>`}</div>
    ${failure && html`<${Failed} failure=${failure} />`}
    ${telling.length > 0 && html`
    <ul class="lint" aria-label="A second opinion">
      ${telling.map((one) => html`
        <li key=${one.text}>
          <p class="says">${one.text}</p>
          ${one.findings.map((each, at) => html`
            <p key=${at}><b>${RULES[each.rule] ?? each.rule}.</b> ${each.message}
              ${each.split?.length > 0 && html` <button type="button" class="inline" onClick=${() => onText(without(text, one.text, each.split))}>Make it ${each.split.length}: ${each.split.map((part) => `“${part}”`).join(", ")}</button>`}</p>`)}
          ${one.check && html`<p>This can be checked in code, at no cost and without a judge. <button type="button" class="inline" onClick=${() => { onText(without(text, one.text)); onCheck(one.check); }}>Check “${one.check.text}” in code</button></p>`}
        </li>`)}
    </ul>`}`;
}
