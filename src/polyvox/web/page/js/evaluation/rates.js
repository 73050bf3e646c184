// @ts-check
// How the pass rate went over prompt versions: a point for each run, with its interval.
import { api } from "../api.js";
import { Failed, useLoaded } from "../load.js";
import { html, useLayoutEffect, useRef, useState } from "../ui.js";
import { plural, stamp } from "../words.js";

export const percent = (rate) => (rate === null || rate === undefined ? "–" : `${Math.round(rate * 100)} %`);

/** A rate with its interval as a line: where the truth may lie. */
export function Interval({ rate, low, high }) {
  if (rate === null || rate === undefined) return html`<span class="interval none" aria-hidden="true"></span>`;
  return html`
    <span class="interval" role="img"
      aria-label=${`${percent(rate)}, somewhere between ${percent(low)} and ${percent(high)}`}>
      <i class="range" style=${{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }}></i>
      <i class="at" style=${{ left: `${rate * 100}%` }}></i>
    </span>`;
}

function Plot({ points }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const look = () => setWidth(box.current?.clientWidth ?? 0);
    const watch = new ResizeObserver(look);
    watch.observe(box.current);
    look();
    return () => watch.disconnect();
  }, []);
  const [left, right, head, height, foot] = [48, 22, 10, 190, 26];
  const inset = 22;
  const base = height - foot;
  const x = (i) =>
    left + inset + (points.length === 1 ? 0.5 : i / (points.length - 1)) * Math.max(1, width - left - inset - right);
  const y = (rate) => base - rate * (base - head);
  const last = points.at(-1);
  const pointText = ({ rate, version_number: version }) => `${percent(rate)} with version ${version ?? "?"}`;
  const says = `Pass rate over ${points.length} runs: from ${pointText(points[0])} to ${pointText(last)}.`;
  const every = Math.max(1, Math.ceil((points.length * 40) / Math.max(1, width - left - right)));
  return html`
    <figure class="plot rates" ref=${box}>
      ${width > 0 && html`
        <svg role="img" aria-label=${says} width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}>
          ${[0, 0.5, 1].map((rate) => html`
            <g key=${rate}>
              <line class=${rate ? "grid" : "axis"} x1=${left} x2=${width} y1=${Math.round(y(rate)) + 0.5}
                y2=${Math.round(y(rate)) + 0.5} />
              <text class="mark" x=${left - 8} y=${y(rate) + 4} text-anchor="end">${percent(rate)}</text>
            </g>`)}
          <polyline class="way" points=${points.map((point, i) => `${x(i)},${y(point.rate)}`).join(" ")} />
          ${points.map((point, i) => html`
            <g key=${point.evaluation_id} class="point">
              <line class="range" x1=${x(i)} x2=${x(i)} y1=${y(point.high)} y2=${y(point.low)} />
              <circle cx=${x(i)} cy=${y(point.rate)} r="4" />
              ${(points.length - 1 - i) % every === 0 && html`
                <text class="mark" x=${x(i)} y=${height - 8} text-anchor="middle">
                  v${point.version_number ?? "?"}
                </text>`}
            </g>`)}
        </svg>`}
    </figure>`;
}

export function PassRates({ advisor }) {
  const [loaded, failure, look] = useLoaded(() => api.get(`/api/advisors/${advisor.id}/passrates`), [advisor.id]);
  if (failure) return html`<${Failed} failure=${failure} again=${look} />`;
  const points = (loaded?.points ?? []).filter((point) => point.rate !== null);
  if (!points.length) return null;
  return html`
    <h2>Over its prompt versions</h2>
    <${Plot} points=${points.slice(-40)} />
    <details class="more"><summary>As a table</summary>
      <table class="set">
        <thead><tr><th>When</th><th>Version</th><th class="num">Holds</th><th class="num">Between</th></tr></thead>
        <tbody>
          ${points.map((point) => html`
            <tr key=${point.evaluation_id}>
              <td>
                <a href=${`/assertions/${advisor.slug}/runs/${point.evaluation_id}`}>${stamp(point.created_at)}</a>
              </td>
              <td>${point.version_number ?? "–"}</td>
              <td class="num">${percent(point.rate)} of ${point.n}</td>
              <td class="num">${percent(point.low)} – ${percent(point.high)}</td>
            </tr>`)}
        </tbody>
        </table>
    </details>`;
}

// How far the judges may be trusted: how often a person who looked at their verdicts agreed.
const agreedCount = ({ both_pass, both_fail }) => both_pass + both_fail;
const kappa = (value) => (value === null ? "–" : value.toFixed(2));

/** Nothing before a person has said anything, and nothing in the way when it cannot be fetched. */
export function Agreement({ advisor }) {
  const [agreement] = useLoaded(() => api.get(`/api/agreement?advisor=${encodeURIComponent(advisor.id)}`), [
    advisor.id
  ]);
  if (!agreement?.overall.n) return null;
  return html`
    <section class="agreement" aria-label="You and the judge">
      <h2>You and the judge</h2>
      <p class="soft">
        You have looked at ${plural(
          agreement.overall.n, "verdict"
        )} of a judge and agreed with ${agreedCount(agreement.overall)}.
      </p>
      <details class="more"><summary>By judge and assertion</summary>
        <div class="wide-table"><table class="set">
          <thead>
            <tr>
              <th>Judge</th>
              <th class="num">Agreed</th>
              <th class="num">Where it holds</th>
              <th class="num">Where it does not</th>
              <th class="num"><abbr title="Agreement beyond chance: 1 is perfect, 0 is luck">κ</abbr></th>
            </tr>
          </thead>
          <tbody>
            ${agreement.judges.map((judge) => html`
              <tr key=${judge.judge_hash} class="judge">
                <td>
                  ${judge.judge} <span class="stamp" title="The judge's instructions">
                    ${judge.judge_hash.slice(0, 6)}
                  </span>
                </td>
                <${Figures} of=${judge.agreement} />
              </tr>`)}
            ${agreement.assertions.map((assertion) => html`
              <tr key=${assertion.assertion_id}>
                <td>${assertion.text}</td><${Figures} of=${assertion.agreement} />
              </tr>`)}
          </tbody>
        </table></div>
      </details>
    </section>`;
}

const Figures = ({ of }) => html`
  <td class="num">${agreedCount(of)} of ${of.n}</td>
  <td class="num">${percent(of.tpr)}</td>
  <td class="num">${percent(of.tnr)}</td>
  <td class="num">${kappa(of.kappa)}</td>`;
