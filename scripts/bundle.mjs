/**
 * Bundles the gateway's modules into a few files when a source has changed since the last bundle: starting from the bundle
 * takes half the time and less memory (docs/decisions/0040). Plain JavaScript without packages, like set-up; the bundler
 * runs in a child process, on the Node that runs the gateway.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { COMPILE_CACHE, NODE_FLAGS, pinnedNode, ROOT, runKept, withLock } from "./setup.mjs";

const SELF = fileURLToPath(import.meta.url);
const SOURCES = path.join(ROOT, "src");
const BUNDLER = path.join(ROOT, "node_modules/rolldown");
/** At the same depth below the root as the sources, so that relative paths to project files stay valid. */
const CACHE = path.join(ROOT, ".cache");
/** Entry points: the command, the module that set-up compiles in advance, and the worker threads. */
const ENTRIES = {
  cli: "cli.ts",
  main: "main.ts",
  "sqlite-worker": "io/store/sql/sqlite/sqlite-worker.ts",
  "postgres-worker": "io/store/sql/postgres/postgres-worker.ts",
  "tokens-worker": "io/tokens/tokens-worker.ts",
};
/** The node agent, which the gateway serves: one file without packages, for any machine with Node 20. */
const AGENT = "agent.mjs";
const AGENT_SOURCE = path.join(SOURCES, "node-agent.ts");
const AGENT_TARGET = "node20";
/** Packages inside the agent: their licences require the notice. */
const AGENT_PACKAGES = ["commander", "ws", "zod"];
/** Its CommonJS file loads its parts by a `require` that a bundle does not have. */
const JSONC_PARSER = path.join(ROOT, "node_modules/jsonc-parser/lib/esm/main.js");
/** Optional packages that are not installed; their users work without them. */
const ABSENT = ["pg-native", "bufferutil", "utf-8-validate"];
/** A running gateway may still load chunks of an earlier bundle: this many are retained, and all of the last day. */
const OLD_KEPT = 5;
const OLD_KEPT_MS = 24 * 60 * 60_000;
const PRIME_MS_MAX = 30_000;
/** Second argument of the child process that writes the bundle of the release package. */
const RELEASE = "release";

/** The entry point and compile cache to use: those of the bundle, or of the sources when bundling is not possible. */
export async function program() {
  const folder = await bundle();
  if (folder === undefined) return { file: path.join(SOURCES, "cli.ts"), compiled: COMPILE_CACHE };
  return { file: path.join(folder, "cli.js"), compiled: compiledIn(folder) };
}

/** The bundle's folder, built when it is missing; undefined when it cannot be built. */
export async function bundle() {
  const folder = folderOf();
  if (isWhole(folder)) return used(folder);
  if (!existsSync(BUNDLER)) return undefined;
  try {
    await withLock(async () => {
      if (!isWhole(folder)) await make(folder);
    });
    return folder;
  } catch (error) {
    process.stderr.write(`${error.message}\nThe gateway runs from its sources, which starts slower.\n`);
    return undefined;
  }
}

/** A partly deleted bundle is built again. */
function isWhole(folder) {
  const files = existsSync(AGENT_SOURCE) ? ["cli.js", AGENT] : ["cli.js"];
  return files.every((name) => existsSync(path.join(folder, name)));
}

/** Retention counts from the last start, so a start updates the modification time when the folder is writable. */
function used(folder) {
  try {
    utimesSync(folder, new Date(), new Date());
  } catch {
    // Read-only in an image or under systemd; neither case prunes bundles that are in use.
  }
  return folder;
}

/** The name is a hash of all inputs, so a stale bundle is never used. */
function folderOf() {
  const sources = readdirSync(SOURCES, { recursive: true })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .sort();
  const digest = createHash("sha256");
  for (const file of [...sources.map((name) => path.join("src", name)), "package-lock.json", "scripts/bundle.mjs"]) {
    digest
      .update(`${file}\0`)
      .update(readFileSync(path.join(ROOT, file)))
      .update("\0");
  }
  return path.join(CACHE, `gateway-${digest.digest("hex").slice(0, 16)}`);
}

async function make(folder) {
  const startedAtMs = Date.now();
  const made = path.join(CACHE, `making-${process.pid}`);
  try {
    const { code, output } = await runKept(pinnedNode(), [SELF, made]);
    if (code !== 0) throw new Error(`${output.trimEnd()}\nThe gateway could not be bundled: see above.`);
    if (folderOf() !== folder) throw new Error("The sources of the gateway changed while they were bundled.");
    keepOnDisk(made);
    remove(folder);
    renameSync(made, folder);
    prime(folder, compiledIn(folder));
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  removeOld();
  process.stderr.write(`Bundled the gateway in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s.\n`);
}

/** Writes the bundle of the release package, which keeps its data in the working directory. */
export async function writeReleaseBundle(folder) {
  const { code, output } = await runKept(pinnedNode(), [SELF, folder, RELEASE]);
  if (code !== 0) throw new Error(`${output.trimEnd()}\nThe gateway could not be bundled: see above.`);
}

/** Fills the compile cache so that the first start is fast; a failure is harmless. */
export function prime(folder, compiled) {
  const main = pathToFileURL(path.join(folder, "main.js")).href;
  const args = [...NODE_FLAGS, "--input-type=module", "--eval", `await import("${main}")`];
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  spawnSync(pinnedNode(), args, { cwd: ROOT, env, stdio: "ignore", timeout: PRIME_MS_MAX });
}

function compiledIn(folder) {
  return path.join(folder, "compiled");
}

/** Written to a temporary folder, synced and renamed: a bundle folder is complete even after a power cut. */
function keepOnDisk(folder) {
  for (const name of readdirSync(folder)) {
    const file = openSync(path.join(folder, name));
    fsyncSync(file);
    closeSync(file);
  }
}

function removeOld() {
  const oldestKeptMs = Date.now() - OLD_KEPT_MS;
  const made = readdirSync(CACHE)
    .filter((name) => /^(?:gateway|making)-/.test(name))
    .map((name) => ({ folder: path.join(CACHE, name), atMs: statSync(path.join(CACHE, name)).mtimeMs }))
    .sort((a, b) => b.atMs - a.atMs);
  for (const { folder, atMs } of made.slice(OLD_KEPT)) if (atMs < oldestKeptMs) remove(folder);
}

/** Renames before deleting, so that a concurrent start finds the bundle complete or not at all. */
function remove(folder) {
  const going = path.join(CACHE, `making-${process.pid}-${path.basename(folder)}`);
  try {
    renameSync(folder, going);
    rmSync(going, { recursive: true, force: true });
  } catch {
    // It does not exist, or belongs to another user.
  }
}

/** Keeps names and line breaks for stack traces; drops comments, because V8 keeps module text in memory. */
async function write(folder, define = {}) {
  const { rolldown } = await import("rolldown");
  const built = await rolldown({
    input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, path.join(SOURCES, file)])),
    platform: "node",
    external: [/^node:/, ...ABSENT],
    resolve: { alias: { "jsonc-parser": JSONC_PARSER } },
    transform: { define },
    plugins: [{ name: "threads", transform: renameThreads }],
  });
  await built.write({ dir: folder, format: "esm", comments: false, chunkFileNames: "[name]-[hash].js" });
  await built.close();
  if (existsSync(AGENT_SOURCE)) await writeAgent(rolldown, folder);
}

async function writeAgent(rolldown, folder) {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const built = await rolldown({
    input: AGENT_SOURCE,
    platform: "node",
    external: [/^node:/, ...ABSENT],
    transform: { target: AGENT_TARGET, define: { AGENT_VERSION: JSON.stringify(version) } },
  });
  const file = path.join(folder, AGENT);
  await built.write({ file, format: "esm", comments: false, codeSplitting: false, banner: agentBanner(version) });
  await built.close();
}

function agentBanner(version) {
  const notices = AGENT_PACKAGES.map((name) => {
    const text = readFileSync(path.join(ROOT, "node_modules", name, "LICENSE"), "utf8").trim();
    return `${name}\n\n${text}`;
  });
  const head = `Node agent of Inference Gateway ${version} (Apache-2.0), with commander, ws and zod inside:`;
  return `#!/usr/bin/env node\n/*! ${[head, ...notices].join("\n\n").replaceAll("*/", "* /")} */`;
}

/** Worker threads are started from a sibling file, so the bundle keeps both in the same folder. */
function renameThreads(code, id) {
  if (!id.startsWith(SOURCES)) return undefined;
  return code.replaceAll(/new URL\("\.\/([\w-]+)\.ts", import\.meta\.url\)/g, (_, name) => {
    if (!Object.hasOwn(ENTRIES, name)) throw new Error(`${id} starts ${name}, which is not among the entries`);
    return `new URL("./${name}.js", import.meta.url)`;
  });
}

if (process.argv[1] === SELF) {
  const [, , made, kind] = process.argv;
  const define = kind === RELEASE ? { IS_RELEASE_PACKAGE: "true" } : {};
  // Not awaited: modules it imports would wait for this module to finish.
  (made === undefined ? bundle() : write(made, define)).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
