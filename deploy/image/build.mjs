/**
 * Makes what the image runs, in the folder that is given: the release package, the pinned Node, the health check, and compiled
 * code, because the file system of a container is read-only. `node deploy/image/build.mjs /app`
 */
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { prime } from "../../scripts/bundle.mjs";
import { NODE_PACKAGES } from "../../scripts/launch.mjs";
import { stageRelease } from "../../scripts/pack.mjs";
import { buildPortal } from "../../scripts/portal.mjs";
import { ROOT } from "../../scripts/setup.mjs";

const target = path.resolve(process.argv[2] ?? "");

await buildPortal();
await stageRelease(target);
addNode();
cpSync(path.join(ROOT, "deploy/image/healthcheck.mjs"), path.join(target, "deploy/image/healthcheck.mjs"));
const compiled = path.join(target, "dist/compiled");
prime(path.join(target, "dist/gateway"), compiled);
if (!existsSync(compiled)) throw new Error("The gateway was not compiled in advance.");

/** The program and its licence, without headers. */
function addNode() {
  const name = NODE_PACKAGES.find((candidate) => existsSync(path.join(ROOT, "node_modules", candidate, "bin", "node")));
  if (name === undefined) throw new Error(`npm installed none of ${NODE_PACKAGES.join(", ")}.`);
  for (const file of [path.join("bin", "node"), "LICENSE", "package.json"])
    cpSync(path.join(ROOT, "node_modules", name, file), path.join(target, "node_modules", name, file));
  mkdirSync(path.join(target, "node_modules/.bin"));
  symlinkSync(`../${name}/bin/node`, path.join(target, "node_modules/.bin/node"));
}
