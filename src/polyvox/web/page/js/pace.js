// @ts-check
// Work that can wait for the next frame, a little of it in each: however much comes at once, the
// page stays at hand.

const BUDGET = 8; // milliseconds of a frame

const waiting = new Set();
let asked = false;

/** Have `one.work()` called soon. Asked for several times, it is called once. It returns true if it
 * has set something going that fills a frame. */
export function schedule(task) {
  waiting.add(task);
  if (!asked) asked = Boolean(requestAnimationFrame(run));
}

/** Or not, after all. */
export const unschedule = (task) => waiting.delete(task);

/** Whether anything still waits. */
export const isBusy = () => waiting.size > 0;

function run() {
  asked = false;
  const began = performance.now();
  for (const task of [...waiting]) {
    if (!waiting.delete(task)) continue;
    if (task.work() || performance.now() - began > BUDGET) break;
  }
  if (waiting.size) asked = Boolean(requestAnimationFrame(run));
}
