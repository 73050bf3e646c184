// What the server says of its models; every part of the page reads it here.
import { api } from "./api.js";
import { signal } from "./ui.js";

/** `{default, note, providers: [{name, kind, key, key_source, models}]}`, or null before it came. */
export const models = signal(null);

export async function loadModels() {
  models.value = await api.get("/api/models");
  return models.value;
}
