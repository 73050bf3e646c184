// From an answer to the prompt behind it: saving makes a version and offers the answer anew.
import { loadAdvisors } from "../council.js";
import { Dialog } from "../dialog.js";
import { PromptEditor } from "../prompt-editor.js";
import { html, useState } from "../ui.js";
import { regenerate } from "./verbs.js";

export function EditPrompt({ advisor, answer, onClose }) {
  const [saved, setSaved] = useState(false);
  const done = async () => { setSaved(true); await loadAdvisors(); };
  if (!saved) return html`<${Dialog} title=${`${advisor.name}: its prompt`} onClose=${onClose} wide><${PromptEditor} advisor=${advisor} onSaved=${done} onCancel=${onClose} /><//>`;
  const again = () => { regenerate(answer); onClose(); };
  return html`
    <${Dialog} title="A new version of the prompt is saved" onClose=${onClose}>
      <p>It holds from the next answer on. The earlier versions stay under <a href=${`/advisors/${advisor.slug}`}>${advisor.name}</a>.</p>
      <div class="row end">
        <button type="button" class="plain" onClick=${onClose}>Keep this answer</button>
        <button type="button" class="solid" onClick=${again}>Regenerate it</button>
      </div>
    <//>`;
}
