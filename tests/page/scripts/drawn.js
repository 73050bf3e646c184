// Each text drawn as it grows and when it is over, looked at by `audit` in between.
async (texts) => {
  const { Scribe } = await import("/page/js/scribe.js");
  const audit = AUDIT;
  const root = document.createElement("div");
  root.className = "prose";
  document.body.append(root);
  const wrong = [];
  for (const text of texts) {
    const chars = [...text];
    const scribe = new Scribe(root);
    const step = Math.max(1, Math.floor(chars.length / 60));
    for (let count = 1; count <= chars.length; count += step) scribe.write(chars.slice(0, count).join(""), false);
    wrong.push(...audit());
    scribe.write(text, true);
    wrong.push(...audit());
  }
  return wrong;
}
