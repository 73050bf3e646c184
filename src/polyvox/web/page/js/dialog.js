// @ts-check
// What comes over the page: dialogs, questions, short notices. One <dialog>, the browser's own.
import { html, signal, useEffect, useId, useRef } from "./ui.js";

/** A modal dialog: Escape and a click beside it close it; focus returns to where it was. */
export function Dialog({ title, onClose, children, wide = false, full = false, tools }) {
  const box = useRef(null);
  const name = useId();
  useEffect(() => {
    const before = /** @type {HTMLElement} */ (document.activeElement);
    box.current.showModal();
    return () => before?.isConnected && before.focus({ preventScroll: true });
  }, []);
  const beside = (event) => event.target === box.current && onClose();
  const cancel = (event) => { event.preventDefault(); onClose(); };
  return html`
    <dialog ref=${box} class=${`sheet${wide ? " wide" : ""}${full ? " full" : ""}`} aria-labelledby=${name}
      onMouseDown=${beside} onCancel=${cancel}>
      <div class="sheet-in">
        <header class="sheet-head">
          <h2 id=${name}>${title}</h2>
          <div class="tools">${tools}<button type="button" onClick=${onClose}>Close</button></div>
        </header>
        <div class="sheet-body" tabindex="0">${children}</div>
      </div>
    </dialog>`;
}

const notices = signal([]);
let last = 0;

/** A short notice at the edge of the page; failures stay until they are put away. */
export function notify(text, { hint = "", bad = false } = {}) {
  const id = ++last;
  notices.value = [...notices.value, { id, text, hint, bad }];
  if (!bad) setTimeout(() => dismiss(id), 5000);
}

/** What a Failure says, as a notice. */
export const notifyFailure = (error) => notify(error.message, { hint: error.hint, bad: true });

const dismiss = (id) => { notices.value = notices.value.filter((notice) => notice.id !== id); };

export function Notices() {
  return html`
    <div class="notices" role="status" aria-live="polite">
      ${notices.value.map(({ id, text, hint, bad }) => html`
        <div key=${id} class=${bad ? "notice bad" : "notice"}>
          <p><b>${text}</b> ${hint}</p>
          <button type="button" aria-label="Put this notice away" onClick=${() => dismiss(id)}>×</button>
        </div>`)}
    </div>`;
}

const question = signal(null);

/** Ask before something that cannot be undone: resolves to true or false. */
export function confirm(text, { detail = "", yes = "Yes", no = "Keep" } = {}) {
  return new Promise((resolve) => {
    question.value = {
      text, detail, yes, no, answer: (yesPressed) => { question.value = null; resolve(yesPressed); }
    };
  });
}

export function Question() {
  const asked = question.value;
  if (!asked) return null;
  return html`
    <${Dialog} title=${asked.text} onClose=${() => asked.answer(false)}>
      ${asked.detail && html`<p>${asked.detail}</p>`}
      <div class="row end">
        <button type="button" class="plain" autofocus onClick=${() => asked.answer(false)}>${asked.no}</button>
        <button type="button" class="solid bad" onClick=${() => asked.answer(true)}>${asked.yes}</button>
      </div>
    <//>`;
}

/** Put a text on the clipboard, and say so. */
export async function copy(text, what = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "aside";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  notify(what);
}
