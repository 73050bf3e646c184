"""The phase of an assertion on the page: chosen in the forms, shown in the list."""

from __future__ import annotations

from playwright.async_api import expect
from tests.page.desk import Desk
from tests.page.house import House
from tests.page.test_page_evaluation import advised, judged, rows, tool


@judged
async def test_chosen_in_the_form_and_told_in_the_list(house: House, desk: Desk) -> None:
    advisor, _ = await advised(house, "Is slow")
    page = await desk.open(f"/assertions/{advisor['slug']}")
    await expect(rows(page).first).to_contain_text("phase early")
    await tool(page, "Write some").click()
    dialog = page.get_by_role("dialog")
    phase = dialog.get_by_role("combobox", name="Phase")
    await expect(phase).to_have_value("ongoing")
    await dialog.get_by_role("textbox", name="What should hold").fill("Gives advice")
    await tool(dialog, "Keep 1 assertion").click()
    await expect(rows(page).nth(1)).to_contain_text("phase ongoing")
    await tool(page, "Edit: Gives advice").click()
    await page.get_by_role("combobox", name="Phase").select_option("early")
    await page.get_by_role("textbox", name="Assertion").fill("at most 150 words")
    await tool(page, "Save").click()
    await expect(rows(page).nth(1)).to_contain_text("phase early")
    await expect(rows(page).nth(1)).to_contain_text("counts words")
