// What can be done to an advisor from its row as well as from its page.
import { api } from "../api.js";
import { PALETTE, advisors, loadAdvisors } from "../council.js";
import { sure, tell, tellFailure } from "../dialog.js";
import { go } from "../router.js";

/** Asks, then removes; answers whether it did. */
export async function removeAdvisor(advisor) {
  const detail = "It is not asked any more and leaves every council. The answers it gave stay where they are.";
  if (!(await sure(`Remove ${advisor.name}?`, { detail, yes: "Remove" }))) return false;
  try {
    await api.del(`/api/advisors/${advisor.id}`);
    await loadAdvisors();
  } catch (failure) {
    tellFailure(failure);
    return false;
  }
  tell(`${advisor.name} is removed. Its answers stay.`);
  return true;
}

/** A copy with everything but the history, right behind the original, switched off; opens it. */
export async function duplicateAdvisor({ id, name, description, prompt, model, color, voice, params }) {
  try {
    const copy = { description, prompt, model, color, voice, params, active: false };
    const made = await api.post("/api/advisors", { ...copy, name: `${name.slice(0, 113)} (copy)` });
    const order = (await loadAdvisors()).map((one) => one.id).filter((one) => one !== made.id);
    order.splice(order.indexOf(id) + 1, 0, made.id);
    advisors.value = await api.post("/api/advisors/order", { advisors: order });
    tell(`${made.name} is made. It answers once you switch it on.`);
    go(`/advisors/${made.slug}`);
  } catch (failure) {
    tellFailure(failure);
  }
}

/** The colour that fewest advisors have. */
export function freshColor() {
  const used = (color) => advisors.value.filter((one) => one.color.toLowerCase() === color).length;
  return [...PALETTE].sort((a, b) => used(a) - used(b))[0];
}
