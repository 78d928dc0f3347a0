/**
 * `npm run bench`: installs what the benchmark needs (programs, the peer gateway), then runs bench/run.ts on the pinned Node.
 * Arguments are passed on: `npm run bench -- --quick`.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { handOnSignals } from "./hand-on.mjs";
import { pinnedNode, ROOT, setUp } from "./setup.mjs";

/** Programs and the Debian packages that provide them. */
const PROGRAMS = [
  { program: "nginx", debianPackage: "nginx-light" },
  { program: "wrk", debianPackage: "wrk" },
  { program: "taskset", debianPackage: "util-linux" },
  { program: "redis-server", debianPackage: "redis-server" },
];

/** Exact versions: with newer ones of these two packages the peer answers every stream with 500. */
const PEER = { "@portkey-ai/gateway": "1.15.2", hono: "4.9.7", "@hono/node-server": "1.13.7" };
/** Pins the copies that the peer bundles. */
const PEER_INSIDE = { hono: "$hono", "@hono/node-server": "$@hono/node-server" };
const PEER_FOLDER = path.join(ROOT, "bench/.work/portkey");
const LOAD_CORE = "1";

const isHostile = process.argv.includes("--hostile");
const isHelp = process.argv.includes("--help");

await setUp("run");
if (!isHostile && !isHelp) {
  installPrograms();
  installPeer();
}
run();

function installPrograms() {
  const missing = () => PROGRAMS.filter(({ program }) => !isThere(program)).map(({ debianPackage }) => debianPackage);
  if (missing().length > 0 && process.getuid?.() === 0 && isThere("apt-get")) {
    say(`Installing Debian packages: ${missing().join(" ")}`);
    aptGet(["update", "-qq"]);
    aptGet(["install", "-y", "-qq", "--no-install-recommends", ...missing()]);
  }
  if (missing().length === 0) return;
  say(`The benchmark needs these Debian packages: ${missing().join(" ")}. Install them and start again.`);
  process.exit(1);
}

function isThere(program) {
  const env = { ...process.env, PATH: searchPath() };
  return spawnSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { env, stdio: "ignore" }).status === 0;
}

/** Debian installs nginx in /usr/sbin, which is not on the PATH of ordinary users. */
function searchPath() {
  return [...(process.env.PATH ?? "").split(path.delimiter), "/usr/sbin", "/sbin"].join(path.delimiter);
}

/** RUNLEVEL=1 keeps the package from starting its service. */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"], timeout: 5 * 60_000 });
}

/** The peer is installed outside node_modules. Without it the benchmark measures the other targets. */
function installPeer() {
  const file = path.join(PEER_FOLDER, "package.json");
  const manifest = `${JSON.stringify({ name: "bench-peer", private: true, dependencies: PEER, overrides: PEER_INSIDE })}\n`;
  if (isPeerThere() && readFileSync(file, "utf8") === manifest) return;
  say("Installing the peer to compare with (once) …");
  rmSync(PEER_FOLDER, { recursive: true, force: true });
  mkdirSync(PEER_FOLDER, { recursive: true });
  writeFileSync(file, manifest);
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const { status } = spawnSync("npm", args, {
    cwd: PEER_FOLDER,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 5 * 60_000,
  });
  if (status !== 0) say("The peer could not be installed; it is left out.");
}

function isPeerThere() {
  return Object.keys(PEER).every((name) => existsSync(path.join(PEER_FOLDER, "node_modules", name, "package.json")));
}

function run() {
  const node = [
    pinnedNode(),
    "--disable-warning=ExperimentalWarning",
    path.join(ROOT, isHostile ? "bench/hostile.ts" : "bench/run.ts"),
  ];
  const pin = !isHostile && os.cpus().length > 1 ? ["taskset", "-c", LOAD_CORE] : [];
  const [file, ...args] = [...pin, ...node, ...process.argv.slice(2)];
  const child = spawn(file, args, { cwd: ROOT, env: { ...process.env, PATH: searchPath() }, stdio: "inherit" });
  handOnSignals(child);
  child.on("error", (error) => {
    say(`cannot run ${file}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code) => process.exit(code ?? 1));
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
