// The advisors there are, in their order; every room reads them here.
import { api } from "./api.js";
import { computed, signal } from "./ui.js";

export const advisors = signal([]);
export const byId = computed(() => new Map(advisors.value.map((one) => [one.id, one])));

export async function loadAdvisors() {
  advisors.value = await api.get("/api/advisors");
  return advisors.value;
}

/** The colour of an advisor by id, for `style=${{ "--c": colorOf(id) }}`; one of ours for those
 * that are gone or have none. */
export function colorOf(id) {
  const given = byId.value.get(id)?.color;
  if (given && /^#[0-9a-f]{6}$/i.test(given)) return given;
  let sum = 0;
  for (const char of id || "") sum = (sum * 31 + char.charCodeAt(0)) % 997;
  return PALETTE[sum % PALETTE.length];
}

export const PALETTE = ["#7a3b12", "#1f5f6b", "#5b4a8a", "#8a2f4f", "#3f6b2a", "#7a6212", "#2f5590", "#6b3f6b"];
