// Each text, cut at every place and in small steps: where does it not end as it does in one go?
async (texts) => {
  const { Scribe } = await import("/page/js/scribe.js");
  const one = () => new Scribe(document.createElement("div"));
  const end = (scribe, text) => {
    scribe.write(text, true);
    while (scribe.left.length) scribe.work();
    return scribe.root.innerHTML;
  };
  const wrong = [];
  for (const text of texts) {
    const chars = [...text];
    const want = end(one(), text);
    const compare = (how, got) => { if (got !== want) wrong.push({ text, how, got, want }); };
    const part = (count) => chars.slice(0, count).join("");
    for (let cut = 0; cut <= chars.length; cut += 1) {
      const scribe = one();
      scribe.write(part(cut), false);
      compare(`cut at ${cut}`, end(scribe, text));
    }
    for (const step of [1, 3]) {
      const scribe = one();
      for (let count = 0; count < chars.length; count += step) scribe.write(part(count), false);
      compare(`${step} at a time`, end(scribe, text));
    }
  }
  return wrong;
}
