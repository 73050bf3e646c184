// @ts-check
// Keys: put in, never shown again. Where a key is set elsewhere, we say where.
import { api } from "../api.js";
import { confirm, notifyFailure } from "../dialog.js";
import { useForm } from "../form.js";
import { html, useId, useState } from "../ui.js";
import { settingsState, loadSettings, trialModel } from "./state.js";

const MAKERS = {
  openrouter: "openrouter.ai/keys", anthropic: "console.anthropic.com", openai: "platform.openai.com/api-keys",
  gemini: "aistudio.google.com/apikey",
};
const NAMES = {
  openrouter: "OpenRouter", anthropic: "Anthropic", openai: "OpenAI", gemini: "Gemini", ollama: "Ollama"
};
export const providerName = (name) => NAMES[name] ?? name;

/** Where a key comes from, for people. */
function place(source) {
  const [kind, name] = source.split(/:(.*)/s);
  if (kind === "env") return html`the environment (<code>${name}</code>)`;
  if (kind === "keyring") return html`the system's keyring (<code>${name}</code>)`;
  return "the configuration file";
}

function Status({ row }) {
  if (row.key === "missing") {
    const [kind, name] = row.source.split(/:(.*)/s);
    return html`
      <span>
        No key yet${kind === "env" ? html`, neither here nor in the environment (<code>${name}</code>)` : ""}.
      </span>`;
  }
  if (row.key === "not needed") return html`<span>Works without a key.</span>`;
  return html`
    <span>
      <b class="yes">A key is set</b>
      , ${row.source.startsWith("stored:") ? "kept by this page" : html`by ${place(row.source)}`}. ${row.overruled
        && "The one put in here is kept but not used: what is set there comes first."}
    </span>`;
}

function KeyForm({ row, onDone }) {
  const id = useId();
  const [text, setText] = useState("");
  const { busy, failure, submit } = useForm(async () => {
    await api.put(`/api/keys/${encodeURIComponent(row.provider)}`, { key: text });
    await loadSettings();
    onDone(true);
  });
  const maker = MAKERS[row.provider];
  return html`
    <form class="key-form" onSubmit=${submit}>
      <label class="aside" for=${id}>Key for ${providerName(row.provider)}</label>
      <input id=${id} type="password" autocomplete="off" spellcheck=${false} placeholder="Paste the key" value=${text}
        autofocus
        ref=${(field) => { if (field && !field.dataset.seen) { field.dataset.seen = "1"; field.focus(); } }}
        aria-invalid=${failure ? "true" : undefined} aria-describedby=${`${id}-said`}
        onInput=${(event) => setText(event.target.value)} />
      <div class="row">
        <button class="solid" disabled=${busy || !text.trim()}>Keep the key</button>
        <button type="button" class="plain" onClick=${() => onDone(false)}>Cancel</button>
      </div>
      <p class="said" id=${`${id}-said`} role="status">
        ${failure ? html`<span class="wrong"><b>${failure.message}</b> ${failure.hint}</span>`
          : html`
            <span>
              It is kept on the machine Polyvox runs on, sent to this provider alone, and never shown again.${maker
                ? html` You get one at <a href=${`https://${maker}`} target="_blank" rel="noopener noreferrer">
                  ${maker}
                </a>
                .`
                : ""}
            </span>`}
      </p>
    </form>`;
}

async function forget(row) {
  const name = providerName(row.provider);
  const confirmed =
    await confirm(`Remove the key for ${name}?`, {
      detail: "It is deleted here. At the provider it stays valid until you revoke it there.", yes: "Remove the key"
    });
  if (!confirmed) return;
  try {
    await api.del(`/api/keys/${encodeURIComponent(row.provider)}`);
    await loadSettings();
  } catch (error) {
    notifyFailure(error);
  }
}

function KeyRow({ row }) {
  const [open, setOpen] = useState(false);
  const [kept, setKept] = useState(false);
  const name = providerName(row.provider);
  return html`
    <div class="setting" data-provider=${row.provider}>
      <div class="what"><h3>${name}</h3><small><${Status} row=${row} /></small></div>
      <div class="value">
        ${open ? html`<${KeyForm} row=${row} onDone=${(done) => { setOpen(false); setKept(done); }} />` : html`
          <div class="tools">
            ${(row.stored || row.key !== "present") && html`
              <button type="button" aria-label=${`${row.stored ? "Replace the" : "Add a"} key for ${name}`}
                onClick=${() => setOpen(true)}>
                ${row.stored ? "Replace" : "Add a key"}
              </button>`}
            ${row.stored && html`
              <button type="button" aria-label=${`Remove the key for ${name}`} onClick=${() => forget(row)}>
                Remove
              </button>`}
            ${row.key !== "missing" && html`<${Check} provider=${row.provider} name=${name} />`}
          </div>
          ${kept && row.stored && html`<p class="said" role="status"><span class="kept">The key is kept.</span></p>`}`}
      </div>
    </div>`;
}

export function Keys() {
  const rows = settingsState.value.keys;
  const needed = rows.filter((row) => row.key !== "not needed");
  const rest = rows.filter((row) => row.key === "not needed");
  return [...needed, ...rest].map((row) => html`<${KeyRow} key=${row.provider} row=${row} />`);
}

// One short call to a model, and how it went. It costs a word, so it is made only when asked for.
async function tryModel(model) {
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
  const [state, setState] = useState({ busy: false, asking: false, result: null });
  const [model, setModel] = useState("");
  const run = async (full) => {
    setState({ busy: true, asking: false, result: null });
    setState({ busy: false, asking: false, result: await tryModel(full) });
  };
  const asked = model.trim().startsWith(`${provider}:`) ? model.trim() : `${provider}:${model.trim()}`;
  const start = () => (first ? run(first) : setState({ busy: false, asking: true, result: null }));
  return html`
    <button type="button" aria-label=${`Check ${name}`} disabled=${state.busy} onClick=${start}>Check</button>
    ${state.asking && html`
      <form class="try" onSubmit=${(event) => { event.preventDefault(); if (model.trim()) run(asked); }}>
        <label class="aside" for=${id}>A model of ${name} to try</label>
        <input id=${id} type="text" placeholder="A model to try" autocomplete="off" spellcheck=${false} value=${model}
          onInput=${(event) => setModel(event.target.value)} />
        <button disabled=${!model.trim()}>Try it</button>
      </form>`}
    <p class="said" role="status">
      ${state.busy && html`<span>Asking for one word …</span>`}
      ${state.result && html`<${Result} result=${state.result} />`}
    </p>`;
}
