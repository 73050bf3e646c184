// @ts-check
// What was used and what it cost: by day, by advisor, by model.
import { api } from "../api.js";
import { useCurrent } from "../current.js";
import { advisorById, colorOf } from "../lists.js";
import { pref } from "../prefs.js";
import { html, useCallback, useEffect, useState } from "../ui.js";
import { money, number, plural, compactNumber } from "../words.js";
import { BarPlot, TimePlot } from "./plot.js";

const measure = pref("usage.measure", "tokens");
const range = pref("usage.range", "30");
const NAMES = { assistant: "Assistant", synthesis: "Synthesis", memory: "Memory", "": "Through the API" };

const all = (row) => row.input_tokens + row.output_tokens;
const partsOf = (row) => (measure.value === "cost"
  ? [{ kind: "one", value: row.cost ?? 0 }]
  : [{ kind: "out", value: row.output_tokens }, { kind: "in", value: row.input_tokens }]);
const amount = (row) => (measure.value === "cost" ? money(row.cost) : number(all(row)));

function nameOf(by, key) {
  if (by === "model") return key || "unknown model";
  if (by === "day") return dayName(key);
  return advisorById.value.get(key)?.name ?? NAMES[key ?? ""] ?? (key === "door" ? NAMES[""] : "A removed advisor");
}

/** Dollars on an axis: as many decimals as its steps need. */
function dollars(value) {
  if (!value) return "$0";
  const needed = value < 0.01 ? 2 - Math.ceil(Math.log10(value)) : value < 1 ? 2 : 0;
  return `$${value.toFixed(Math.max(needed, Number.isInteger(value) ? 0 : 2))}`;
}

function Sum({ total }) {
  const free = total.cost === 0 && !total.unpriced;
  const known = total.unpriced < total.answers;
  return html`
    <p class="sum">
      <b>${plural(total.answers, "answer")}</b>${" "}read <b>${number(total.input_tokens)}</b> tokens and wrote
      ${" "}
      <b>${number(total.output_tokens)}</b>
      ${free ? html`, <b>at no cost</b>.` : known ? html`, for <b>${money(total.cost)}</b>.` : "."}
      ${total.unpriced > 0 && html` ${known
        ? `${plural(total.unpriced, "answer")} came`
        : "All of them came"} from models whose price is not known${known
          ? "; they are not in that sum"
          : ", so no sum can be given"}.`}
      ${total.estimated > 0 && html` Of ${plural(
        total.estimated, "answer"
      )} the provider reported no tokens; those are estimated.`}
    </p>`;
}

function Choice({ name, value, options }) {
  return html`
    <fieldset class="choice">
      <legend class="aside">${name}</legend>
      ${options.map(([key, label]) => html`
        <label key=${key}>
          <input type="radio" name=${name} checked=${value.value === key} onChange=${() => { value.value = key; }} />
          <span>${label}</span>
        </label>`)}
    </fieldset>`;
}

function Legend() {
  if (measure.value === "cost") return null;
  return html`<p class="plot-legend stamp"><i class="out"></i>written <i class="in"></i>read</p>`;
}

function Numbers({ by, rows, head }) {
  return html`
    <details class="numbers">
      <summary>The same in numbers</summary>
      <div class="wide-table" tabindex="0" role="region" aria-label=${`Usage by ${by}, in numbers`}>
        <table class="set">
          <thead>
            <tr>
              <th scope="col">${head}</th><th scope="col" class="num">Answers</th><th scope="col" class="num">Read</th>
            <th scope="col" class="num">Written</th><th scope="col" class="num">Cost</th></tr></thead>
          <tbody>${rows.map((row) => html`
            <tr key=${row.key}>
              <th scope="row">${nameOf(by, row.key)}</th>
              <td class="num">${number(row.answers)}</td>
              <td class="num">${number(row.input_tokens)}</td>
              <td class="num">${number(row.output_tokens)}</td>
              <td class="num">
                ${money(row.cost)}${row.cost !== null && row.unpriced > 0 ? ` + ${number(row.unpriced)} unknown` : ""}
              </td>
            </tr>`)}</tbody>
        </table>
      </div>
    </details>`;
}

const unit = () => (measure.value === "cost" ? "Cost in dollars" : "Tokens");

function Days({ rows }) {
  const bars = fillDays(rows, range.value).map((bin) => ({
    key: bin.key, tick: bin.tick, parts: partsOf(bin),
    unknown: measure.value === "cost" && bin.unpriced > 0 && !bin.cost,
    says: bin.answers
      ? `${bin.label} · ${plural(
        bin.answers, "answer"
      )} · ${number(bin.input_tokens)} read, ${number(bin.output_tokens)} written · ${money(bin.cost)}`
      : `${bin.label} · nothing`,
  }));
  const busy = rows.reduce(
    (best, row) => ((measure.value === "cost" ? row.cost ?? 0 : all(row)) > (measure.value === "cost"
      ? best.cost ?? 0
      : all(best))
      ? row
      : best),
    rows[0]
  );
  const step = range.value === "365" ? "week" : "day";
  const summary = `${unit()} by ${step}, ${RANGES[range.value].toLowerCase()}. `
    + `The most in one day: ${amount(busy)} on ${dayName(busy.key)}.`;
  return html`
    <section aria-labelledby="by-day">
      <div class="plot-head">
        <h2 id="by-day">By day</h2><${Choice} name="Days shown" value=${range} options=${Object.entries(RANGES)} />
      </div>
      <${TimePlot} bars=${bars} format=${measure.value === "cost" ? dollars : compactNumber}
        least=${measure.value === "cost" ? 0 : 1} summary=${summary} />
      <${Legend} />
      <${Numbers} by="day" rows=${rows} head="Day (UTC)" />
    </section>`;
}

function Shares({ by, title, rows }) {
  const value = (row) => (measure.value === "cost" ? row.cost ?? 0 : all(row));
  const sorted = [...rows].sort((a, b) => value(b) - value(a) || all(b) - all(a));
  const bars = sorted.map((row) => ({
    key: row.key ?? "", label: nameOf(by, row.key), parts: partsOf(row), value: amount(row),
    color: by === "advisor" && advisorById.value.has(row.key) ? colorOf(row.key) : "",
  }));
  const first = bars.slice(0, 8).map((bar) => `${bar.label} ${bar.value}`).join(", ");
  const summary = `${unit()} by ${by}: ${first}${bars.length > 8 ? " and others" : ""}.`;
  return html`
    <section aria-labelledby=${`by-${by}`}>
      <h2 id=${`by-${by}`}>${title}</h2>
      <${BarPlot} rows=${bars} summary=${summary} />
      <${Numbers} by=${by} rows=${sorted} head=${by === "advisor" ? "Advisor" : "Model"} />
    </section>`;
}

/** All three sums at once; null while they come. */
function useUsage() {
  const [state, setState] = useState(null);
  const load = useCallback(async () => {
    try {
      const [days, people, models] =
        await Promise.all(["day", "advisor", "model"].map((by) => api.get(`/api/usage?by=${by}`)));
      setState({ total: days.total, days: days.rows, people: people.rows, models: models.rows });
    } catch (failure) {
      setState((now) => (now?.total ? now : { failure })); // what was there is still true enough
    }
  }, []);
  useEffect(() => { load(); }, []);
  useCurrent(load);
  return [state, () => { setState(null); load(); }];
}

function Body({ state, again }) {
  if (!state) return html`<p class="soft" role="status">Adding up …</p>`;
  if (state.failure) {
    return html`<div class="err" role="alert"><b>${state.failure.message}</b> ${state.failure.hint}
      <div class="tools"><button type="button" onClick=${again}>Try again</button></div></div>`;
  }
  if (!state.total.answers) {
    return html`<div class="lead"><p>Nothing has been asked yet, so nothing was used.</p>
      <p class="soft">
        After the first answer this page shows what was read, what was written and what it cost, by day, by advisor
        and by model.
      </p>
      <p><a href="/">Ask something</a></p></div>`;
  }
  return html`
    <${Sum} total=${state.total} />
    <${Choice} name="What is shown" value=${measure} options=${[["tokens", "Tokens"], ["cost", "Cost"]]} />
    <${Days} rows=${state.days} />
    <${Shares} by="advisor" title="By advisor" rows=${state.people} />
    <${Shares} by="model" title="By model" rows=${state.models} />
    <p class="soft small">
      Costs are computed from public prices when an answer ends. Your provider's bill is what counts. <a
        href="/settings#limits">
        Set a limit
      </a>
    </p>`;
}

export default function Usage() {
  const [state, again] = useUsage();
  return html`
    <div class="room usage">
      <header><h1>Usage</h1></header>
      <${Body} state=${state} again=${again} />
    </div>`;
}

// Days, those without any use included: a plot over time must not close the gaps.
const DAY = 86_400_000;
const RANGES = { 30: "30 days", 90: "90 days", 365: "A year" };

const iso = (time) => new Date(time).toISOString().slice(0, 10);
const utc = { timeZone: "UTC" };
const brief = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...utc });
const whole = new Intl.DateTimeFormat("en-GB", {
  weekday: "short", day: "numeric", month: "short", year: "numeric", ...utc
});

const dayName = (key) => whole.format(new Date(`${key}T00:00:00Z`));

/** The sum of rows of usage; an unknown price is not a price of 0. */
function sumRows(rows) {
  const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const answers = sum("answers");
  return {
    answers, input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), unpriced: sum("unpriced"),
    cost: answers && rows.every((row) => row.cost === null) ? null : sum("cost"),
  };
}

/** The days up to today (of a year: its weeks), oldest first, each with its sum. */
function fillDays(rows, days, now = Date.now()) {
  const byDay = new Map(rows.map((row) => [row.key, row]));
  const width = Number(days) > 92 ? 7 : 1;
  const count = Math.ceil(Number(days) / width);
  return Array.from({ length: count }, (_, i) => {
    const last = now - (count - 1 - i) * width * DAY;
    const keys = Array.from({ length: width }, (_day, n) => iso(last - (width - 1 - n) * DAY));
    const first = new Date(`${keys[0]}T00:00:00Z`);
    return {
      key: keys[0], tick: brief.format(first),
      label: width === 1 ? dayName(keys[0]) : `The week from ${dayName(keys[0])}`,
      ...sumRows(keys.map((key) => byDay.get(key)).filter(Boolean)),
    };
  });
}
