// @ts-check
// Where the page begins.
import { locked } from "./api.js";
import { onReturn } from "./current.js";
import { conversations, loadAdvisors, loadConversations, loadModels, refresh } from "./lists.js";
import { applyTheme } from "./prefs.js";
import { followLinks, route } from "./router.js";
import { Shell } from "./shell.js";
import { installShortcuts } from "./shortcuts.js";
import { effect, html, render } from "./ui.js";

applyTheme();
followLinks();

const AGAIN = 2000;

/** What every room needs; asked for again until the server is there. */
async function load() {
  try {
    await Promise.all([loadAdvisors(), loadConversations(), loadModels()]);
  } catch (error) {
    if (!locked.peek()) setTimeout(load, AGAIN);
    if (error.status) throw error;
  }
}

async function start() {
  const page = document.getElementById("page");
  await load().catch(() => {});
  page.replaceChildren();
  render(html`<${Shell} />`, page);
  installShortcuts();
}

effect(() => {
  const { parts } = route.value;
  const open = parts[0] === "c" ? conversations.value.find((conversation) => conversation.id === parts[1]) : null;
  if (parts.length === 0 || parts[0] === "c") document.title = open?.title ? `${open.title} · Polyvox` : "Polyvox";
});

onReturn(() => { refresh().catch(() => {}); loadAdvisors().catch(() => {}); });

start();
