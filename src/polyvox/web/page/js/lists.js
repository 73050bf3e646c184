// @ts-check
// Conversations, advisors and models: every part of the page reads them here.
import { api } from "./api.js";
import { announceChange, onChange } from "./current.js";
import { computed, signal } from "./ui.js";

/** The list of conversations, newest first. @type {import("./ui.js").Signal<import("./types").Conversation[]>} */
export const conversations = signal([]);
export const moreConversations = signal(null);
const loadedConversations = signal(false);

onChange("conversations", () => refresh().catch(() => {}));

/** Read the list again. */
export async function refresh() {
  const limit = Math.min(200, Math.max(50, conversations.peek().length));
  const page = await api.get(`/api/conversations?limit=${limit}`);
  conversations.value = page.items;
  moreConversations.value = page.next;
  loadedConversations.value = true;
  await learnRecipes(page.items.map(({ recipe }) => recipe));
}

/** The recipes by which one companion is talked with: the built-in one and its copies. */
export const companionRecipes = signal(new Set(["companion"]));
const learned = new Set(["council", "agent", "companion"]);

/** Learn which of these recipes are a companion's. */
export async function learnRecipes(names) {
  if (names.every((name) => learned.has(name))) return;
  const copies = (await api.get("/api/recipes")).filter(({ base }) => base === "companion");
  companionRecipes.value = new Set(["companion", ...copies.map(({ name }) => name)]);
  for (const name of names) learned.add(name);
}

/** Read the list again, and let this browser's other tabs do so too. */
export async function loadConversations() {
  await refresh();
  announceChange("conversations");
}

export async function olderConversations() {
  if (!moreConversations.peek()) return;
  const page = await api.get(`/api/conversations?limit=50&after=${encodeURIComponent(moreConversations.peek())}`);
  conversations.value = [...conversations.peek(), ...page.items];
  moreConversations.value = page.next;
}

/** The advisors there are, in their order. @type {import("./ui.js").Signal<import("./types").Advisor[]>} */
export const advisors = signal([]);
export const advisorById = computed(() => new Map(advisors.value.map((advisor) => [advisor.id, advisor])));

export async function loadAdvisors() {
  advisors.value = await api.get("/api/advisors");
  return advisors.value;
}

/** An advisor's name, numbered where another has the same: in the order they were made, as the
 * advisors themselves are told. */
export function labelOf({ id, name }) {
  const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
  const same = advisors.value.filter((other) => plain(other.name) === plain(name)).map((other) => other.id).sort();
  return same.length > 1 && same.includes(id) ? `${name} (${same.indexOf(id) + 1})` : name;
}

/** The colour of an advisor by id, for `style=${{ "--c": colorOf(id) }}`; one of ours for those
 * that are gone or have none. */
export function colorOf(id) {
  const given = advisorById.value.get(id)?.color;
  if (given && /^#[0-9a-f]{6}$/i.test(given)) return given;
  let sum = 0;
  for (const char of id || "") sum = (sum * 31 + char.charCodeAt(0)) % 997;
  return PALETTE[sum % PALETTE.length];
}

/** The colours an advisor can be given. */
export const PALETTE = ["#7a3b12", "#1f5f6b", "#5b4a8a", "#8a2f4f", "#3f6b2a", "#7a6212", "#2f5590", "#6b3f6b"];

// What the server says of its models; every part of the page reads it here.
/** `{default, note, providers: [{name, kind, key, key_source, models}]}`, or null before it came. */
export const models = signal(null);

export async function loadModels() {
  models.value = await api.get("/api/models");
  return models.value;
}
