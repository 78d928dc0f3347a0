import { accessSync, constants } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium, without its windows where that is packaged: half the work. Nothing is downloaded. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(isRunnable);

export const hasChromium = CHROMIUM !== undefined;
if (!hasChromium) process.stderr.write("skipped: chromium is not installed, the portal is not tested in a browser\n");

let launched: Promise<Browser> | undefined;

/** One for all test files of this process: it ends with the process. What a page keeps is in its context. */
export async function theBrowser(): Promise<Browser> {
  launched ??= launch();
  const browser = await launched;
  if (browser.isConnected()) return browser;
  launched = undefined;
  return theBrowser();
}

function launch(): Promise<Browser> {
  return chromium.launch({
    ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
    headless: true,
    // Root has no sandbox to give; pages here are our own.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"],
  });
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
