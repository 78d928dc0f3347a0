/** The packages whose code is in the gateway, read from its sources and the lock file: there is no list to keep. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { isTool, whereIs } from "./sbom.mjs";

/** `from "x"`, `import("x")`, `import "x"`, `resolve("x")`, `url("x")`: the package, without a path inside it. */
const NAMED = /\b(?:from|import|resolve|url)\b\s*\(?\s*"((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^"]*)?"/g;

/** Paths in the lock file of the packages that these folders import, and of what those need. */
export function runtimePackages(root, folders) {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const kept = new Set();
  const open = folders
    .flatMap((folder) => namedIn(path.join(root, folder)))
    .map((name) => `node_modules/${name}`)
    .filter((where) => packages[where] !== undefined);
  for (const where of open) {
    if (kept.has(where) || isTool(packages[where])) continue;
    kept.add(where);
    open.push(...needsOf(where, packages));
  }
  return kept;
}

function namedIn(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => /(?<!\.test|\.d)\.(?:tsx?|css)$/.test(name));
  return files.flatMap((name) =>
    [...readFileSync(path.join(folder, name), "utf8").matchAll(NAMED)].map(([, found]) => found),
  );
}

function needsOf(where, packages) {
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = packages[where];
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  const wanted = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
  return wanted.map((name) => whereIs(name, where, packages)).filter((found) => found !== undefined);
}
