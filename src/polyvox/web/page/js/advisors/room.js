// @ts-check
// The advisors' room: who there is, in which order they are asked, and the councils they form.
import { useCurrent } from "../current.js";
import { advisors, loadAdvisors } from "../lists.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { route } from "../router.js";
import { html, useState } from "../ui.js";
import { plural } from "../words.js";
import { AdvisorPage, NewAdvisor } from "./advisor.js";
import { Councils } from "./councils.js";
import { AdvisorList, duplicateAdvisor, removeAdvisor } from "./list.js";
import { Suggest } from "./suggest.js";

export default function Advisors({ parts }) {
  if (parts.length) return html`<${AdvisorPage} key=${parts[0]} slug=${parts[0]} />`;
  if (route.value.query.has("new")) return html`<${NewAdvisor} />`;
  return html`<${Everyone} />`;
}

function Everyone() {
  const [loaded, failure, again] = useLoaded(loadAdvisors, []);
  const [suggesting, setSuggesting] = useState(false);
  useCurrent(again);
  usePlace("Advisors");
  const list = advisors.value;
  const active = list.filter((advisor) => advisor.active).length;
  const ready = loaded !== null || list.length > 0;
  return html`
    <div class="room advisors">
      <header>
        <h1>Advisors</h1>
        <p>
          Each sees the world its own way and has a thread of its own in every conversation. Those who are switched on
          answer when you ask everybody, in this order.
        </p>
        <div class="row">
          <a class="solid" href="/advisors?new">New advisor</a>
          <button type="button" class="plain" onClick=${() => setSuggesting(true)}>Suggest perspectives</button>
        </div>
      </header>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!ready && !failure && html`<${Waiting}>Looking who is here …<//>`}
      ${ready && list.length === 0 && html`<${Nobody} onSuggest=${() => setSuggesting(true)} />`}
      ${list.length > 0 && html`
        <p class="label">${plural(list.length, "advisor")} · ${active} switched on</p>
        ${active === 0 && html`
          <p class="remark">Nobody is switched on: a plain assistant answers until somebody is.</p>`}
        <${AdvisorList} list=${list} onDuplicate=${duplicateAdvisor} onRemove=${removeAdvisor} />`}
      ${ready && html`<${Councils} />`}
      ${suggesting && html`<${Suggest} onClose=${() => setSuggesting(false)} />`}
    </div>`;
}

function Nobody({ onSuggest }) {
  return html`
    <div class="nobody">
      <p>Nobody is here yet. Until somebody is, a plain assistant answers.</p>
      <p class="soft">
        Write down one person whose judgement you would like to hear, or let a model <button type="button"
          class="inline" onClick=${onSuggest}>
          propose some for a question
        </button> you carry.
      </p>
    </div>`;
}
