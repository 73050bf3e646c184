// @ts-check
// Editing the text that makes an advisor who it is. Saving makes a new version; what is not saved
// yet is the same draft that the advisor's own page shows.
import { api } from "../api.js";
import { copy, notify, notifyFailure } from "../dialog.js";
import { counted, diff, Difference } from "../diff.js";
import { draftOf } from "../draft.js";
import { errorOf, Field, useForm } from "../form.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { html, useId, useMemo, useState } from "../ui.js";
import { number, plural, stamp } from "../words.js";

/** How long a text is, as people and as models count. */
export const length = (text) =>
  `${plural(text.length, "character")} · about ${number(Math.ceil(text.length / 4))} tokens`;

/** `onSaved` is given the advisor as it is now. */
export function PromptEditor({ advisor, onSaved, onCancel }) {
  const draft = draftOf(`advisor.${advisor.id}`, advisor);
  const begun = draft.fields.includes("prompt");
  const text = begun ? draft.mine.prompt || "" : advisor.prompt || advisor.description;
  const write = (event) => {
    const now = event.currentTarget.value;
    draft.set("prompt", now === (advisor.prompt || advisor.description) ? advisor.prompt : now);
  };
  const { busy, failure, submit } = useForm(async () => {
    const saved = await api.patch(`/api/advisors/${advisor.id}`, { prompt: text.trim() ? text : null });
    draft.sent({ prompt: text });
    onSaved(saved);
  });
  const hint = advisor.prompt
    ? `${length(text)}. Left empty, the description takes its place.`
    : `${length(text)}. So far this is the description; `
      + "saved, it becomes the prompt and takes the description's place.";
  const wrong = errorOf(failure, "prompt");
  return html`
    <form class="stack prompt-editor" onSubmit=${submit}>
      <${Field} label="Prompt" hint=${hint} wrong=${wrong}>
        ${(attributes) => html`
          <textarea class="box" rows="12" autofocus ...${attributes} value=${text} onInput=${write}></textarea>`}
      <//>
      ${failure && !wrong && html`<p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
      <p class="soft">
        ${begun
          ? "Not saved yet; kept in this browser until you save or discard it."
          : "Saving makes a new version. The earlier ones stay and can be brought back."}
      </p>
      <div class="row end">
        ${begun && html`
          <button type="button" class="quiet" onClick=${() => draft.forget(["prompt"])}>Discard the changes</button>`}
        <button type="button" class="plain" onClick=${onCancel}>Close</button>
        <button type="submit" class="solid" disabled=${busy || !begun}>
          ${busy ? "Saving …" : "Save as a new version"}
        </button>
      </div>
    </form>`;
}

// Every text an advisor's identity has had, newest first, each against the one before it or
// against the one in force; and the way back to any of them.
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
      notify(`Version ${version.number} is back, as a new version.`);
      await onChanged(now);
    } catch (error) {
      notifyFailure(error);
    }
  };
  const current = versions?.find((version) => version.id === advisor.version_id);
  const option = (value, label) => html`
    <label>
      <input type="radio" name=${name} value=${value} checked=${against === value} onChange=${() => setAgainst(value)}
        /> ${label}
    </label>`;
  return html`
    <section class="history" id="history" aria-labelledby=${`${name}-title`}>
      <h2 id=${`${name}-title`}>History</h2>
      <p class="intro">Every text it has had stays. Bringing one back makes a new version; nothing is overwritten.</p>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!versions && !failure && html`<${Waiting}>Fetching the versions …<//>`}
      ${versions?.length === 1 && html`
        <p class="intro">So far there is one. The next appears when you save another description or prompt.</p>`}
      ${versions?.length > 1 && html`
        <fieldset class="against">
          <legend>Compare each version with</legend>
          ${option("before", "the one before it")} ${option("current", "the one in force")}
        </fieldset>`}
      ${versions && html`
        <ol class="editions" reversed>
          ${versions.slice(0, most).map((version, at) => html`
            <${Version} key=${version.id} version=${version} current=${current} open=${at === 0} onBack=${back}
              other=${against === "current" ? current : versions[at + 1]} against=${against} />`)}
        </ol>
        ${versions.length > most && html`
          <button type="button" class="plain" onClick=${() => setMost(most + 50)}>
            Older versions (${versions.length - most})
          </button>`}`}
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
          <time class="stamp" datetime=${new Date(version.created_at / 1000).toISOString()}>
            ${stamp(version.created_at)}
          </time>
          <span class="reason">${version.reason || "no reason given"}</span>
          ${inForce && html`<span class="mark now">in force</span>`}
        </summary>
        ${shown && html`<${Changes} version=${version} other=${other} against=${against} />`}
        ${shown && html`
          <div class="tools">
            ${!inForce && html`
              <button type="button" aria-label=${`Bring version ${version.number} back`}
                onClick=${() => onBack(version)}>
                Bring this back
              </button>`}
            <button type="button" aria-label=${`Copy version ${version.number}`} onClick=${() => copy(version.text)}>
              Copy
            </button>
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
    <${Difference} parts=${parts} />`;
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
