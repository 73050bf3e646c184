// What the settings room shows, read anew after every change: one change may move others (a key
// makes another model the default).
import { api } from "../api.js";
import { loadModels, models } from "../lists.js";
import { computed, signal } from "../ui.js";

/** `{settings, file, keys, providers, health}`, or null before it came. */
export const known = signal(null);
export const failure = signal(null);

/** Every model there is by name, for completion. */
export const modelNames = computed(() => (models.value?.providers ?? [])
  .filter((one) => one.key !== "missing").flatMap((one) => one.models));

export async function load() {
  try {
    const paths = ["/api/settings/page", "/api/keys", "/api/providers", "/healthz"];
    const [page, keys, providers, health] = await Promise.all([...paths.map((path) => api.get(path)), loadModels()]);
    known.value = { ...page, keys, providers, health };
    failure.value = null;
  } catch (error) {
    failure.value = error;
  }
}

/** Change one setting; null puts its default back. Throws what the server says against it. */
export async function change(name, value) {
  const page = await api.patch("/api/settings", { [name]: value });
  known.value = { ...known.value, ...page };
  if (name.startsWith("models.")) await load();
}

/** A model to try a provider with: the default one if it is theirs, else the first they have. */
export function trialModel(provider) {
  const all = models.value;
  if (all.default.startsWith(`${provider}:`)) return all.default;
  return all.providers.find((one) => one.name === provider)?.models[0] ?? "";
}
