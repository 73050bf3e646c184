// @ts-check
// Numbers, prices and times as people read them. The server's times are microseconds, UTC.

const whole = new Intl.NumberFormat("en");

export const number = (n) => whole.format(Math.round(n));

/** 6.1k, 1.2M; exact below a thousand. */
export function compactNumber(n) {
  if (n < 1000) return String(Math.round(n));
  const [value, unit] = n < 999_500 ? [n / 1000, "k"] : [n / 1_000_000, "M"];
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

/** A price in dollars; unknown is said, not shown as nothing. */
export function money(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (usd === 0) return "$0";
  if (usd < 0.01) return "under 1¢";
  return `$${usd.toFixed(2)}`;
}

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export const seconds = (from, to) => `${((to - from) / 1e6).toFixed(1)} s`;

const two = (n) => String(n).padStart(2, "0");
const date = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;

/** 2026-11-15 12:15, in the reader's own zone. */
export function stamp(micros) {
  const d = new Date(micros / 1000);
  return `${date(d)} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** Today, Yesterday, This week, Last week, or a month: how the list of conversations is divided. */
export function dayGroup(micros, now = new Date()) {
  const d = new Date(micros / 1000);
  const days = Math.round((midnight(now).getTime() - midnight(d).getTime()) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  if (days < 14) return "Last week";
  return d.toLocaleDateString("en", { month: "long", year: "numeric" });
}

/** A list under the names of its days, in its order: `[name, items]`. */
export function byDay(list, timeOf) {
  const groups = new Map();
  for (const item of list) {
    const name = dayGroup(timeOf(item));
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups];
}

/** The first letter that stands for a name; a leading article is passed over. */
export function monogram(name) {
  const bare = name.replace(/^(the|a|an)\s+/i, "").trim() || name.trim();
  const [first] = bare;
  return first ? first.toUpperCase() : "?";
}

/** Few enough words of a text to name something by it. */
export function shorten(text, most = 60) {
  const line = text.replace(/\s+/g, " ").trim();
  const chars = Array.from(line);
  if (chars.length <= most) return line;
  const start = chars.slice(0, most - 1).join("");
  // at a word, if one ends near there
  return `${(chars[most - 1] === " " ? start : start.replace(/(?<=.{20})\s\S{1,20}$/, "")).trimEnd()}…`;
}

// Times as people tell them to each other: yesterday evening, 14 hours later.
const MINUTE = 60e6;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** morning, afternoon, evening or night. */
function partOfDay(date) {
  const hour = date.getHours();
  if (hour < 5 || hour >= 22) return "night";
  return hour < 12 ? "morning" : hour < 18 ? "afternoon" : "evening";
}

/** The day that somebody who is still awake lives in: it lasts until five in the morning. */
const awake = (date) => midnight(new Date(date.getTime() - 5 * 3_600_000));

/** "this morning", "tonight", "last night", "yesterday evening", "Thursday night", "5 November, in the evening". */
export function moment(micros, now = new Date()) {
  const exact = new Date(micros / 1000);
  const part = partOfDay(exact);
  const late = part === "night" || part === "evening"; // a night belongs to the day it began on
  const [date, today] = late ? [awake(exact), awake(now)] : [midnight(exact), midnight(now)];
  const days = Math.round((today.getTime() - date.getTime()) / 86_400_000);
  if (days <= 0) return part === "night" ? "tonight" : `this ${part}`;
  if (days === 1) return part === "night" ? "last night" : `yesterday ${part}`;
  if (days < 7) return `${date.toLocaleDateString("en-GB", { weekday: "long" })} ${part}`;
  /** @type {Intl.DateTimeFormatOptions} */
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", ...year });
  return `${day}, ${part === "night" ? "at night" : `in the ${part}`}`;
}

/** How long something lasted: "12 minutes", "14 hours", "3 days"; the largest unit that says enough. */
export function duration(micros) {
  if (micros < MINUTE) return "less than a minute";
  if (micros < 90 * MINUTE) return plural(Math.round(micros / MINUTE), "minute");
  if (micros < 36 * HOUR) return plural(Math.round(micros / HOUR), "hour");
  if (micros < 21 * DAY) return plural(Math.round(micros / DAY), "day");
  if (micros < 60 * DAY) return plural(Math.round(micros / (7 * DAY)), "week");
  return plural(Math.round(micros / (30.4 * DAY)), "month");
}

/** 12:15, in the reader's own zone. */
export const clockTime = (micros) =>
  new Date(micros / 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** Sunday, 15 November 2026. */
export const fullDay = (micros) =>
  new Date(micros / 1000).toLocaleDateString("en-GB", {
    weekday: "long", day: "numeric", month: "long", year: "numeric"
  });

/** From when to when a session went: 12:02–12:15, or 12:02 where that says it all. */
export function timeRange({ started_at: from, ended_at: to }) {
  return to === null || clockTime(from) === clockTime(to) ? clockTime(from) : `${clockTime(from)}–${clockTime(to)}`;
}
