// @ts-check
// The line above a conversation: its title to change, its export, what it has cost.
import { api, download } from "../api.js";
import { confirm, notifyFailure } from "../dialog.js";
import { loadConversations } from "../lists.js";
import { lazy } from "../load.js";
import { go } from "../router.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { money, plural } from "../words.js";
import { isCompanion, Mark } from "./companion.js";
import { PhasesField, useAsksFirst } from "./phases.js";

const StartSheet = lazy(import.meta.resolve("./strip.js"), "StartSheet");
const FORMATS = [["markdown", "Markdown"], ["html", "a page"], ["jsonl", "data"]];

/** What the conversation has cost, asked for when an answer has ended. */
function useSpent(live) {
  const [spent, setSpent] = useState(null);
  const busy = live.running.value.length;
  useEffect(() => {
    api.get(`/api/usage?conversation=${live.id}`).then(({ total }) => setSpent(total), () => {});
  }, [live, busy]);
  return spent;
}

function Rename({ live, title, onDone }) {
  const box = useRef(null);
  useEffect(() => { box.current.focus(); box.current.select(); }, []);
  const save = async (event) => {
    event.preventDefault();
    try {
      const saved = await api.patch(`/api/conversations/${live.id}`, { title: box.current.value });
      live.details.value = { ...live.details.peek(), title: saved.title };
      await loadConversations();
      onDone();
    } catch (error) {
      notifyFailure(error);
    }
  };
  return html`<form class="row" onSubmit=${save}><label class="aside" for="title">Title</label>
    <input id="title" type="text" ref=${box} defaultValue=${title} maxlength="200"
      onKeyDown=${(event) => event.key === "Escape" && onDone()} />
    <button type="submit" class="quiet">Save</button>
    <button type="button" class="quiet" onClick=${onDone}>Cancel</button>
    </form>`;
}

const RECALL = [["inherit", "as in the settings"], ["auto", "on"], ["off", "off"]];

/** Whether what was said before is looked up in this conversation. */
function RecallChoice({ live, details }) {
  if (!details.recall) return null;
  const choose = async (recall) => {
    try {
      const saved = await api.patch(`/api/conversations/${live.id}`, { recall });
      live.details.value = { ...live.details.peek(), recall: saved.recall };
      live.sessions.value += 1;
    } catch (error) {
      notifyFailure(error);
    }
  };
  return html`
    <fieldset class="recall"><legend>Memory: look things up</legend>
      ${RECALL.map(([value, name]) => html`
        <label key=${value}>
          <input type="radio" name="recall" value=${value} checked=${details.recall === value}
            onChange=${() => choose(value)} /> ${name}
        </label>`)}
    </fieldset>`;
}

/** How long advisors only ask here. */
function PhasesChoice({ live, details }) {
  const asks = useAsksFirst(details.recipe);
  const choose = async (phases) => {
    try {
      const saved = await api.patch(`/api/conversations/${live.id}`, { phases });
      live.details.value = { ...live.details.peek(), phases: saved.phases };
    } catch (error) {
      notifyFailure(error);
    }
  };
  return asks > 0 && html`<${PhasesField} value=${details.phases ?? null} asks=${asks} onChange=${choose} />`;
}

export function Title({ live }) {
  const details = live.details.value;
  const [renaming, setRenaming] = useState(false);
  const [showingTold, setTold] = useState(false);
  const menu = useRef(null);
  const renamed = useRef(false);
  const spent = useSpent(live);
  const turns = live.turns.value.at(-1)?.message.value.depth ?? 0;
  const running = live.running.value.length;
  // What the menu opens gives the focus back to it: its own buttons are out of sight by then.
  const close = () => { menu.current?.removeAttribute("open"); menu.current?.querySelector("summary").focus(); };
  useEffect(() => {
    if (!renaming && renamed.current) menu.current?.querySelector("summary").focus();
    renamed.current = renaming;
  }, [renaming]);
  const remove = async () => {
    close();
    if (!await confirm("Delete this conversation?", {
      detail: "Its messages, answers and receipts go with it. This cannot be undone.", yes: "Delete it"
    })) {
      return;
    }
    try {
      await api.del(`/api/conversations/${live.id}`);
      await loadConversations();
      go("/");
    } catch (error) {
      notifyFailure(error);
    }
  };
  const take = (format) => {
    close();
    download(`/api/conversations/${live.id}/export?format=${format}`, `conversation.${format}`).catch(notifyFailure);
  };
  if (renaming) {
    return html`
      <header class="top">
        <${Rename} live=${live} title=${details.title} onDone=${() => setRenaming(false)} />
      </header>`;
  }
  return html`
    <header class="top">
      <span class=${isCompanion(details) ? "title alone" : "title"}>
        <${Mark} details=${details} />
        <h1 dir="auto">${details.title || "Untitled"}</h1> <span class="more">
          · ${plural(turns, "turn")}
          ${running ? " · answering" : ""}
          ${details.recipe !== "council" ? ` · ${details.recipe}` : ""}
        </span>
      </span>
      <span class="row tools">
        ${spent?.cost > 0 && html`<a class="num spent" href="/usage">${money(spent.cost)}</a>`}
        <details class="menu-box" ref=${menu}><summary>Conversation …</summary>
          <div class="menu-list">
            <button type="button" onClick=${() => setRenaming(true)}>Rename</button>
            ${FORMATS.map(([format, name]) => html`
              <button type="button" key=${format} onClick=${() => take(format)}>Export as ${name}</button>`)}
            <button type="button" onClick=${() => { close(); setTold(true); }}>What is remembered here …</button>
            <${RecallChoice} live=${live} details=${details} />
            <${PhasesChoice} live=${live} details=${details} />
            <button type="button" class="bad" onClick=${remove}>Delete …</button>
          </div></details>
      </span>
      ${showingTold && html`<${StartSheet} id=${live.id} onClose=${() => setTold(false)} />`}
    </header>`;
}
