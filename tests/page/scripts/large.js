// A very long text in steps: how it is drawn, and whether it ends as it does in one go.
async (text) => {
  const { Scribe } = await import("/page/js/scribe.js");
  const root = document.createElement("div");
  const scribe = new Scribe(root);
  let plain = 0;
  let kept = null;
  for (let count = 0; count < text.length; count += 997) {
    scribe.write(text.slice(0, count), false);
    plain += scribe.plain ? 1 : 0;
    if (count > 20_000) kept ??= root.firstElementChild;
  }
  scribe.write(text, true);
  while (scribe.left.length) scribe.work();
  const whole = new Scribe(document.createElement("div"));
  whole.write(text, true);
  const first = whole.root.childNodes.length;
  while (whole.left.length) whole.work();
  return { plain, same: root.innerHTML === whole.root.innerHTML, kept: kept === root.firstElementChild,
    sliced: first < whole.root.childNodes.length };
}
