// Numbers, prices and times as people read them. The server's times are microseconds, UTC.
const whole = new Intl.NumberFormat("en");

export const number = (n) => whole.format(Math.round(n));

/** 6.1k, 1.2M; exact below a thousand. */
export function short(n) {
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
  const midnight = (x) => new Date(x.getFullYear(), x.getMonth(), x.getDate());
  const days = Math.round((midnight(now) - midnight(d)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  if (days < 14) return "Last week";
  return d.toLocaleDateString("en", { month: "long", year: "numeric" });
}

/** The first letter that stands for a name; a leading article is passed over. */
export function monogram(name) {
  const bare = name.replace(/^(the|a|an)\s+/i, "").trim() || name.trim();
  const [first] = bare;
  return first ? first.toUpperCase() : "?";
}

/** Few enough words of a text to name something by it. */
export function few(text, most = 60) {
  const line = text.replace(/\s+/g, " ").trim();
  const chars = Array.from(line);
  if (chars.length <= most) return line;
  const start = chars.slice(0, most - 1).join("");
  return `${(chars[most - 1] === " " ? start : start.replace(/(?<=.{20})\s\S{1,20}$/, "")).trimEnd()}…`; // at a word, if one ends near there
}
