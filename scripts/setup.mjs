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
import { NODE_PACKAGES, nodeIn } from "./launch.mjs";

export { NODE_FLAGS } from "./launch.mjs";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const MODULES = path.join(ROOT, "node_modules");
/** Node's compile cache for the sources: it makes starts faster and smaller. */
export const COMPILE_CACHE = path.join(MODULES, ".cache/compile");
const STAMP = path.join(MODULES, ".setup-stamp");
const LOCK = path.join(ROOT, ".cache/setup.lock");
const LOCK_WAIT_MS_MAX = 10 * 60_000;

/**
 * Installs the packages of package-lock.json when they are missing. `need` is "run" (runtime packages) or "develop"
 * (development packages too).
 * @param {"run" | "develop"} need
 */
export async function setUp(need) {
  if (isFresh(need)) return;
  await withLock(async () => {
    if (!isFresh(need)) await install(need);
  });
}

let worksWithLock = 0;
/** The lock of this process, while it waits for it or holds it. */
let ownLock;

/** Runs `work` while this process holds the set-up lock. Several works of one process share it: they may run at the same time. */
export async function withLock(work) {
  ownLock ??= takeLock();
  await ownLock;
  worksWithLock += 1;
  try {
    await work();
  } finally {
    worksWithLock -= 1;
    if (worksWithLock === 0) {
      ownLock = undefined;
      rmSync(LOCK, { force: true });
    }
  }
}

/** The Node the gateway is pinned to, or the running one when it is new enough. */
export function pinnedNode() {
  return nodeIn([MODULES]);
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

/** Packages of a manual `npm ci` are accepted: npm records what it installed. */
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
  const args = [
    "ci",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    `--${need === "develop" ? "include" : "omit"}=dev`,
  ];
  const { code, output } = await npmInstall(args);
  if (code !== 0) {
    throw new Error(
      `${output.trimEnd()}\nSet-up failed: "npm ${args.join(" ")}" in ${ROOT} ended with ${code}. ` +
        "It needs the network and a writable folder; the lines above say why.",
    );
  }
  verifyRuntime();
  removeHeaders();
  // Vitest itself does not prove a development install: npm may install it as an optional peer of a runtime package.
  const hasTools = existsSync(path.join(MODULES, "knip"));
  const stamp = stampOf(readFileSync(path.join(ROOT, "package-lock.json")));
  writeStamp(`${stamp} ${hasTools ? "develop" : "run"}`);
  process.stderr.write(`Set up in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s.\n`);
}

/**
 * npm's cached metadata is used without asking the registry whether it is current: the lock file fixes every package by its
 * digest. Metadata that is older than the lock file lacks versions (ETARGET); then the registry is asked.
 */
async function npmInstall(args) {
  const ended = await runNpm([...args, "--prefer-offline"]);
  return ended.code !== 0 && ended.output.includes("ETARGET") ? runNpm(args) : ended;
}

/**
 * Compares the installed Node with the recorded digest: npm verifies the package against the lock file, and this the program
 * itself, whatever installed it.
 */
function verifyRuntime() {
  const { version, sha256 } = JSON.parse(readFileSync(path.join(ROOT, "scripts/runtime.json"), "utf8"));
  for (const name of NODE_PACKAGES) {
    const file = path.join(MODULES, name, "bin/node");
    if (!existsSync(file)) continue;
    const found = createHash("sha256").update(readFileSync(file)).digest("hex");
    if (found === sha256[name]) continue;
    throw new Error(
      `Set-up failed: ${file} has the SHA-256 ${found}, expected ${sha256[name]} (${name} ${version}). ` +
        "Delete node_modules and start again; if it happens again, the package is not the one that was released.",
    );
  }
}

/** No package is compiled here, and Node's headers are a third of its size. */
function removeHeaders() {
  for (const name of NODE_PACKAGES) rmSync(path.join(MODULES, name, "include"), { recursive: true, force: true });
}

/** node_modules/.bin is removed from PATH: npm must not run on the Node that it is about to replace. */
function runNpm(args) {
  const searchPath = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => !folder.startsWith(MODULES));
  const env = { ...process.env, PATH: searchPath.join(path.delimiter) };
  return runKept("npm", args, env).catch(() => {
    throw new Error("Set-up needs npm, and there is none on the PATH.");
  });
}

/** Runs a program in the project's folder and keeps the end of its output for the error message. */
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

/** Two concurrent commands must not install over each other; the lock of a dead process is taken over. */
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

/** A symbolic link is created atomically with its content, so a lock always names its owner. */
function tryLink(own) {
  try {
    linkSync(own, LOCK);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Process ids are reused, in a container at every start, so the start time is compared too. */
function isAlive(owner) {
  const [pid, start] = owner.split(" ");
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return startOf(pid) === start;
}

/** Start time in clock ticks since boot, if /proc is available. Fields are counted after the process name, which may contain spaces. */
function startOf(pid) {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "unknown";
}

/** A read-only folder is fine as long as it is up to date. */
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
