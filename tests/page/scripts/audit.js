// What is wrong with the page: what runs, loads or leads anywhere that it should not.
() => {
  const wrong = window.hit ? ["a script ran"] : [];
  if ({}.polluted !== undefined || Object.keys(Object.prototype).length) wrong.push("a prototype was changed");
  const never = "iframe frame object embed applet base img image video audio source track style template foreignObject use animate set";
  for (const one of document.querySelectorAll(never.split(" ").join())) wrong.push(`<${one.localName}>`);
  const ours = (one) => one.getAttribute("src")?.startsWith("/page/js/");
  for (const one of document.scripts) if (!ours(one)) wrong.push(`<script> ${one.outerHTML}`);
  for (const one of document.querySelectorAll("link, meta[http-equiv], form[action], [formaction]")) {
    if (!one.getAttribute("href")?.startsWith("/page/")) wrong.push(one.outerHTML);
  }
  const address = ["href", "src", "xlink:href", "srcset", "srcdoc", "data", "poster", "background", "ping"];
  const safe = /^(?:https?:|mailto:|\/(?!\/)|#)/;
  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      if (/^on/i.test(name)) wrong.push(`${one.localName} ${name}`);
      if (address.includes(name) && !safe.test(value)) wrong.push(`${one.localName} ${name}=${value}`);
      if (name === "style" && /url\(|expression|@import/i.test(value)) wrong.push(`style ${value}`);
    }
    const away = one.localName === "a" && one.origin !== location.origin && one.protocol !== "mailto:";
    if (away && !(one.target === "_blank" && one.rel.includes("noopener"))) wrong.push(one.outerHTML);
  }
  if (document.querySelectorAll("#page").length !== 1) wrong.push("a second page");
  return [...new Set(wrong)];
}
