// @ts-check
// Plots, typeset: drawn at the width they have, so that their letters are as large as the page's.
// A plot is one picture with a sentence that says what it shows; its numbers stand in a table too.
import { html, useLayoutEffect, useRef, useState } from "../ui.js";

/**
 * The ref to put on an element, and its width in pixels.
 * @returns {[{ current: any }, number]}
 */
function useWidth() {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const look = () => setWidth(Math.floor(ref.current?.clientWidth ?? 0));
    const watch = new ResizeObserver(look);
    watch.observe(ref.current);
    look();
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}

/** Round marks from 0 to at least `most`: a few of them, each 1, 2 or 5 times a power of ten. */
function ticks(most, few = 4, least = 0) {
  if (!(most > 0)) return [0, Math.max(1, least)];
  const rough = most / few;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].find((n) => n * power >= rough * 0.999) * power);
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => i * step);
}

/** A text cut to a width. */
function fitted(text, width, each = 7.2) {
  const chars = Array.from(text);
  const room = Math.max(1, Math.floor(width / each));
  return chars.length <= room ? text : `${chars.slice(0, room - 1).join("").trimEnd()}…`;
}

const sum = (parts) => parts.reduce((all, part) => all + part.value, 0);

function Columns({ bars, x, wide, y, base, chosen }) {
  return bars.map((bar, i) => {
    let top = base;
    return html`
      <g key=${bar.key} class=${chosen === i ? "bar on" : "bar"}>
        ${bar.parts.map((part) => {
          const height = base - y(part.value);
          top -= height;
          return height > 0 && html`
            <rect class=${`part ${part.kind}`} x=${x(i)} y=${top} width=${wide} height=${Math.max(height, 1)} />`;
        })}
        ${bar.unknown && html`<text class="unknown" x=${x(i) + wide / 2} y=${base - 4}>?</text>`}
      </g>`;
  });
}

/**
 * Upright bars over time. `bars`: `{key, label, tick, parts: [{value, kind}], unknown, says}`, where
 * `tick` is the label under the axis and `says` what is shown of a bar under the pointer.
 */
export function TimePlot({ bars, format, summary, height = 230, least = 0 }) {
  const [ref, width] = useWidth();
  const [chosen, setChosen] = useState(null);
  const marks = ticks(Math.max(0, ...bars.map((bar) => sum(bar.parts))), 4, least);
  const top = marks[marks.length - 1];
  const left = Math.max(34, ...marks.map((mark) => format(mark).length * 7.3 + 12));
  const [head, foot] = [12, 26];
  const base = height - foot;
  const pitch = Math.max(1, width - left) / Math.max(1, bars.length);
  const wide = Math.max(1, Math.min(pitch * 0.72, 46));
  const x = (i) => left + i * pitch + (pitch - wide) / 2;
  const y = (value) => base - (value / top) * (base - head);
  const every = Math.max(1, Math.ceil(62 / pitch));
  const point = (event) => {
    const at = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left - left) / pitch);
    setChosen(at >= 0 && at < bars.length ? at : null);
  };
  return html`
    <figure class="plot" ref=${ref}>
      ${width > 0 && html`
        <svg role="img" aria-label=${summary} width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}
          onPointerMove=${point} onPointerLeave=${() => setChosen(null)}>
          ${marks.map((mark) => html`
            <g key=${mark}>
              <line class=${mark ? "grid" : "axis"} x1=${left} x2=${width} y1=${Math.round(y(mark)) + 0.5}
                y2=${Math.round(y(mark)) + 0.5} />
              <text class="mark" x=${left - 10} y=${y(mark) + 4} text-anchor="end">${format(mark)}</text>
            </g>`)}
          <${Columns} bars=${bars} x=${x} wide=${wide} y=${y} base=${base} chosen=${chosen} />
          ${bars.map((bar, i) => (bars.length - 1 - i) % every === 0 && x(i) + wide / 2 - 22 > left - 20 && html`
            <text key=${bar.key} class="mark" x=${Math.min(x(i) + wide / 2, width - 20)} y=${height - 8}
              text-anchor="middle">
              ${bar.tick}
            </text>`)}
        </svg>`}
      <figcaption class="stamp" aria-hidden="true">
        ${chosen !== null && bars[chosen] ? bars[chosen].says : "\u00a0"}
      </figcaption>
    </figure>`;
}

function Lying({ row, width, y, top, narrow }) {
  const label = narrow ? width * 0.66 : Math.min(260, width * 0.26);
  const [left, right] = narrow ? [0, 0] : [label + 14, 130];
  const scale = Math.max(0, width - left - right) / top;
  let x = left;
  return html`
    <g data-c=${row.color ? "" : undefined} style=${row.color ? { "--c": row.color } : undefined} class="lying">
      <text class="name" x="0" y=${y + (narrow ? 14 : 17)}>${fitted(row.label, label)}</text>
      <text class="mark" x=${width} y=${y + (narrow ? 14 : 17)} text-anchor="end">${row.value}</text>
      ${row.parts.map((part) => {
        const from = x;
        x += part.value * scale;
        return part.value > 0 && html`
          <rect class=${`part ${part.kind}`} x=${from} y=${y + (narrow ? 22 : 6)}
            width=${Math.max(1, part.value * scale)} height=${narrow ? 10 : 14} />`;
      })}
      <line class="grid" x1="0" x2=${width} y1=${y + (narrow ? 41.5 : 27.5)} y2=${y + (narrow ? 41.5 : 27.5)} />
    </g>`;
}

/** Lying bars, one to a row: `{key, label, parts: [{value, kind}], value, color}`. */
export function BarPlot({ rows, summary }) {
  const [ref, width] = useWidth();
  const narrow = width < 560;
  const each = narrow ? 46 : 32;
  const top = Math.max(...rows.map((row) => sum(row.parts))) || 1;
  return html`
    <figure class="plot" ref=${ref}>
      ${width > 0 && html`
        <svg role="img" aria-label=${summary} width=${width} height=${rows.length * each}
          viewBox=${`0 0 ${width} ${rows.length * each}`}>
          ${rows.map((row, i) => html`
            <${Lying} key=${row.key} row=${row} width=${width} y=${i * each} top=${top} narrow=${narrow} />`)}
        </svg>`}
    </figure>`;
}
