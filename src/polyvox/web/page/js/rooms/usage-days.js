// Days, those without any use included: a plot over time must not close the gaps.
const DAY = 86_400_000;
export const RANGES = { 30: "30 days", 90: "90 days", 365: "A year" };

const iso = (time) => new Date(time).toISOString().slice(0, 10);
const utc = { timeZone: "UTC" };
const brief = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...utc });
const whole = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric", ...utc });

export const dayName = (key) => whole.format(new Date(`${key}T00:00:00Z`));

/** The sum of rows of usage; an unknown price is not a price of 0. */
export function added(rows) {
  const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const answers = sum("answers");
  return {
    answers, input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), unpriced: sum("unpriced"),
    cost: answers && rows.every((row) => row.cost === null) ? null : sum("cost"),
  };
}

/** The days up to today (of a year: its weeks), oldest first, each with its sum. */
export function spread(rows, days, now = Date.now()) {
  const byDay = new Map(rows.map((row) => [row.key, row]));
  const width = Number(days) > 92 ? 7 : 1;
  const count = Math.ceil(Number(days) / width);
  return Array.from({ length: count }, (_, i) => {
    const last = now - (count - 1 - i) * width * DAY;
    const keys = Array.from({ length: width }, (_day, n) => iso(last - (width - 1 - n) * DAY));
    const first = new Date(`${keys[0]}T00:00:00Z`);
    return {
      key: keys[0], tick: brief.format(first), label: width === 1 ? dayName(keys[0]) : `The week from ${dayName(keys[0])}`,
      ...added(keys.map((key) => byDay.get(key)).filter(Boolean)),
    };
  });
}
