"""The history of a prompt: what changed from one version to the next, and the way back."""

from __future__ import annotations

from playwright.async_api import Locator, expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.talk import tool
from tests.page.test_advisors_room import advisor, said

PAIRS = [
    ("", ""),
    ("", "Something."),
    ("One two three.", "One two three."),
    ("One two three four.", "One three four five."),
    ("a b c d e f g", "g f e d c b a"),
    ("Zeile eins\n\nZeile zwei", "Zeile zwei\n\nZeile eins"),
    ("naïve — café 日本語 👩‍👩‍👧", "naive — cafe 日本 👩‍👧"),
    ("word " * 1600, "other " * 1600),
]


async def test_the_history_shows_what_changed_and_brings_it_back(house: House, desk: Desk) -> None:
    (one,) = await house.voices("Yes.", description="You doubt what is told, gently.")
    page = await desk.open("/advisors/skeptic")
    history = page.get_by_role("region", name="History")
    await expect(history).to_contain_text("So far there is one.")
    await tool(page, "Start from the description").click()
    prompt = page.get_by_label("Prompt")
    await prompt.fill("You doubt what is written, gently.")
    await tool(page, "Save").click()
    await expect(said(page, "with a new version of its prompt")).to_be_visible()
    await prompt.fill("You doubt what is written, gently and at once.")
    await tool(page, "Save").click()
    await expect(history.locator("summary b")).to_have_text(["Version 3", "Version 2", "Version 1"])

    def version(number: int) -> Locator:
        return history.locator("li", has=page.get_by_text(f"Version {number}", exact=True))

    third = version(3)
    await expect(third).to_contain_text("in force")
    await expect(third).to_contain_text("Since version 2: 3 words added, 0 removed.")
    await expect(third.locator("ins")).to_have_text([" and at once"])
    second = version(2)
    await second.locator("summary").click()
    await expect(second.locator("del")).to_have_text(["told"])
    await expect(second.locator("ins")).to_have_text(["written"])
    for marked, line in (("ins", "underline"), ("del", "line-through")):
        style = "(one) => getComputedStyle(one).textDecorationLine"
        assert await second.locator(marked).first.evaluate(style) == line
    await history.get_by_role("radio", name="the one in force").check()
    await expect(second.locator("ins")).to_have_text([" and at once"])
    first = version(1)
    await first.locator("summary").click()
    await expect(first).to_contain_text("From here to version 3")
    await tool(first, "Bring version 1 back").click()
    await expect(history.locator("summary b").first).to_have_text("Version 4")
    await expect(history.locator("li").first).to_contain_text("rolled back to 1")
    await expect(prompt).to_have_value("")
    now = await advisor(house, one["id"])
    assert (now["prompt"], now["description"]) == (None, "You doubt what is told, gently.")


async def test_a_difference_gives_both_texts_back(house: House, desk: Desk) -> None:
    page = await desk.open("/advisors")
    for before, after in PAIRS:
        parts = await page.evaluate(
            """async ([before, after]) => {
              const { diff } = await import("/page/js/diff.js");
              return diff(before, after);
            }""",
            [before, after],
        )
        kinds = [part["kind"] for part in parts]
        assert all(part["text"] for part in parts)
        assert "".join(p["text"] for p in parts if p["kind"] != "in") == before
        assert "".join(p["text"] for p in parts if p["kind"] != "out") == after
        assert set(kinds) <= {"same"} or before != after
