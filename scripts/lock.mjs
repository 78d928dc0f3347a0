/**
 * Completes package-lock.json after a dependency was added or changed: `node scripts/lock.mjs`.
 * npm leaves out the packages for other platforms when the registry it talks to does not carry them, and then refuses
 * its own lock file in `npm ci`. A package name contains the platform, and the version is in the package that depends on it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./setup.mjs";

const OSES = ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32", "aix"];
const CPUS = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const file = path.join(ROOT, "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8"));
for (const [name, version, dev] of missing(lock.packages)) {
  lock.packages[`node_modules/${name}`] = { version, ...platformOf(name), ...(dev ? { dev } : {}), optional: true };
}
const [root, ...others] = Object.entries(lock.packages);
const sorted = others.sort(([a], [b]) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries([root, ...sorted]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

function missing(packages) {
  const found = [];
  for (const [where, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const isThere = `node_modules/${name}` in packages || `${where}/node_modules/${name}` in packages;
      if (!isThere && /^\d/.test(version)) found.push([name, version, dev === true]);
    }
  }
  return found;
}

function platformOf(name) {
  const words = name.split(/[/.-]/);
  const os = OSES.filter((word) => words.includes(word));
  const cpu = CPUS.filter((word) => words.includes(word)).slice(0, 1);
  const libc = words.some((word) => word.startsWith("musl")) ? ["musl"] : [];
  return {
    ...(os.length > 0 ? { os } : {}),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(libc.length > 0 ? { libc } : {}),
  };
}
