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

/** Rules whose result depends on the width also where the same elements are shown. */
const WIDTH_RULES = ["target-size", "scrollable-region-focusable"];

/** Whether the page has shown the same elements before, in the same classes and states. */
const IS_KNOWN = `(() => {
  const shown = [...document.body.querySelectorAll("*")].map((element) => {
    const states = element.getAttributeNames().filter((name) => /^(?:aria-|class|role|hidden|disabled)/.test(name));
    const isShown = element.checkVisibility({ visibilityProperty: true });
    return [element.localName, isShown, ...states.map((name) => name + element.getAttribute(name))].join(" ");
  }).join("\\n");
  window.shownElements ??= new Set();
  const isKnown = window.shownElements.has(shown);
  window.shownElements.add(shown);
  return isKnown;
})()`;

const repeated = new RepeatedParts();

async function axeOn(page: Page): Promise<AxeBuilder> {
  const axeSource = (await page.evaluate("'axe' in window")) ? THERE : AXE;
  return new AxeBuilder({ page, axeSource })
    .options({ resultTypes: ["violations"] })
    .exclude(FOCUS_GUARD)
    .setLegacyMode();
}

/**
 * What axe finds on a page at some widths, except colours, whose check takes most of the time; and what is wider than the
 * window. All rules run at the first and the last width. Between them, and where the last shows the same elements as the
 * first, only the rules that depend on the width do.
 */
export async function layoutViolations(page: Page, widths: readonly number[]): Promise<string[]> {
  const height = page.viewportSize()?.height ?? 0;
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const isBetween = width !== widths[0] && width !== widths.at(-1);
    const which = isBetween || (await page.evaluate(IS_KNOWN)) === true ? "width rules" : "all rules";
    const axe = await axeOn(page);
    const rules =
      which === "all rules" ? axe.withTags(RULES).disableRules("color-contrast") : axe.withRules(WIDTH_RULES);
    const { violations } = await repeated.without(page, which, () => rules.analyze());
    for (const { id, nodes } of violations)
      found.push(...nodes.map(({ target }) => `at ${width} px: ${id}: ${target}`));
    const excess = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    if (excess > 0) found.push(`at ${width} px: ${excess} px too wide`);
  }
  return found;
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
