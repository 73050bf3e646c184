// How far the judges may be trusted: how often a person who looked at their verdicts agreed.
import { api } from "../api.js";
import { useLoaded } from "../load.js";
import { html } from "../ui.js";
import { plural } from "../words.js";
import { percent } from "./assertion-rates.js";

const agreed = ({ both_pass, both_fail }) => both_pass + both_fail;
const kappa = (value) => (value === null ? "–" : value.toFixed(2));

/** Nothing before a person has said anything, and nothing in the way when it cannot be fetched. */
export function Agreement({ advisor }) {
  const [found] = useLoaded(() => api.get(`/api/agreement?advisor=${encodeURIComponent(advisor.id)}`), [advisor.id]);
  if (!found?.overall.n) return null;
  return html`
    <section class="agreement" aria-label="You and the judge">
      <h2>You and the judge</h2>
      <p class="soft">You have looked at ${plural(found.overall.n, "verdict")} of a judge and agreed with ${agreed(found.overall)}.</p>
      <details class="more"><summary>By judge and assertion</summary>
        <div class="wide-table"><table class="set">
          <thead><tr><th>Judge</th><th class="num">Agreed</th><th class="num">Where it holds</th><th class="num">Where it does not</th><th class="num"><abbr title="Agreement beyond chance: 1 is perfect, 0 is luck">κ</abbr></th></tr></thead>
          <tbody>
            ${found.judges.map((one) => html`<tr key=${one.judge_hash} class="judge"><td>${one.judge} <span class="stamp" title="The judge's instructions">${one.judge_hash.slice(0, 6)}</span></td><${Figures} of=${one.agreement} /></tr>`)}
            ${found.assertions.map((one) => html`<tr key=${one.assertion_id}><td>${one.text}</td><${Figures} of=${one.agreement} /></tr>`)}
          </tbody>
        </table></div>
      </details>
    </section>`;
}

const Figures = ({ of }) => html`<td class="num">${agreed(of)} of ${of.n}</td><td class="num">${percent(of.tpr)}</td><td class="num">${percent(of.tnr)}</td><td class="num">${kappa(of.kappa)}</td>`;
