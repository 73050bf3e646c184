// One short call to a model, and how it went. It costs a word, so it is made only when asked for.
import { api } from "../api.js";
import { html, useId, useState } from "../ui.js";
import { trialModel } from "./settings-state.js";

async function tried(model) {
  try {
    return await api.post("/api/models/check", { model });
  } catch (error) {
    return { model, ok: false, message: error.message, hint: error.hint };
  }
}

function Result({ result }) {
  if (result.ok) {
    const after = result.first_byte_ms === null ? "" : ` after ${(result.first_byte_ms / 1000).toFixed(1)} s`;
    return html`<span class="kept">It works: <code>${result.model}</code> answered${after}.</span>`;
  }
  return html`<span class="wrong"><b>${result.message}</b> ${result.hint} <code>${result.model}</code></span>`;
}

export function Check({ provider, name }) {
  const id = useId();
  const first = trialModel(provider);
  const [state, setState] = useState({});
  const [model, setModel] = useState("");
  const run = async (full) => {
    setState({ busy: true });
    setState({ result: await tried(full) });
  };
  const asked = model.trim().startsWith(`${provider}:`) ? model.trim() : `${provider}:${model.trim()}`;
  const start = () => (first ? run(first) : setState({ asking: true }));
  return html`
    <button type="button" aria-label=${`Check ${name}`} disabled=${state.busy} onClick=${start}>Check</button>
    ${state.asking && html`
      <form class="try" onSubmit=${(event) => { event.preventDefault(); if (model.trim()) run(asked); }}>
        <label class="aside" for=${id}>A model of ${name} to try</label>
        <input id=${id} type="text" placeholder="A model to try" autocomplete="off" spellcheck=${false} value=${model} onInput=${(event) => setModel(event.target.value)} />
        <button disabled=${!model.trim()}>Try it</button>
      </form>`}
    <p class="said" role="status">
      ${state.busy && html`<span>Asking for one word …</span>`}
      ${state.result && html`<${Result} result=${state.result} />`}
    </p>`;
}
