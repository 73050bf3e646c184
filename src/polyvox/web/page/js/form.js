// @ts-check
// A labelled control with its explanation and, where the server refused it, what the server said.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "./ui.js";

/**
 * A form that is sent: `{busy, failure, submit, clear}`. `send` sends it, or throws what the server
 * says against it. Nothing is sent twice at once; what was aborted has not failed.
 * @param {(...given: any[]) => Promise<any>} send
 */
export function useForm(send) {
  const [{ busy, failure }, setState] = useState({ busy: false, failure: null });
  const sending = useRef(false);
  const submit = async (event, ...given) => {
    event?.preventDefault();
    if (sending.current) return;
    sending.current = true;
    setState({ busy: true, failure: null });
    let refused = null;
    try {
      await send(...given);
    } catch (error) {
      if (error.name !== "AbortError") refused = error;
    }
    sending.current = false;
    setState({ busy: false, failure: refused });
  };
  const clear = () => setState((now) => ({ ...now, failure: null }));
  return { busy, failure, submit, clear };
}

/** The list with one thing moved, for things that come in an order. */
export function moved(list, from, to) {
  const next = [...list];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

/** Brings what the server refused into view, wherever on a long page it stands. */
export function useScrollToError(failure) {
  useEffect(() => {
    if (failure) document.querySelector('.room :is([aria-invalid="true"], .err)')?.scrollIntoView({ block: "center" });
  }, [failure]);
}

/** What a failure says about one field (or a part of it), without the field's name in front. */
export function errorOf(failure, field) {
  const param = failure?.param || "";
  if (param !== field && !param.startsWith(`${field}.`)) return null;
  const message = failure.message.startsWith(`${param}: `) ? failure.message.slice(param.length + 2) : failure.message;
  const hint = failure.hint === "Correct that value." ? "" : failure.hint;
  return { message: message.charAt(0).toUpperCase() + message.slice(1), hint };
}

/**
 * `children` is a function that is given the attributes its control must carry, so that label,
 * explanation and error belong to it for everybody.
 */
export function Field({ label, hint, wrong, mark, tools, children, class: more = "" }) {
  const id = useId();
  const about = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  return html`
    <div class=${`field ${more}`}>
      <div class="field-head">
        <label for=${id}>${label}</label>${mark}${tools && html`<span class="tools">${tools}</span>`}
      </div>
      ${children({ id, "aria-describedby": about || undefined, "aria-invalid": wrong ? "true" : undefined })}
      ${hint && html`<small id=${`${id}-hint`}>${hint}</small>`}
      ${wrong && html`<small class="wrong" id=${`${id}-wrong`} role="alert">${wrong.message} ${wrong.hint}</small>`}
    </div>`;
}

/** One of a few choices, each with a sentence that explains it. */
export function Choices({ legend, value, options, onChange, wrong, hidden = false }) {
  const name = useId();
  return html`
    <fieldset class="picks">
      <legend class=${hidden ? "aside" : ""}>${legend}</legend>
      ${options.map(({ value: option, label, says }) => html`
        <label key=${option} class="pick">
          <input type="radio" name=${name} value=${option} checked=${option === value}
            onChange=${() => onChange(option)} />
          <span><b>${label}</b>${says && html`<small>${says}</small>`}</span>
        </label>`)}
      ${wrong && html`<small class="wrong" role="alert">${wrong.message} ${wrong.hint}</small>`}
    </fieldset>`;
}

/** A number that may be left empty; what cannot be read as one is not passed on. Its text is the
 * browser's: written back while somebody types, "0." would become "0". */
export function NumberField({ label, hint, wrong, value, onChange, min, max, step = 1, placeholder = "", mark }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const { current: input } = box;
    const shown = input.value === "" ? null : input.valueAsNumber;
    if (!input.validity.badInput && shown !== (value ?? null)) input.value = value ?? "";
  }, [value]);
  const read = ({ currentTarget: input }) => {
    if (input.value !== "") onChange(input.valueAsNumber);
    else if (!input.validity.badInput) onChange(null);
  };
  return html`
    <${Field} label=${label} hint=${hint} wrong=${wrong} mark=${mark}>
      ${(attributes) => html`
        <input type="number" inputmode="decimal" ref=${box} ...${attributes} min=${min} max=${max} step=${step}
          placeholder=${placeholder} onInput=${read} />`}
    <//>`;
}

/** On or off, said by more than colour. */
export function Switch({ label, on, onChange, hidden = false, disabled = false }) {
  return html`
    <label class="switch">
      <input type="checkbox" role="switch" checked=${on} disabled=${disabled} aria-label=${hidden ? label : undefined}
        onChange=${(event) => onChange(event.currentTarget.checked)} />
      ${hidden ? null : html`<span>${label}</span>`}
    </label>`;
}
