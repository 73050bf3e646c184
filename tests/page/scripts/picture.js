// What is to be seen of a conversation.
() => {
  const words = (one) => one?.textContent.trim() ?? null;
  const card = (one) => ({
    id: one.id, state: one.dataset.state, out: one.classList.contains("out"),
    words: one.querySelector(".prose")?.innerHTML ?? "", versions: words(one.querySelector(".versions")),
    tools: [...one.querySelectorAll(".tools.under:not(.few) button")].map(words),
  });
  const turn = (one) => ({
    asked: words(one.querySelector(".ask")), out: one.querySelector(".ask")?.classList.contains("out"),
    waits: words(one.querySelector(".stamp"))?.includes("waits"),
    wordings: words(one.querySelector(".ask-tools .versions")),
    cards: [...one.querySelectorAll("article")].map(card),
  });
  return { title: words(document.querySelector(".top h1")), turns: [...document.querySelectorAll(".turn")].map(turn) };
}
