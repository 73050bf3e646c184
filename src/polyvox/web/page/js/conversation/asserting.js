// Where the dialog for assertions opens, whoever asked for it: a card, a selection, the reader.
import { loadAsserted } from "../evaluation/asserted.js";
import { lazy } from "../lazy.js";
import { addCommand } from "../shortcuts.js";
import { html, useEffect } from "../ui.js";
import { SelectionButton, wantAssertions, wanted } from "./selection.js";

const Assert = lazy(import.meta.resolve("./assert.js"), "Assert");

/** The palette offers it for the answers of the newest turn. */
function useCommands(live) {
  const newest = (live.turns.value.at(-1)?.answers.value ?? []).filter((one) => one.data.value.current && !one.running && one.said.text.peek());
  useEffect(() => {
    const group = "This conversation";
    const taken = newest.map((one) => addCommand({ id: `assert.${one.id}`, name: `Assert how ${one.data.peek().name} should answer`, verb: "assert", group, run: () => wantAssertions(one.id) }));
    return () => taken.forEach((take) => take());
  }, [newest.map((one) => one.id).join()]);
}

export function Asserting({ live }) {
  useCommands(live);
  useEffect(() => {
    loadAsserted(live.id);
    return () => { wanted.value = null; };
  }, [live]);
  const asked = wanted.value;
  const answer = asked && live.byAnswer.get(asked.answer);
  return html`
    <${SelectionButton} />
    ${answer && html`<${Assert} key=${answer.id} answer=${answer} passage=${asked.text} onClose=${() => { wanted.value = null; }} />`}`;
}
