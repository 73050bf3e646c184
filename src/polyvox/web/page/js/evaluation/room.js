// @ts-check
// Assertions: how each advisor should answer, whether it does, and a prompt that does better.
import { Seal } from "../advisors/list.js";
import { advisors } from "../lists.js";
import { usePlace } from "../place.js";
import { html } from "../ui.js";
import { ImprovePage } from "./improve.js";
import { AdvisorAssertions } from "./list.js";
import { OptimisationPage } from "./optimisation.js";
import { RunPage } from "./run.js";

function Index() {
  usePlace("Assertions");
  return html`
    <div class="room assertions">
      <header>
        <h1>Assertions</h1>
        <p>
          Write down how an advisor should answer: “Names one next step”, “At most 150 words”. Then have its answers
          judged against that, and its prompt improved until they hold.
        </p>
        <p>
          The shortest way is from an answer you like, or do not: press <b>
            Assert
          </b> under it, or select some of its words.
        </p>
      </header>
      ${!advisors.value.length && html`
        <p class="nobody">There is no advisor yet. <a href="/advisors">Add one</a>, and ask it something.</p>`}
      <ul class="voices plain-voices">
        ${advisors.value.map((advisor) => html`
          <li key=${advisor.id}>
            <a href=${`/assertions/${advisor.slug}`}>
              <${Seal} advisor=${advisor} color=${advisor.color} /><span>${advisor.name}</span>
            </a>
          </li>`)}
      </ul>
    </div>`;
}

export default function Assertions({ parts }) {
  const [slug, what, id] = parts;
  if (!slug) return html`<${Index} />`;
  if (what === "runs" && id) return html`<${RunPage} key=${id} slug=${slug} id=${id} />`;
  if (what === "improve" && id) return html`<${OptimisationPage} key=${id} slug=${slug} id=${id} />`;
  if (what === "improve") return html`<${ImprovePage} key=${slug} slug=${slug} />`;
  return html`<${AdvisorAssertions} key=${slug} slug=${slug} />`;
}
