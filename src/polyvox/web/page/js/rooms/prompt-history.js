// Every text an advisor's identity has had, newest first, each against the one before it or
// against the one in force; and the way back to any of them.
import { api } from "../api.js";
import { copy, tell, tellFailure } from "../dialog.js";
import { counted, diff } from "../diff.js";
import { Failed, Waiting, useLoaded } from "../load.js";
import { html, useId, useMemo, useState } from "../ui.js";
import { plural, stamp } from "../words.js";

const FIRST = 20;

export function PromptHistory({ advisor, onChanged }) {
  const fetch = () => api.get(`/api/advisors/${advisor.id}/versions`);
  const [versions, failure, again] = useLoaded(fetch, [advisor.id, advisor.version_id]);
  const [against, setAgainst] = useState("before");
  const [most, setMost] = useState(FIRST);
  const name = useId();
  const back = async (version) => {
    try {
      const now = await api.post(`/api/advisors/${advisor.id}/rollback`, { version: version.number });
      tell(`Version ${version.number} is back, as a new version.`);
      await onChanged(now);
    } catch (error) {
      tellFailure(error);
    }
  };
  const current = versions?.find((one) => one.id === advisor.version_id);
  const option = (value, label) => html`
    <label><input type="radio" name=${name} value=${value} checked=${against === value} onChange=${() => setAgainst(value)} /> ${label}</label>`;
  return html`
    <section class="history" id="history" aria-labelledby=${`${name}-title`}>
      <h2 id=${`${name}-title`}>History</h2>
      <p class="intro">Every text it has had stays. Bringing one back makes a new version; nothing is overwritten.</p>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!versions && !failure && html`<${Waiting}>Fetching the versions …<//>`}
      ${versions?.length === 1 && html`<p class="intro">So far there is one. The next appears when you save another description or prompt.</p>`}
      ${versions?.length > 1 && html`
        <fieldset class="against">
          <legend>Compare each version with</legend>
          ${option("before", "the one before it")} ${option("current", "the one in force")}
        </fieldset>`}
      ${versions && html`
        <ol class="editions" reversed>
          ${versions.slice(0, most).map((one, at) => html`
            <${Version} key=${one.id} version=${one} current=${current} open=${at === 0} onBack=${back}
              other=${against === "current" ? current : versions[at + 1]} against=${against} />`)}
        </ol>
        ${versions.length > most && html`<button type="button" class="plain" onClick=${() => setMost(most + 50)}>Older versions (${versions.length - most})</button>`}`}
    </section>`;
}

const FIELDS = { prompt: "prompt", description: "description" };

function Version({ version, current, other, against, open, onBack }) {
  const [shown, setShown] = useState(open);
  const inForce = version.id === current?.id;
  return html`
    <li>
      <details open=${shown} onToggle=${(event) => setShown(event.currentTarget.open)}>
        <summary>
          <b>Version ${version.number}</b>
          <time class="stamp" datetime=${new Date(version.created_at / 1000).toISOString()}>${stamp(version.created_at)}</time>
          <span class="reason">${version.reason || "no reason given"}</span>
          ${inForce && html`<span class="mark now">in force</span>`}
        </summary>
        ${shown && html`<${Changes} version=${version} other=${other} against=${against} />`}
        ${shown && html`
          <div class="tools">
            ${!inForce && html`<button type="button" aria-label=${`Bring version ${version.number} back`} onClick=${() => onBack(version)}>Bring this back</button>`}
            <button type="button" aria-label=${`Copy version ${version.number}`} onClick=${() => copy(version.text)}>Copy</button>
          </div>`}
      </details>
    </li>`;
}

/** From the older text to the newer one, whichever of the two that is. */
function Changes({ version, other, against }) {
  const parts = useMemo(() => {
    if (!other || other.id === version.id) return [{ kind: "same", text: version.text }];
    return against === "current" ? diff(version.text, other.text) : diff(other.text, version.text);
  }, [version.id, other?.id, against]);
  return html`
    <p class="tally">${tally(parts, version, other, against)}</p>
    <div class="changes">${parts.map(({ kind, text }, at) => (kind === "same" ? html`<span key=${at}>${text}</span>` : kind === "in" ? html`<ins key=${at}>${text}</ins>` : html`<del key=${at}>${text}</del>`))}</div>`;
}

function tally(parts, version, other, against) {
  const what = `As ${FIELDS[version.field] || version.field}.`;
  if (!other) return `${what} The first text.`;
  if (other.id === version.id) return `${what} This is the one in force.`;
  const way = against === "current" ? `From here to version ${other.number}` : `Since version ${other.number}`;
  if (parts.every((part) => part.kind === "same")) return `${what} The same text as version ${other.number}.`;
  const { added, removed } = counted(parts);
  return `${what} ${way}: ${plural(added, "word")} added, ${removed} removed.`;
}
