// A browser has six connections to one server, for all its tabs together. Streams hold some of them
// for as long as they are open, so they take places, of which there are fewer: a tab that finds none
// looks for news now and then instead, and there is always a connection for everything else.

const PLACES = 4;

const hold = (name, signal) => new Promise((resolve) => {
  let free;
  const freed = new Promise((done) => { free = done; });
  const given = (lock) => { resolve(lock ? free : null); return lock ? freed : null; };
  navigator.locks.request(name, { ifAvailable: true }, given).catch(() => resolve(null));
  signal.addEventListener("abort", () => free());
});

/** What gives the place back; null where all are taken. Where tabs cannot agree, everyone has one. */
export async function place(signal) {
  if (!navigator.locks) return () => {};
  for (let i = 0; i < PLACES; i++) {
    const free = await hold(`polyvox.stream.${i}`, signal);
    if (free) return free;
  }
  return null;
}
