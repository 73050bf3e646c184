// @ts-check
// What the settings room shows, read anew after every change: one change may move others (a key
// makes another model the default).
import { api } from "../api.js";
import { loadModels, models } from "../lists.js";
import { computed, signal } from "../ui.js";

/** `{settings, file, keys, providers, health}`, or null before it came. */
export const settingsState = signal(null);
export const settingsFailure = signal(null);

/** Every model there is by name, for completion. */
export const modelNames = computed(() => (models.value?.providers ?? [])
  .filter((provider) => provider.key !== "missing").flatMap((provider) => provider.models));

export async function loadSettings() {
  try {
    const paths = ["/api/settings/page", "/api/keys", "/api/providers", "/healthz"];
    const [page, keys, providers, health] = await Promise.all([...paths.map((path) => api.get(path)), loadModels()]);
    settingsState.value = { ...page, keys, providers, health };
    settingsFailure.value = null;
  } catch (error) {
    settingsFailure.value = error;
  }
}

/** Change one setting; null puts its default back. Throws what the server says against it. */
export async function changeSetting(name, value) {
  const page = await api.patch("/api/settings", { [name]: value });
  settingsState.value = { ...settingsState.value, ...page };
  if (name.startsWith("models.")) await loadSettings();
}

/** A model to try a provider with: the default one if it is theirs, else the first they have. */
export function trialModel(provider) {
  const all = models.value;
  if (all.default.startsWith(`${provider}:`)) return all.default;
  return all.providers.find((entry) => entry.name === provider)?.models[0] ?? "";
}
