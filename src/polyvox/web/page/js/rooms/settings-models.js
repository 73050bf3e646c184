// A list of models in an order: the fallbacks.
import { html, useEffect, useRef, useState } from "../ui.js";

function moved(list, from, by) {
  const next = [...list];
  const [one] = next.splice(from, 1);
  next.splice(from + by, 0, one);
  return next;
}

function Line({ name, at, list, save, locked }) {
  const others = list.filter((_, i) => i !== at);
  return html`
    <li>
      <code>${name}</code>
      ${!locked && html`<span class="tools">
        <button type="button" aria-label=${`Try ${name} earlier`} disabled=${at === 0} onClick=${() => save(moved(list, at, -1))}>↑</button>
        <button type="button" aria-label=${`Try ${name} later`} disabled=${at === list.length - 1} onClick=${() => save(moved(list, at, 1))}>↓</button>
        <button type="button" aria-label=${`Do not fall back to ${name}`} onClick=${() => save(others)}>Remove</button>
      </span>`}
    </li>`;
}

export function ModelsField({ row, attrs, save }) {
  const [text, setText] = useState("");
  const list = useRef(row.value); // what was sent last, though its answer may be on its way
  useEffect(() => { list.current = row.value; }, [row.value]);
  const add = async () => {
    const name = text.trim();
    if (!name) return;
    setText(""); // at once: the next name may be typed before this one is kept
    list.current = [...list.current.filter((one) => one !== name), name];
    if (await save(list.current)) return;
    list.current = row.value;
    setText((typed) => typed || name);
  };
  return html`
    <div class="ordered">
      ${row.value.length > 0 && html`<ol>${row.value.map((name, at) => html`<${Line} key=${name} name=${name} at=${at} list=${row.value} save=${save} locked=${row.locked} />`)}</ol>`}
      <div class="row">
        <input ...${attrs} type="text" list="every-model" placeholder=${row.value.length ? "and then …" : "none; name one to add it"} autocomplete="off" spellcheck=${false}
          value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => { if (event.key === "Enter") add(); }} />
        ${text.trim() && html`<button type="button" class="plain" onClick=${add}>Add</button>`}
      </div>
    </div>`;
}
