import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { RepeatedParts } from "./repeated-parts.ts";

/** Its source is large, and need not be sent again to a page that has it. */
const THERE = ";";
const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Without the HTML of every element it looks at: that of a table is its whole content, for each of a hundred rules. */
const AXE = `${SOURCE};axe.configure({ noHtml: true })`;
/** Refetched content is dimmed until it has loaded. */
const BUSY = ':not(button)[aria-busy="true"]';
/** Invisible stops before and behind a popup that pass the focus on. */
const FOCUS_GUARD = "[data-base-ui-focus-guard]";
/** Open menus are at the end of the page, outside its landmarks; the focus moves into them. */
const MENU = '[role="menu"]';
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Rules whose result depends on the width alone, where the same elements are shown. */
const WIDTH_RULES = ["target-size", "scrollable-region-focusable"];

const repeated = new RepeatedParts();

async function axeOn(page: Page): Promise<AxeBuilder> {
  const axeSource = (await page.evaluate("'axe' in window")) ? THERE : AXE;
  return new AxeBuilder({ page, axeSource })
    .options({ resultTypes: ["violations"] })
    .exclude(FOCUS_GUARD)
    .setLegacyMode();
}

/** What axe finds on the page as it is, except colours, whose check takes most of the time. */
export async function layoutViolations(page: Page, which: "all rules" | "width rules"): Promise<string[]> {
  const axe = await axeOn(page);
  const rules = which === "all rules" ? axe.withTags(RULES).disableRules("color-contrast") : axe.withRules(WIDTH_RULES);
  const { violations } = await repeated.without(page, which, () => rules.analyze());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
}

/** Nothing that axe can find; in the dark theme only colours can differ. The page stays in the light one. */
export async function expectAccessible(page: Page): Promise<void> {
  const found: string[] = [];
  // Without frames axe needs no second page to merge its results, which halves the time.
  expect(page.frames()).toHaveLength(1);
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await expect.poll(() => page.locator(BUSY).count(), { timeout: 20_000 }).toBe(0);
    const axe = await axeOn(page);
    const rules = colorScheme === "dark" ? axe.withRules("color-contrast") : axe.withTags(RULES);
    const { violations } = await repeated.without(page, colorScheme, () => rules.analyze());
    for (const { id, help, nodes } of violations)
      for (const { target, failureSummary } of nodes)
        if (id !== "region" || !(await page.locator(String(target)).and(page.locator(MENU)).count()))
          found.push(`${colorScheme} ${id}: ${help}\n${target}\n${failureSummary}`);
  }
  expect(found).toEqual([]);
}
