// @ts-check
// The turns one under the other. Only those near the screen are drawn, one after the other; the
// others keep their height.
import { isBusy, unschedule, schedule } from "../pace.js";
import { html, signal, useEffect, useLayoutEffect, useRef } from "../ui.js";
import { Boundary, isCompanion } from "./companion.js";
import { TurnView } from "./turn.js";

const GUESS = 720;
const NEAR = "1200px 0px";
const MOST = 20; // frames, until a turn that was asked for stands still

const shells = new WeakMap();
let watcher = null;

/** Whether a turn is drawn follows where it is. */
class Nearness {
  constructor(turn, element) {
    this.turn = turn;
    this.element = element;
  }

  moved({ isIntersecting }) {
    this.wanted = isIntersecting;
    if (this.wanted !== this.turn.near.peek()) schedule(this);
  }

  work() {
    const { near } = this.turn;
    if (near.peek() === this.wanted) return false;
    if (near.peek()) this.turn.height = this.element.getBoundingClientRect().height;
    near.value = this.wanted;
    return true;
  }
}

function watch(element, turn) {
  watcher ??= new IntersectionObserver((entries) => entries.forEach((entry) => shells.get(entry.target)
    ?.moved(entry)), { rootMargin: NEAR });
  const nearness = new Nearness(turn, element);
  shells.set(element, nearness);
  watcher.observe(element);
  return () => { watcher.unobserve(element); unschedule(nearness); };
}

function Shell({ live, turn, last, calm }) {
  const box = useRef(null);
  turn.near ??= signal(last || calm); // one voice's turns are short and cheap: a guess at their height costs more
  useEffect(() => watch(box.current, turn), [turn]);
  const drawn = turn.near.value;
  const style = drawn ? {} : { height: `${turn.height ?? GUESS}px` };
  return html`
    <section class=${`turn${last ? " last" : ""}`} id=${`turn-${turn.id}`} ref=${box} style=${style}
      aria-label=${turn.message.value.content.slice(0, 120)}>
      ${drawn && html`<${TurnView} live=${live} turn=${turn} last=${last} />`}
    </section>`;
}

/** Older turns come in above without moving what is being read. */
function useSteady(first, count) {
  const before = useRef(null);
  useLayoutEffect(() => {
    const known = before.current;
    before.current = null;
    if (known?.element.isConnected) window.scrollBy(0, known.element.getBoundingClientRect().top - known.top);
  }, [first, count]);
  return () => {
    const element = [...document.querySelectorAll(".turn")].find((turn) => turn.getBoundingClientRect().bottom > 0);
    before.current = element ? { element, top: element.getBoundingClientRect().top } : null;
  };
}

function Earlier({ live, hold }) {
  const mark = useRef(null);
  const more = live.more.value;
  useEffect(() => {
    if (!more) return undefined;
    const seen = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return;
      await live.earlier(hold);
      if (!mark.current) return;
      seen.unobserve(mark.current);
      seen.observe(mark.current); // still in sight: there may be more
    }, { rootMargin: "800px 0px" });
    seen.observe(mark.current);
    return () => seen.disconnect();
  }, [more]);
  return html`<div ref=${mark} class="earlier">${more && html`<p class="soft">Earlier turns …</p>`}</div>`;
}

export function Flow({ live }) {
  const turns = live.turns.value;
  const hold = useSteady(turns[0]?.id, turns.length);
  const calm = isCompanion(live.details.value);
  return html`
    <div class=${calm ? "flow calm" : "flow"}>
      <${Earlier} live=${live} hold=${hold} />
      ${turns.flatMap((turn, i) => [
        calm && html`
          <${Boundary} key=${`from-${turn.id}`} details=${live.details.value} before=${turns[i - 1]} turn=${turn} />`,
        html`<${Shell} key=${turn.id} live=${live} turn=${turn} last=${i === turns.length - 1} calm=${calm} />`,
      ])}
    </div>`;
}

const next = () => new Promise((resolve) => { requestAnimationFrame(resolve); });

/** Turns between here and there take their true height as they come into sight: look again, as long
 * as it is the page that moves and not somebody who scrolls. */
async function settle(turnId, behavior) {
  let before = null;
  for (let i = 0; i < 4 || (i < MOST && isBusy()); i++) {
    await next();
    const turn = document.getElementById(`turn-${turnId}`);
    if (!turn) continue;
    const place = turn.getBoundingClientRect().top + window.scrollY;
    // What grew above it moves the page not at all, or by as much as the turn was moved.
    const by = before && window.scrollY - before.at;
    if (before && Math.abs(by) > 2 && Math.abs(by - (place - before.place)) > 2) return;
    turn.scrollIntoView({ block: "start", behavior });
    before = { place, at: window.scrollY };
  }
}

/** Bring a turn's headline to the top; older turns are fetched until it is there. */
export async function reveal(live, turnId, behavior = "auto") {
  while (!live.turn(turnId) && live.more.peek()) {
    const before = live.turns.peek().length;
    await live.earlier();
    if (live.turns.peek().length === before) return;
  }
  const turn = live.turn(turnId);
  if (!turn) return;
  if (turn.near) turn.near.value = true;
  await settle(turnId, behavior);
}
