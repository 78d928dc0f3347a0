import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";

const FOLDER = path.resolve(import.meta.dirname, "../../../docs/images/portal");
const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

/**
 * Pictures of a page for the documents, in both themes, wide and on a phone. `node scripts/screenshots.mjs` renews those
 * in docs/images/portal; `PORTAL_SCREENSHOTS=/tmp/shots npx vitest run tests/e2e` writes all of them to a folder.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  const requested = process.env["PORTAL_SCREENSHOTS"];
  if (requested === undefined || requested === "") return;
  const folder = requested === "1" ? FOLDER : requested;
  mkdirSync(folder, { recursive: true });
  const before = page.viewportSize();
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: path.join(folder, `${name}-${size}-${colorScheme}.png`), animations: "disabled" });
    }
  }
  if (before !== null) await page.setViewportSize(before);
}
