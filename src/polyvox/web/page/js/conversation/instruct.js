// @ts-check
// The quick way: one instruction, appended to the advisor's prompt as a new version.
import { PromptEditor } from "../advisors/prompt.js";
import { api } from "../api.js";
import { Dialog } from "../dialog.js";
import { errorOf, Field, useForm } from "../form.js";
import { loadAdvisors } from "../lists.js";
import { Failed } from "../load.js";
import { html, useState } from "../ui.js";
import { regenerate } from "./actions.js";

export function Instruct({ advisor, answer, onClose }) {
  const [text, setText] = useState("");
  const [saved, setSaved] = useState(false);
  const { busy, failure, submit } = useForm(async () => {
    await api.post(`/api/answers/${answer.id}/instruct`, { instruction: text });
    await loadAdvisors();
    setSaved(true);
  });
  if (saved) {
    const again = () => { regenerate(answer); onClose(); };
    return html`
      <${Dialog} title=${`${advisor.name} will keep to it`} onClose=${onClose}>
        <p>
          It is part of the prompt now, as a new version; <a href=${`/advisors/${advisor.slug}#history`}>
            the one before
          </a> can be brought back.
        </p>
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Keep this answer</button>
          <button type="button" class="solid" onClick=${again}>Regenerate it</button>
        </div>
      <//>`;
  }
  return html`
    <${Dialog} title=${`Tell ${advisor.name} how to answer`} onClose=${onClose}>
      <form class="stack" onSubmit=${submit}>
        <${Field} label="From now on" hint="It is added to the end of this advisor's prompt, as a new version."
          wrong=${errorOf(failure, "instruction")}>
          ${(attributes) => html`
            <textarea class="box" rows="3" autofocus maxlength="4000" ...${attributes} value=${text}
              onInput=${(event) => setText(event.currentTarget.value)}></textarea>`}
        <//>
        ${failure && !errorOf(failure, "instruction") && html`<${Failed} failure=${failure} />`}
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Cancel</button>
          <button type="submit" class="solid" disabled=${busy || !text.trim()}>${busy ? "Saving …" : "Add it"}</button>
        </div>
      </form>
    <//>`;
}

// From an answer to the prompt behind it: saving makes a version and offers the answer anew.
export function EditPrompt({ advisor, answer, onClose }) {
  const [saved, setSaved] = useState(false);
  const done = async () => { setSaved(true); await loadAdvisors(); };
  if (!saved) {
    return html`
      <${Dialog} title=${`${advisor.name}: its prompt`} onClose=${onClose} wide>
        <${PromptEditor} advisor=${advisor} onSaved=${done} onCancel=${onClose} />
      <//>`;
  }
  const again = () => { regenerate(answer); onClose(); };
  return html`
    <${Dialog} title="A new version of the prompt is saved" onClose=${onClose}>
      <p>
        It holds from the next answer on. The earlier versions stay under <a href=${`/advisors/${advisor.slug}`}>
          ${advisor.name}
        </a>
        .
      </p>
      <div class="row end">
        <button type="button" class="plain" onClick=${onClose}>Keep this answer</button>
        <button type="button" class="solid" onClick=${again}>Regenerate it</button>
      </div>
    <//>`;
}
