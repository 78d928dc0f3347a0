/**
 * The last step of the image's build, after packages and sources are in place: builds the portal, takes away its sources,
 * writes down what the image is made of, and compiles the gateway once, so that a start in a read-only file system finds everything.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildPortal } from "../../scripts/portal.mjs";
import { isTool, sbom } from "../../scripts/sbom.mjs";
import { prime, ROOT, setUp } from "../../scripts/setup.mjs";

await buildPortal();
// Without its sources the portal is what was built, and no start builds it again.
const portal = path.join(ROOT, "portal");
for (const name of readdirSync(portal))
  if (name !== "dist") rmSync(path.join(portal, name), { recursive: true, force: true });
// Leaves the mark that packages are as the lock file says; a start that finds it installs nothing.
await setUp("run");
removeTools();
writeFileSync(path.join(ROOT, "sbom.cdx.json"), `${JSON.stringify(sbom({ all: false }), null, 2)}\n`);

/** npm installs a few tools of the tests all the same, because something that runs could use them: vitest, typescript. */
function removeTools() {
  const { packages } = JSON.parse(readFileSync(path.join(ROOT, "package-lock.json"), "utf8"));
  for (const [where, entry] of Object.entries(packages))
    if (where !== "" && isTool(entry)) rmSync(path.join(ROOT, where), { recursive: true, force: true });
}

process.exitCode = prime({ stdio: ["ignore", "inherit", "inherit"] }) ?? 1;
