// The sheet of keyboard shortcuts, made from the commands there are at this moment.
import { Dialog } from "./dialog.js";
import { commands, letterKeys, nameOf, sheet, strokes } from "./shortcuts.js";
import { html } from "./ui.js";

const ORDER = ["Everywhere", "Go"];

function grouped() {
  const groups = new Map(ORDER.map((name) => [name, []]));
  for (const one of commands.value) {
    if (!one.keys.length) continue;
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(one);
  }
  return [...groups].filter(([, rows]) => rows.length);
}

/** The keys of a command, as they are printed on the keyboard. */
export function Keys({ keys }) {
  return html`<span class="keys">${keys.map((one, i) => html`
    ${i > 0 && html`<i> or </i>`}
    ${strokes(one).map((stroke, n) => html`
      ${n > 0 && html`<i> then </i>`}
      ${stroke.map((key) => html`<kbd>${key}</kbd>`)}`)}`)}</span>`;
}

function Group({ name, rows }) {
  return html`
    <section class="keyring">
      <h3>${name}</h3>
      <dl>${rows.map((one) => html`
        <div key=${one.id}><dt>${nameOf(one)}</dt><dd><${Keys} keys=${one.keys} /></dd></div>`)}</dl>
    </section>`;
}

export function Help() {
  if (sheet.value !== "help") return null;
  return html`
    <${Dialog} title="Keyboard shortcuts" wide onClose=${() => { sheet.value = ""; }}>
      <p class="soft">Letters act when you are not writing in a field. No shortcut deletes anything.</p>
      <div class="keyrings">${grouped().map(([name, rows]) => html`<${Group} key=${name} name=${name} rows=${rows} />`)}</div>
      <label class="tick">
        <input type="checkbox" checked=${letterKeys.value} onChange=${(event) => { letterKeys.value = event.target.checked; }} />
        <span>Letters alone are shortcuts. Switch this off if you speak to your computer; those with ${strokes("mod+k")[0][0]} stay.</span>
      </label>
    <//>`;
}
