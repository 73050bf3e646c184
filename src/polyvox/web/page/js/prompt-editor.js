// Editing the text that makes an advisor who it is. Saving makes a new version; what is not saved
// yet is the same draft that the advisor's own page shows.
import { api } from "./api.js";
import { draftOf } from "./draft.js";
import { Field, said } from "./field.js";
import { html, useState } from "./ui.js";
import { number, plural } from "./words.js";

/** How long a text is, as people and as models count. */
export const length = (text) => `${plural(text.length, "character")} · about ${number(Math.ceil(text.length / 4))} tokens`;

/** `onSaved` is given the advisor as it is now. */
export function PromptEditor({ advisor, onSaved, onCancel }) {
  const draft = draftOf(`advisor.${advisor.id}`, advisor);
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const begun = draft.fields.includes("prompt");
  const text = begun ? draft.mine.prompt || "" : advisor.prompt || advisor.description;
  const write = (event) => {
    const now = event.currentTarget.value;
    draft.set("prompt", now === (advisor.prompt || advisor.description) ? advisor.prompt : now);
  };
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const saved = await api.patch(`/api/advisors/${advisor.id}`, { prompt: text.trim() ? text : null });
      draft.sent({ prompt: text });
      onSaved(saved);
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const hint = advisor.prompt
    ? `${length(text)}. Left empty, the description takes its place.`
    : `${length(text)}. So far this is the description; saved, it becomes the prompt and takes the description's place.`;
  const wrong = said(failure, "prompt");
  return html`
    <form class="stack prompt-editor" onSubmit=${save}>
      <${Field} label="Prompt" hint=${hint} wrong=${wrong}>
        ${(attributes) => html`<textarea class="box" rows="12" autofocus ...${attributes} value=${text} onInput=${write}></textarea>`}
      <//>
      ${failure && !wrong && html`<p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
      <p class="soft">${begun ? "Not saved yet; kept in this browser until you save or discard it." : "Saving makes a new version. The earlier ones stay and can be brought back."}</p>
      <div class="row end">
        ${begun && html`<button type="button" class="quiet" onClick=${() => draft.forget(["prompt"])}>Discard the changes</button>`}
        <button type="button" class="plain" onClick=${onCancel}>Close</button>
        <button type="submit" class="solid" disabled=${busy || !begun}>${busy ? "Saving …" : "Save as a new version"}</button>
      </div>
    </form>`;
}
