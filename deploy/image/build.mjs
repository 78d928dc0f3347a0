/**
 * The last step of the image's build, after packages and sources are in place: builds the portal, takes away its sources and
 * every package that only built it, puts the gateway together and compiles it, so that a start in a read-only file system
 * finds everything, and writes down what the image is made of.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundle } from "../../scripts/bundle.mjs";
import { buildPortal } from "../../scripts/portal.mjs";
import { sbom } from "../../scripts/sbom.mjs";
import { ROOT, setUp } from "../../scripts/setup.mjs";
import { removeOtherPackages } from "./packages.mjs";

await buildPortal();
// Without its sources the portal is never rebuilt at start.
const portal = path.join(ROOT, "portal");
for (const name of readdirSync(portal))
  if (name !== "dist") rmSync(path.join(portal, name), { recursive: true, force: true });
// The build has rendered the guides.
const documents = readdirSync(ROOT).filter((name) => name === "docs" || name.endsWith(".md"));
for (const name of documents) rmSync(path.join(ROOT, name), { recursive: true, force: true });
// Records that packages match the lock file, so that a start installs nothing.
await setUp("run");
const made = await bundle();
if (made === undefined || !existsSync(path.join(made, "compiled"))) throw new Error("the gateway was not bundled");
removeOtherPackages(ROOT);
writeFileSync(path.join(ROOT, "sbom.cdx.json"), `${JSON.stringify(sbom({ all: false }), null, 2)}\n`);
