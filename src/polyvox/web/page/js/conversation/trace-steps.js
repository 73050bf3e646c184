// How long each step of a turn took, laid along one line of time. It is a table whose rows have bars.
import { html } from "../ui.js";
import { milliseconds, stepName } from "./trace-words.js";

const known = (ms) => typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
const FOUND = ["session_ms", "gate_ms", "brief_ms", "recall_ms"];
const SUMS = new Set([...FOUND, "stt_ms", "context_ms", "first_ms", "llm_ms", "tts_ms", "total_ms"]);

/**
 * Steps with where they begin: `{key, at, ms}`. The server tells durations and one end; what comes
 * before what is the road itself: the session is read, then gate and memory side by side, then recall,
 * then the model.
 */
export function stepsOf(timings) {
  const ms = (key) => (known(timings[key]) ? timings[key] : 0);
  const model = known(timings.llm_ms) && known(timings.total_ms) ? Math.max(0, timings.total_ms - timings.llm_ms) : ms("context_ms");
  const lead = Math.max(0, model - ms("context_ms"));
  const side = lead + ms("session_ms");
  const after = side + Math.max(ms("gate_ms"), ms("brief_ms"));
  const places = { session_ms: lead, gate_ms: side, brief_ms: side, recall_ms: after };
  const others = Object.keys(timings).filter((key) => key.endsWith("_ms") && !SUMS.has(key) && known(timings[key]));
  const found = [
    { key: "stt_ms", at: 0, ms: ms("stt_ms") },
    { key: "wait", at: 0, ms: lead },
    ...FOUND.map((key) => ({ key, at: places[key], ms: ms(key) })),
    ...others.map((key) => ({ key, at: lead, ms: ms(key) })),
    ...writing(timings, model),
    { key: "tts_ms", at: Math.max(0, ms("total_ms") - ms("tts_ms")), ms: ms("tts_ms") },
  ];
  return found.filter((step) => step.ms > 0 || (FOUND.includes(step.key) && known(timings[step.key])));
}

function writing(timings, at) {
  if (!known(timings.llm_ms)) return [];
  if (!known(timings.first_ms)) return [{ key: "llm_ms", at, ms: timings.llm_ms }];
  const first = Math.min(timings.first_ms, timings.llm_ms);
  return [{ key: "first", at, ms: first }, { key: "write", at: at + first, ms: timings.llm_ms - first }];
}

const WAITS = new Set(["wait", "first"]); // nothing is done here but waiting: drawn hollow

export function Steps({ timings }) {
  const steps = stepsOf(timings);
  if (!steps.length) return html`<p class="soft">Nothing was measured: the answer has not ended.</p>`;
  const end = Math.max(timings.total_ms ?? 0, ...steps.map((step) => step.at + step.ms)) || 1;
  const part = (ms) => `${Math.min(100, (ms / end) * 100).toFixed(2)}%`;
  return html`
    <table class="steps">
      <caption class="aside">Each step of the turn, when it began and how long it took, in milliseconds</caption>
      <thead class="aside"><tr><th scope="col">Step</th><th scope="col">On the line of time</th><th scope="col">Began after</th><th scope="col">Took</th></tr></thead>
      <tbody>
        ${steps.map(({ key, at, ms }) => html`
          <tr key=${key}>
            <th scope="row">${stepName(key)}</th>
            <td class="lane" aria-hidden="true"><i class=${WAITS.has(key) ? "hollow" : ""} style=${{ left: part(at), width: part(ms) }}></i></td>
            <td class="num at">${milliseconds(at)}</td>
            <td class="num">${milliseconds(ms)}</td>
          </tr>`)}
      </tbody>
      <tfoot><tr><th scope="row">From your message to its end</th><td class="lane" aria-hidden="true"></td><td class="num at"></td><td class="num">${known(timings.total_ms) ? milliseconds(timings.total_ms) : "still going on"}</td></tr></tfoot>
    </table>`;
}
