// @ts-check
// What can be done, by name and by key. A view adds its commands while it is shown; the palette
// offers them, the help sheet lists them, and the keyboard runs them. No key destroys anything.
import { enterSends, pref, theme } from "./prefs.js";
import { ROOMS } from "./rooms.js";
import { go } from "./router.js";
import { signal } from "./ui.js";

/** Every command there is now, in the order in which they came. */
export const commands = signal([]);
/** Which of our own sheets is open: "", "palette" or "help". */
export const sheet = signal("");
/** Whether a letter alone is a shortcut. Someone who speaks to their computer may not want that. */
export const letterKeys = pref("letters", true);

/**
 * Add a command; returns what takes it away again. Another one with the same id takes its place.
 *   name      what it does, or a function that says so
 *   keys      "mod+k" (Ctrl or ⌘), "j", "g a" (one after the other), or a list of these
 *   run       what to do; without it the command is only listed in the help sheet
 *   when      whether it can be done now
 *   group     the heading it stands under in the help sheet
 *   verb      where the name holds somebody's name: the word that asks for it in the palette
 *   inDialog  whether its keys work while a dialog is open
 */
export function addCommand(command) {
  const entry = { group: "This page", ...command, keys: [command.keys ?? []].flat() };
  commands.value = [...commands.value.filter(({ id }) => id !== entry.id), entry];
  return () => { commands.value = commands.value.filter((other) => other !== entry); };
}

export const nameOf = ({ name }) => (typeof name === "function" ? name() : name);
export const canRun = ({ run, when }) => Boolean(run) && (!when || Boolean(when()));

const mac = /Mac|iPhone|iPad/.test(navigator.platform);
const SHOWN = {
  mod: mac ? "⌘" : "Ctrl", escape: "Esc", arrowup: "↑", arrowdown: "↓", arrowleft: "←", arrowright: "→", 
  enter: "Enter", shift: mac ? "⇧" : "Shift",
};

/** "mod+k" → [["Ctrl", "K"]], "g a" → [["g"], ["a"]]: strokes, each of keys pressed together. */
export function strokes(keys) {
  return keys.split(" ").map((stroke) => {
    const together = stroke.length > 1 ? stroke.split("+") : [stroke];
    return together.map((key) => SHOWN[key.toLowerCase()] || (together.length > 1 ? key.toUpperCase() : key));
  });
}

const FIELD = "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]";
const PAUSE = 1500;
let begun = "";
let since = 0;

/** The stroke of an event as it is written in `keys`; "" where it cannot be one of ours. */
function strokeOf(event) {
  const typedWithAlt = event.getModifierState?.("AltGraph"); // "[" and "/" on many keyboards
  if (event.isComposing || (event.altKey && !typedWithAlt)) return "";
  const mod = (event.ctrlKey || event.metaKey) && !typedWithAlt;
  const key = event.key.length === 1 && mod ? event.key.toLowerCase() : event.key;
  return mod ? `mod+${event.shiftKey && key.length === 1 ? "shift+" : ""}${key}` : key;
}

/** Whether these keys may act where the focus is. */
function allowed(command, stroke, event) {
  const alone = !stroke.startsWith("mod+");
  if (alone && !letterKeys.value && stroke.length === 1) return false;
  if (alone && event.target.closest?.(FIELD)) return false;
  if (!command.inDialog && document.querySelector("dialog[open]")) return false;
  return canRun(command);
}

function onKeyDown(event) {
  if (event.defaultPrevented) return;
  const stroke = strokeOf(event);
  if (!stroke || ["Shift", "Control", "Meta", "Alt"].includes(event.key)) return;
  const before = begun && event.timeStamp - since < PAUSE ? `${begun} ` : "";
  begun = "";
  const able = commands.value.filter((command) => allowed(command, stroke, event));
  const command = [
    `${before}${stroke}`, stroke
  ].map((keys) => able.findLast((candidate) => candidate.keys.includes(keys)))
    .find(Boolean);
  if (command) {
    event.preventDefault();
    command.run();
  } else if (able.some((candidate) => candidate.keys.some((keys) => keys.startsWith(`${stroke} `)))) {
    [begun, since] = [stroke, event.timeStamp];
  }
}

/** @returns {HTMLElement | null} */
const composer = () => document.querySelector(".composer textarea");

/** A room's key is its own or its first letter; two rooms with one letter: the first has it. */
function roomCommands() {
  const taken = new Set(["n", "f"]);
  return ROOMS.filter((room) => !room.hidden).map(({ path, name, key }) => {
    const letter = key ?? path[0];
    const keys = taken.has(letter) ? [] : [`g ${letter}`];
    taken.add(letter);
    return { id: `room.${path}`, name: `Go to ${name}`, keys, group: "Go", run: () => go(`/${path}`) };
  });
}

const toggle = (name) => () => { sheet.value = sheet.value === name ? "" : name; };
const darkNow = () => document.documentElement.dataset.theme === "dark";

const EVERYWHERE = [
  { id: "palette", name: "Do or find anything", keys: "mod+k", group: "Everywhere", inDialog: true, unlisted: true,
    when: () => sheet.value === "palette" || !document.querySelector("dialog[open]"), run: toggle("palette") },
  { id: "help", name: "Show the keyboard shortcuts", keys: "?", group: "Everywhere", run: toggle("help") },
  {
    id: "compose", name: "Write a message", keys: "/", group: "Everywhere", when: composer,
    run: () => composer().focus()
  },
  { id: "close", name: "Close what is open", keys: "Escape", group: "Everywhere" },
  { id: "new", name: "New conversation", keys: "g n", group: "Go", run: () => go("/") },
  { id: "search", name: "Search every text", keys: "g f", group: "Go", run: () => go("/search") },
  ...roomCommands(),
  { id: "theme", name: () => (darkNow() ? "Use the light theme" : "Use the dark theme"), group: "Preferences",
    run: () => { theme.value = darkNow() ? "light" : "dark"; } },
  { id: "theme.auto", name: "Let the system choose the theme", group: "Preferences",
    when: () => theme.value !== "auto", run: () => { theme.value = "auto"; } },
  { id: "enter", name: () => (enterSends.value ? "Let Enter break the line" : "Let Enter send"), group: "Preferences",
    run: () => { enterSends.value = !enterSends.value; } },
];

/** Once, when the page opens. */
export function installShortcuts() {
  EVERYWHERE.forEach(addCommand);
  document.addEventListener("keydown", onKeyDown);
}
