// What can be done to several assertions at once.
import { api } from "../api.js";
import { Dialog, sure, tell, tellFailure } from "../dialog.js";
import { Field, said } from "../field.js";
import { Failed } from "../load.js";
import { html, useId, useState } from "../ui.js";
import { plural } from "../words.js";

const all = (chosen, action, more = {}) => api.post("/api/assertions/bulk", { ids: [...chosen], action, ...more });

function Tagging({ chosen, tags, onClose, onDone }) {
  const [tag, setTag] = useState("");
  const [failure, setFailure] = useState(null);
  const known = useId();
  const act = (action, says) => async (event) => {
    event.preventDefault();
    try {
      await all(chosen, action, { tag: tag.trim() });
      tell(`${says} ${plural(chosen.size, "assertion")}.`);
      onDone();
    } catch (error) {
      setFailure(error);
    }
  };
  return html`
    <${Dialog} title=${`Tag ${plural(chosen.size, "assertion")}`} onClose=${onClose}>
      <form class="stack" onSubmit=${act("tag", `“${tag.trim()}” is on`)}>
        <${Field} label="Tag" wrong=${said(failure, "tag")}>
          ${(attributes) => html`<input type="text" autofocus autocomplete="off" list=${known} ...${attributes} value=${tag} onInput=${(event) => setTag(event.currentTarget.value)} />`}
        <//>
        <datalist id=${known}>${tags.map((one) => html`<option key=${one} value=${one}></option>`)}</datalist>
        ${failure && !said(failure, "tag") && html`<${Failed} failure=${failure} />`}
        <div class="row end">
          <button type="button" class="plain" disabled=${!tag.trim()} onClick=${act("untag", `“${tag.trim()}” is off`)}>Take it off</button>
          <button type="submit" class="solid" disabled=${!tag.trim()}>Put it on</button>
        </div>
      </form>
    <//>`;
}

export function Bulk({ chosen, tags, onDone }) {
  const [tagging, setTagging] = useState(false);
  const act = async (action) => {
    try {
      await all(chosen, action);
      onDone(action === "remove");
    } catch (error) {
      tellFailure(error);
    }
  };
  const remove = async () => {
    if (await sure(`Remove ${plural(chosen.size, "assertion")}?`, { detail: "Verdicts on them stay in the runs they belong to.", yes: "Remove" })) act("remove");
  };
  const off = !chosen.size;
  return html`
    <div class="tools bulk" role="group" aria-label="With those selected">
      <button type="button" disabled=${off} onClick=${() => act("activate")}>Use</button>
      <button type="button" disabled=${off} onClick=${() => act("deactivate")}>Do not use</button>
      <button type="button" disabled=${off} onClick=${() => setTagging(true)}>Tag …</button>
      <button type="button" disabled=${off} onClick=${remove}>Remove</button>
    </div>
    ${tagging && html`<${Tagging} chosen=${chosen} tags=${tags} onClose=${() => setTagging(false)} onDone=${() => { setTagging(false); onDone(false); }} />`}`;
}
