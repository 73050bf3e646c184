// Having assertions tried: how often, and then the run itself on a page of its own.
import { api } from "../api.js";
import { Failed } from "../load.js";
import { NumberField } from "../field.js";
import { pref } from "../prefs.js";
import { go } from "../router.js";
import { html, useState } from "../ui.js";
import { number } from "../words.js";

const repeat = pref("evaluation.repeat", 1);

/** "3 of 5 hold, 2 do not; 1 wavers", in words for a list. */
export function summed({ passed, failed, errors, total, flaky }) {
  const parts = [`${passed} of ${total} hold`];
  if (failed) parts.push(`${failed} ${failed === 1 ? "does" : "do"} not`);
  if (errors) parts.push(`${errors} could not be judged`);
  return parts.join(", ") + (flaky ? `; ${flaky} ${flaky === 1 ? "wavers" : "waver"}` : "");
}

export function Running({ advisor, chosen }) {
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      const begun = await api.post("/api/evaluations", { advisor_id: advisor.id, assertion_ids: chosen, mode: "replay", repeat: repeat.value || 1 });
      go(`/assertions/${advisor.slug}/runs/${begun.id}`);
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return html`
    <form class="run-them" onSubmit=${run} aria-label="Run">
      <div class="row">
        <button type="submit" class="solid" disabled=${busy || !chosen.length}>Run ${number(chosen.length)}<span class="if-wide"> ${chosen.length === 1 ? "assertion" : "assertions"}</span></button>
        <${NumberField} label="Times each" value=${repeat.value} min=${1} max=${50} onChange=${(n) => { repeat.value = n; }} />
        <a class="plain" href=${`/assertions/${advisor.slug}/improve?ids=${chosen.join(",")}`} aria-disabled=${!chosen.length}>Improve<span class="if-wide"> the prompt</span> …</a>
      </div>
      ${failure && html`<${Failed} failure=${failure} />`}
    </form>
    <p class="soft run-how">${advisor.name} answers anew, each time in the very context that an assertion comes from, and a judge reads the answers. Models vary: three times each shows what wavers.</p>`;
}
