// Each text as it grows: where does it look other than a fresh drawing of as much of it?
async (texts) => {
  const { Scribe } = await import("/page/js/scribe.js");
  const bare = ({ root }) => {
    const copy = root.cloneNode(true);
    copy.querySelectorAll("button").forEach((one) => one.remove());
    copy.querySelectorAll("pre").forEach((one) => one.removeAttribute("tabindex"));
    copy.querySelectorAll(".wide-table").forEach((one) => one.replaceWith(...one.childNodes));
    return copy.innerHTML;
  };
  const wrong = [];
  for (const text of texts) {
    const chars = [...text];
    const grown = new Scribe(document.createElement("div"));
    for (let count = 1; count <= chars.length; count += 1) {
      const part = chars.slice(0, count).join("");
      const fresh = new Scribe(document.createElement("div"));
      grown.write(part, false);
      fresh.write(part, false);
      if (bare(grown) !== bare(fresh)) { wrong.push([part, bare(grown), bare(fresh)]); break; }
    }
  }
  return wrong;
}
