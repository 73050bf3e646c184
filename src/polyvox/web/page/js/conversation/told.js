// What the session that goes on was told at its start, and each thing's veto: from the next message on.
import { api } from "../api.js";
import { Dialog, tellFailure } from "../dialog.js";
import { Failed, useLoaded } from "../load.js";
import { pref } from "../prefs.js";
import { html, useState } from "../ui.js";
import { Items } from "./strip.js";

const read = (id) => api.get(`/api/memory/start?conversation=${encodeURIComponent(id)}`);

/** A running session keeps its own vetoes; before one begins they wait beside the draft. */
function useVetoes(id, told, setTold) {
  const waiting = pref(`veto.${id}`, []);
  if (told?.session !== "running") return [waiting.value, (next) => { waiting.value = next; }];
  const change = async (items) => {
    try {
      setTold(await api.put(`/api/conversations/${id}/memory/veto`, { items }));
    } catch (error) {
      tellFailure(error);
      setTold(await read(id).catch(() => told)); // the session may have ended meanwhile
    }
  };
  return [[...new Set(told.items.filter(({ vetoed }) => vetoed).map((item) => item.id))], change];
}

const LEADS = {
  running: "What you set aside is not told again, from your next message on.",
  new: "Your next message begins a session. What you set aside is not told in it.",
};

export function ToldSheet({ id, onClose }) {
  const [first, failure, again] = useLoaded(() => read(id), [id]);
  const [newer, setTold] = useState(null);
  const told = newer ?? first;
  const [vetoed, change] = useVetoes(id, told, setTold);
  return html`
    <${Dialog} title="What I remember and use here" onClose=${onClose} wide>
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!told && !failure && html`<p class="soft" role="status">Asking memory …</p>`}
      ${told && !told.memory && html`<p>Memory is switched off for this conversation’s recipe, so nothing from before is told.</p>`}
      ${told?.memory && !told.items.length && html`<p>Nothing from before is told in this session.</p>`}
      ${told?.items.length > 0 && html`<p class="soft">${LEADS[told.session]}</p><${Items} told=${told} vetoed=${vetoed} onChange=${change} />`}
    <//>`;
}
