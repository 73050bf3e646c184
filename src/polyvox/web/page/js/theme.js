// @ts-check
// Before the first paint: the theme this person chose.

(() => {
  let kept = "auto";
  try { kept = JSON.parse(localStorage.getItem("polyvox.theme")) || "auto"; } catch { /* as the system says */ }
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = kept === "auto" ? (dark ? "dark" : "light") : kept;
})();
