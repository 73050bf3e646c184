// @ts-check
// Providers: those that are built in, and addresses of one's own.
import { api } from "../api.js";
import { Dialog, confirm, notify, notifyFailure } from "../dialog.js";
import { useForm } from "../form.js";
import { html, useId, useState } from "../ui.js";
import { providerName } from "./keys.js";
import { settingsState, loadSettings } from "./state.js";

const BLANK = {
  name: "", kind: "openai", base_url: "", models: [], requests_per_minute: null, concurrency: null, min_delay: 0
};
const WIRES = { openai: "OpenAI-compatible", anthropic: "Anthropic-compatible" };
const bare = (row) => row.models.map((full) => full.slice(row.name.length + 1));
const text = (value) => (value === null ? "" : String(value));
const numeric = (value) => (value.trim() === "" ? null : Number(value.trim().replace(",", ".")));

/** The description to send. What is built in and was not touched is left out. */
function described(row, draft) {
  const body = {
    requests_per_minute: numeric(draft.requests_per_minute), concurrency: numeric(draft.concurrency),
    min_delay: numeric(draft.min_delay) ?? 0
  };
  const models = draft.models.split(/[\s,]+/)
    .filter(Boolean)
    .map((model) => (model.startsWith(`${draft.name}:`) ? model.slice(draft.name.length + 1) : model));
  if (row.origin !== "built in" || models.join() !== bare(row).join()) body.models = models;
  return row.address_fixed ? body : { ...body, kind: draft.kind, base_url: draft.base_url.trim() };
}

function Field({ name, label, help, draft, set, error, children, ...more }) {
  const id = useId();
  const wrong = error?.param === name;
  const attrs = {
    id, value: draft[name], "aria-describedby": `${id}-help`, "aria-invalid": wrong ? "true" : undefined
  };
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${children ? html`<select ...${attrs} onChange=${(event) => set(name, event.target.value)}>${children}</select>`
        : html`
          <input ...${attrs} ...${more} type="text" autocomplete="off" spellcheck=${false}
            onInput=${(event) => set(name, event.target.value)} />`}
      <small id=${`${id}-help`}>
        ${wrong ? html`<span class="wrong"><b>${error.message}</b> ${error.hint}</span>` : help}
      </small>
    </div>`;
}

function ProviderForm({ row, onClose }) {
  const made = Boolean(row.name);
  const [draft, setDraft] = useState({
    ...row, models: bare(row).join(", "), requests_per_minute: text(row.requests_per_minute),
    concurrency: text(row.concurrency), min_delay: text(row.min_delay || null)
  });
  const set = (name, value) => setDraft((now) => ({ ...now, [name]: value }));
  const { busy, failure, submit } = useForm(async () => {
    const saved = await api.put(`/api/providers/${encodeURIComponent(draft.name.trim())}`, described(row, draft));
    await loadSettings();
    if (row.key_stored && !saved.key_stored) {
      notify("The key was removed with the old address.", { hint: "Put it in again under Keys.", bad: true });
    }
    onClose();
  });
  const shared = { draft, set, error: failure };
  const placed = ["name", "kind", "base_url", "models", "requests_per_minute", "concurrency", "min_delay"];
  return html`
    <${Dialog} title=${made ? providerName(row.name) : "A provider of your own"} onClose=${onClose}>
      <form class="stack" onSubmit=${submit}>
        ${!made && html`
          <${Field} name="name" label="Name"
            help=${html`
              Its models are then written <code>${draft.name.trim() || "name"}:model</code>
              . Small letters, digits, - and _.`}
            ...${shared} />`}
        ${!row.address_fixed && html`
          <${Field} name="base_url" label="Address" inputmode="url" placeholder="http://127.0.0.1:8080/v1"
            help="Where its API begins." ...${shared} />
          <${Field} name="kind" label="Speaks like" help="Most servers speak as OpenAI's does." ...${shared}>
            ${Object.entries(WIRES).map(([kind, name]) => html`<option key=${kind} value=${kind}>${name}</option>`)}
          <//>`}
        <${Field} name="models" label="Models"
          help="Names to suggest, with commas between them. Others can still be used." ...${shared} />
        <div class="trio">
          <${Field} name="requests_per_minute" label="Requests a minute" inputmode="decimal" placeholder="any"
            help="At most." ...${shared} />
          <${Field} name="concurrency" label="At once" inputmode="numeric" placeholder="any"
            help="Requests under way." ...${shared} />
          <${Field} name="min_delay" label="Pause" inputmode="decimal" placeholder="none" help="Seconds between two."
            ...${shared} />
        </div>
        ${failure && !placed.includes(failure.param) && html`
          <p class="err" role="alert"><b>${failure.message}</b> ${failure.hint}</p>`}
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Cancel</button>
          <button class="solid" disabled=${busy || !draft.name.trim()}>Keep</button>
        </div>
      </form>
    <//>`;
}

async function forget(row) {
  const back = row.address_fixed || row.name === "ollama";
  const name = providerName(row.name);
  const confirmed = await confirm(back ? `Put ${name} back as it was built in?` : `Remove ${name}?`, {
    detail: back
      ? "Its key stays."
      : "Its key is removed too. Advisors that use its models will say that it is missing.",
    yes: back ? "Put it back" : "Remove it",
  });
  if (!confirmed) return;
  try {
    await api.del(`/api/providers/${encodeURIComponent(row.name)}`);
    await loadSettings();
  } catch (error) {
    notifyFailure(error);
  }
}

function pace(row) {
  const parts = [];
  if (row.requests_per_minute) parts.push(`at most ${row.requests_per_minute} a minute`);
  if (row.concurrency) parts.push(`${row.concurrency} at once`);
  if (row.min_delay) parts.push(`${row.min_delay} s apart`);
  return parts.join(", ");
}

function ProviderRow({ row, onEdit }) {
  const name = providerName(row.name);
  const own = row.origin === "page";
  return html`
    <div class="setting" data-provider=${row.name}>
      <div class="what">
        <h3>${name}</h3>
        <small><code>${row.base_url}</code></small>
        <small>${[WIRES[row.kind] ?? row.kind, pace(row)].filter(Boolean).join(" · ")}</small>
        ${row.locked && html`<small class="lock">Set in ${row.where}; change it there.</small>`}
      </div>
      <div class="value"><div class="tools">
        ${!row.locked && html`
          <button type="button" aria-label=${`Change ${name}`} onClick=${() => onEdit(row)}>Change</button>`}
        ${own && html`
          <button type="button" aria-label=${`${row.address_fixed ? "Put back" : "Remove"} ${name}`}
            onClick=${() => forget(row)}>
            ${row.address_fixed ? "Put back" : "Remove"}
          </button>`}
      </div></div>
    </div>`;
}

export function Providers() {
  const [editing, setEditing] = useState(null);
  const all = settingsState.value.providers;
  const list = (rows) => rows.map((row) => html`<${ProviderRow} key=${row.name} row=${row} onEdit=${setEditing} />`);
  return html`
    ${list(all.filter((row) => !row.address_fixed))}
    <details class="inner">
      <summary>
        Those with an address of their own: ${all.filter((row) => row.address_fixed)
          .map((row) => providerName(row.name))
          .join(", ")}
      </summary>
      ${list(all.filter((row) => row.address_fixed))}
    </details>
    <p class="add">
      <button type="button" class="plain" onClick=${() => setEditing({ ...BLANK, origin: "page" })}>
        Add a provider
      </button>
    </p>
    ${editing && html`<${ProviderForm} row=${editing} onClose=${() => setEditing(null)} />`}`;
}
