// The list of conversations, newest first; every part of the page reads it here.
import { api } from "./api.js";
import { signal } from "./ui.js";

export const conversations = signal([]);
export const moreConversations = signal(null);
export const loadedConversations = signal(false);

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("polyvox") : null;
channel?.addEventListener("message", () => refresh().catch(() => {}));

/** Read the list again. */
export async function refresh() {
  const limit = Math.min(200, Math.max(50, conversations.peek().length));
  const page = await api.get(`/api/conversations?limit=${limit}`);
  conversations.value = page.items;
  moreConversations.value = page.next;
  loadedConversations.value = true;
}

/** Read the list again, and let this browser's other tabs do so too. */
export async function loadConversations() {
  await refresh();
  channel?.postMessage("conversations");
}

export async function olderConversations() {
  if (!moreConversations.peek()) return;
  const page = await api.get(`/api/conversations?limit=50&after=${encodeURIComponent(moreConversations.peek())}`);
  conversations.value = [...conversations.peek(), ...page.items];
  moreConversations.value = page.next;
}
