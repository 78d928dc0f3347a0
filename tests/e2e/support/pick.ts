import type { Locator } from "playwright-core";

/** Chooses an option of a searchable picker by the start of its text. */
export async function pick(picker: Locator, option: string): Promise<void> {
  const page = picker.page();
  await picker.click();
  // Until the popup is open, the last dialog can be one around the picker, whose pickers are no inputs.
  await page.getByRole("dialog").last().locator("input[role=combobox]").fill(option);
  await page
    .getByRole("option")
    .filter({ hasText: new RegExp(`^${RegExp.escape(option)}`) })
    .first()
    .click();
}
