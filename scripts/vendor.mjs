/**
 * Renews the script of the API reference in portal/vendor: `node scripts/vendor.mjs 1.72.1`. Its package would install 250 MB
 * of dependencies for the one file that browsers load, so the file is kept here instead, with its origin and digests.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { brotliCompressSync, constants as zlib } from "node:zlib";
import { ROOT } from "./setup.mjs";

const FOLDER = path.join(ROOT, "portal/vendor");
const PACKAGE = "@scalar/api-reference";
const FILE = "dist/browser/standalone.js";

const version = process.argv[2] ?? "";
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  process.stderr.write("Usage: node scripts/vendor.mjs VERSION\n");
  process.exit(2);
}
const folder = mkdtempSync(path.join(os.tmpdir(), "vendor-"));
try {
  const [{ filename, integrity }] = JSON.parse(run("npm", ["pack", `${PACKAGE}@${version}`, "--json"]));
  run("tar", ["-xzf", filename, `package/${FILE}`]);
  replace(readFileSync(path.join(folder, "package", FILE)), integrity);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function replace(script, integrity) {
  const packed = brotliCompressSync(script, {
    params: { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY, [zlib.BROTLI_PARAM_SIZE_HINT]: script.length },
  });
  for (const name of readdirSync(FOLDER)) if (name.endsWith(".br")) rmSync(path.join(FOLDER, name));
  const file = `api-reference-${version}.js.br`;
  writeFileSync(path.join(FOLDER, file), packed);
  const origin = {
    file,
    package: PACKAGE,
    version,
    integrity,
    path: FILE,
    sha256: createHash("sha256").update(script).digest("hex"),
    licence: "MIT",
  };
  writeFileSync(path.join(FOLDER, "origin.json"), `${JSON.stringify(origin, null, 2)}\n`);
  process.stdout.write(`portal/vendor/${file}: ${packed.length} bytes\n`);
}

function run(program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr.trim()}`);
  return stdout;
}
