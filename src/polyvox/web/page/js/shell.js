// @ts-check
// The frame: conversations and rooms at the left, one of them open.
import { locked, unlock } from "./api.js";
import { isCompanion, Mark } from "./conversation/companion.js";
import { ConversationRoom } from "./conversation/view.js";
import { Notices, Question, notifyFailure } from "./dialog.js";
import { conversations, models, moreConversations, olderConversations } from "./lists.js";
import { Unreachable, Failed, useModule } from "./load.js";
import { Help, openPalette, Palette } from "./palette.js";
import { Nowhere } from "./place.js";
import { ROOMS } from "./rooms.js";
import { route } from "./router.js";
import { html, useEffect, useState } from "./ui.js";
import { byDay } from "./words.js";

function Conversations() {
  const { path } = route.value;
  return html`
    ${byDay(conversations.value, (conversation) => conversation.updated_at).map(([name, list]) => html`
      <section key=${name}><h2>${name}</h2><ul>
        ${list.map((conversation) => html`
          <li key=${conversation.id}>
            <a href=${`/c/${conversation.id}`} class=${isCompanion(conversation) ? "alone" : undefined}
              aria-current=${path === `/c/${conversation.id}` ? "page" : undefined}>
              <${Mark} details=${conversation} />
              ${conversation.title || "Untitled"}
              ${isCompanion(conversation) && html`<span class="aside"> (companion)</span>`}
            </a>
          </li>`)}
      </ul></section>`)}
    ${moreConversations.value && html`
      <button type="button" class="quiet" onClick=${() => olderConversations().catch(notifyFailure)}>
        Older conversations
      </button>`}`;
}

function Foot() {
  const known = models.value;
  if (!known) return null;
  return html`
    <div class="foot">
      <span class="num">${known.default}</span>
      ${known.note && html`<br /><a href="/settings#keys">Tiny. Add a key for real counsel</a>`}
    </div>`;
}

function Nav({ open, onClose }) {
  const { parts, path } = route.value;
  useEffect(onClose, [path]);
  return html`
    <nav class=${open ? "nav open" : "nav"} id="nav" aria-label="Conversations and rooms">
      <a class="brand" href="/">poly<i>vox</i></a>
      <button type="button" class="find" onClick=${() => openPalette()}>Search everything <kbd>Ctrl K</kbd></button>
      <a class="new" href="/" aria-current=${path === "/" ? "page" : undefined}>New conversation</a>
      <div class="list" tabindex="-1"><${Conversations} /></div>
      <section><h2>Rooms</h2><ul>
        ${ROOMS.filter((room) => !room.hidden)
          .map((room) => html`
            <li key=${room.path}>
              <a href=${`/${room.path}`} aria-current=${parts[0] === room.path ? "page" : undefined}>${room.name}</a>
            </li>`)}
      </ul></section>
      <${Foot} />
    </nav>`;
}

function Room({ room, parts }) {
  const [loaded, failure, again] = useModule(room.from);
  useEffect(() => { document.title = `${room.name} · Polyvox`; }, [room]);
  if (loaded) return html`<${loaded.default} parts=${parts} />`;
  if (failure) return html`<div class="room"><${Failed} failure=${failure} again=${again} /></div>`;
  return html`<p class="hush" role="status">Opening …</p>`;
}

/** What stays in sight over a room: its name where the window is narrow, and that the server is away. */
function Over({ name }) {
  return html`<div class="top of-room" aria-hidden="true"><b>${name}</b></div><${Unreachable} />`;
}

function Locked() {
  const [token, setToken] = useState("");
  const enter = (event) => { event.preventDefault(); unlock(token); window.location.reload(); };
  return html`
    <main class="room">
      <header>
        <h1>This Polyvox is locked</h1><p>Its owner set a token. It is asked for once and kept in this browser.</p>
      </header>
      <form class="row" onSubmit=${enter}>
        <label class="field">
          <span>Token</span>
          <input type="password" autocomplete="current-password" value=${token}
            onInput=${(event) => setToken(event.target.value)} />
        </label>
        <button type="submit" class="solid" disabled=${!token.trim()}>Open</button></form></main>`;
}

export function Shell() {
  const [open, setOpen] = useState(false);
  const { parts } = route.value;
  const room = ROOMS.find((entry) => entry.path === parts[0]);
  if (locked.value) return html`<${Locked} />`;
  const talk = parts.length === 0 || (parts[0] === "c" && parts.length === 2);
  return html`
    <a class="skip" href="#main">To the content</a>
    <div class="frame">
      <${Nav} open=${open} onClose=${() => setOpen(false)} />
      <button type="button" class=${open ? "veil open" : "veil"} aria-label="Close the list"
        tabindex=${open ? undefined : "-1"} onClick=${() => setOpen(false)}></button>
      <main class="main" id="main" tabindex="-1">
        <button type="button" class="menu" aria-label="Conversations and rooms" aria-expanded=${open}
          aria-controls="nav" onClick=${() => setOpen(true)}>
          ☰
        </button>
        ${talk
          ? html`<${ConversationRoom} />`
          : html`
            <${Over} name=${room?.name ?? "Polyvox"} />
            ${room
              ? html`<${Room} key=${room.path} room=${room} parts=${parts.slice(1)} />`
              : html`<div class="room"><${Nowhere} /></div>`}`}
      </main>
    </div>
    <${Palette} /><${Help} /><${Question} /><${Notices} />`;
}
