// @ts-check
// The phases in which advisors only ask: whether they are in force, and how long they may last.
import { api } from "../api.js";
import { Field } from "../form.js";
import { html, useEffect, useState } from "../ui.js";
import { plural } from "../words.js";
import { arrangeSlots, currentVersion } from "./turn-state.js";

/** In how many of its first answers an advisor only asks by this recipe; 0 before that is known. */
export function useAsksFirst(recipe) {
  const [asks, setAsks] = useState(0);
  useEffect(() => {
    /** @param {any} reply */
    const read = (reply) => setAsks(reply.recipe.phases.reduce((sum, phase) => sum + (phase.answers ?? 0), 0));
    api.get(`/api/recipes/${encodeURIComponent(recipe)}`).then(read, () => setAsks(0));
  }, [recipe]);
  return asks;
}

/** Whether one of those chosen has given fewer answers than `most`. */
export function stillAsking(live, chosen, most) {
  const given = new Map();
  for (const turn of live.turns.value) {
    for (const slot of arrangeSlots(turn.answers.value).advisors) {
      const answered = currentVersion(slot).data.value.state === "completed";
      given.set(slot.advisor, (given.get(slot.advisor) ?? 0) + (answered ? 1 : 0));
    }
  }
  return chosen.some((id) => (given.get(id) ?? 0) < most);
}

/** `value` is the number of answers in which advisors only ask, at most; null: as the recipe says. */
export function PhasesField({ value, asks, onChange }) {
  const numbers = Array.from({ length: Math.max(asks - 1, value ?? 0) }, (_, i) => i + 1);
  const choose = (event) => onChange(event.currentTarget.value === "" ? null : Number(event.currentTarget.value));
  return html`
    <${Field} label="Questions first" hint="How long each advisor only asks you something before it answers.">
      ${(attributes) => html`
        <select ...${attributes} value=${value ?? ""} onChange=${choose}>
          <option value="">As the recipe says</option>
          <option value="0">Off: answer at once</option>
          ${numbers.map((number) => html`
            <option key=${number} value=${number}>For ${plural(number, "answer")} at most</option>`)}
        </select>`}
    <//>`;
}
