// An address at which nothing is, and the way back.
import { usePlace } from "./place.js";
import { html } from "./ui.js";

export function Nowhere({ children = "This address leads nowhere." }) {
  usePlace("Nothing is here");
  return html`
    <header><h1>Nothing is here</h1><p>${children} <a href="/">Begin a conversation</a>, or choose one from the list.</p></header>`;
}
