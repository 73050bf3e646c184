// How many columns stand side by side: what the style sheet does, as a number.
import { signal } from "../ui.js";

const phone = window.matchMedia("(max-width: 640px)");
const tablet = window.matchMedia("(max-width: 1180px)");
const count = () => (phone.matches ? Infinity : tablet.matches ? 2 : 3); // a phone has one long row

export const columns = signal(count());
for (const query of [phone, tablet]) query.addEventListener("change", () => { columns.value = count(); });
