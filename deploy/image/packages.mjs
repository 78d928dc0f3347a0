/** What of the installed packages the gateway runs on. Read from its own code and from the lock file: there is no list to keep. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { isTool, whereIs } from "../../scripts/sbom.mjs";

/** `from "x"`, `import("x")`, `import "x"`, `resolve("x")`, `url("x")`: the package, without a path inside it. */
const NAMED = /\b(?:from|import|resolve|url)\b\s*\(?\s*"((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^"]*)?"/g;
/** Files that are only useful for development or debugging. */
const NOT_RUN = /\.(?:map|d\.[mc]?ts)$/;

/** Paths in the lock file of the packages that these folders import, and of what those need. */
export function packagesThatRun(root, folders = ["src"]) {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const kept = new Set();
  const open = [
    ...folders.flatMap((folder) => namedIn(path.join(root, folder))),
    ...Object.keys(packages[""].optionalDependencies),
  ]
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

/** Leaves what runs: not what built the portal, and of what stays neither headers nor maps nor types. */
export function removeOtherPackages(root) {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const kept = packagesThatRun(root);
  for (const where of Object.keys(packages))
    if (where !== "" && !kept.has(where) && !holdsAny(where, kept))
      rmSync(path.join(root, where), { recursive: true, force: true });
  for (const where of kept) {
    if (packages[where].bin?.node !== undefined)
      rmSync(path.join(root, where, "include"), { recursive: true, force: true });
    for (const file of filesIn(path.join(root, where))) if (NOT_RUN.test(file)) rmSync(file);
  }
}

/** A package that is not needed itself can have one inside that is. */
function holdsAny(where, kept) {
  return [...kept].some((other) => other.startsWith(`${where}/`));
}

function filesIn(folder) {
  const entries = readIfThere(folder);
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** Packages for other systems are in the lock file and not on the disk. */
function readIfThere(folder) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}
