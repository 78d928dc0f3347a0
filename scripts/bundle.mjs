/**
 * Puts the thousand modules of the gateway into a few files when one of them has changed since the last time: a start from
 * there takes half the time and less memory (docs/decisions/0040). Plain JavaScript without packages, like set-up; the
 * bundler is loaded by a process of its own, on the Node that the gateway runs on.
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
/** As deep below the root as the sources are: what finds a file of the project from its own place finds it from there too. */
const CACHE = path.join(ROOT, ".cache");
/** Programs of their own: the command, what set-up compiles beforehand, and the threads. */
const ENTRIES = {
  cli: "cli.ts",
  main: "main.ts",
  "sqlite-worker": "io/store/sql/sqlite/sqlite-worker.ts",
  "postgres-worker": "io/store/sql/postgres/postgres-worker.ts",
  "tokens-worker": "io/tokens/tokens-worker.ts",
};
/** Packages do without these where they are missing, and they are. */
const ABSENT = ["pg-native", "bufferutil", "utf-8-validate"];
/** A gateway that runs may load a part of an earlier bundle for the first time: so many stay, and all of the last day. */
const OLD_KEPT = 5;
const OLD_KEPT_MS = 24 * 60 * 60_000;
const PRIME_MS_MAX = 30_000;

/** What to run, and where Node keeps its compiled code: the bundle, or the sources where none can be made. */
export async function program() {
  const folder = await bundle();
  if (folder === undefined) return { file: path.join(SOURCES, "cli.ts"), compiled: COMPILE_CACHE };
  return { file: path.join(folder, "cli.js"), compiled: compiledIn(folder) };
}

/** The folder of the bundle, made when it is missing; nothing where it cannot be made. */
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

/** What was removed halfway, or by somebody who may not remove all of it, is made again. */
function isWhole(folder) {
  return existsSync(path.join(folder, "cli.js"));
}

/** Its age counts from its last start, where that can be written down. */
function used(folder) {
  try {
    utimesSync(folder, new Date(), new Date());
  } catch {
    // In an image nobody removes it; under a service that may write its data alone it is among the five that stay.
  }
  return folder;
}

/** Named by everything that the bundle is made of, so that an old one is never taken for the new. */
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
    if (code !== 0) throw new Error(`${output.trimEnd()}\nThe gateway could not be put together: see above.`);
    if (folderOf() !== folder) throw new Error("The sources of the gateway have changed while it was put together.");
    keepOnDisk(made);
    remove(folder);
    renameSync(made, folder);
    prime(folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  removeOld();
  process.stderr.write(`Put the gateway together in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s.\n`);
}

/** Compiles the gateway once, so that already its first start finds the code. Not vital: a failure here says nothing. */
function prime(folder) {
  const main = pathToFileURL(path.join(folder, "main.js")).href;
  const args = [...NODE_FLAGS, "--input-type=module", "--eval", `await import("${main}")`];
  const env = { ...process.env, NODE_COMPILE_CACHE: compiledIn(folder) };
  spawnSync(pinnedNode(), args, { cwd: ROOT, env, stdio: "ignore", timeout: PRIME_MS_MAX });
}

function compiledIn(folder) {
  return path.join(folder, "compiled");
}

/** A folder that is there is whole, also after a power cut. */
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

/** Out of its name first: whoever starts meanwhile finds it whole or not at all. What cannot be removed is in nobody's way. */
function remove(folder) {
  const going = path.join(CACHE, `making-${process.pid}-${path.basename(folder)}`);
  try {
    renameSync(folder, going);
    rmSync(going, { recursive: true, force: true });
  } catch {
    // It is not there, or belongs to another user.
  }
}

/** Names and lines stay, so that a stack still says where it was; comments go, because the text of a module stays in memory. */
async function write(folder) {
  const { rolldown } = await import("rolldown");
  const built = await rolldown({
    input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, path.join(SOURCES, file)])),
    platform: "node",
    external: [/^node:/, ...ABSENT],
    plugins: [{ name: "threads", transform: renameThreads }],
  });
  await built.write({ dir: folder, format: "esm", comments: false, chunkFileNames: "[name]-[hash].js" });
  await built.close();
}

/** A thread is started from a file beside the module that starts it, which is beside it in the bundle too. */
function renameThreads(code, id) {
  if (!id.startsWith(SOURCES)) return undefined;
  return code.replaceAll(/new URL\("\.\/([\w-]+)\.ts", import\.meta\.url\)/g, (_, name) => {
    if (!Object.hasOwn(ENTRIES, name)) throw new Error(`${id} starts ${name}, which is not among the entries`);
    return `new URL("./${name}.js", import.meta.url)`;
  });
}

if (process.argv[1] === SELF) {
  const made = process.argv[2];
  // Not awaited: what it imports would wait for its end.
  (made === undefined ? bundle() : write(made)).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
