/**
 * Renews the pictures of the portal in docs/images/portal: `node scripts/screenshots.mjs [tests/e2e/home.test.ts …]`.
 * The browser tests take them, on a gateway with data that they create themselves. Only pictures that exist are replaced;
 * to add one, create an empty file with its name, such as `keys-wide-dark.png`.
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildPortal } from "./portal.mjs";
import { pinnedNode, ROOT, runKept, setUp } from "./setup.mjs";

const PICTURES = path.join(ROOT, "docs/images/portal");

async function renewScreenshots(files) {
  await setUp("develop");
  await buildPortal();
  const taken = mkdtempSync(path.join(tmpdir(), "screenshots-"));
  try {
    const vitest = path.join(ROOT, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "--reporter=dot", ...(files.length === 0 ? ["tests/e2e"] : files)];
    const { code, output } = await runKept(pinnedNode(), args, { ...process.env, PORTAL_SCREENSHOTS: taken });
    const wanted = readdirSync(PICTURES).filter((name) => name.endsWith(".png"));
    const renewed = wanted.filter((name) => existsSync(path.join(taken, name)));
    for (const name of renewed) copyFileSync(path.join(taken, name), path.join(PICTURES, name));
    process.stdout.write(`Renewed ${renewed.length} of ${wanted.length} pictures in docs/images/portal.\n`);
    const missing = wanted.filter((name) => !renewed.includes(name));
    if (files.length === 0 && missing.length > 0) process.stdout.write(`Not taken: ${missing.join(", ")}\n`);
    if (code !== 0) throw new Error(`${output.trimEnd()}\nSome browser tests failed: their pictures may be missing.`);
  } finally {
    rmSync(taken, { recursive: true, force: true });
  }
}

renewScreenshots(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
