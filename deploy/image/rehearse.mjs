/**
 * Builds and runs the image without Docker, as far as that goes: the Dockerfile's COPY and RUN lines of the build in a
 * folder, then the gateway from there as the image's user. As root on Linux the whole file system is read-only for it,
 * but its data. `node deploy/image/rehearse.mjs [folder]`; takes a few minutes and needs the network.
 */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../scripts/setup.mjs";

const USER = "10001";
const PORT = "18080";
const READY_TRIES = 240;

const dockerfile = readFileSync(path.join(ROOT, "deploy/image/Dockerfile"), "utf8").replaceAll("\\\n", " ");
const [, build = "", run = ""] = dockerfile.split(/^FROM /m);
const folder = process.argv[2] ?? mkdtempSync(path.join(os.tmpdir(), "gateway-image-"));
const [source, app, data] = ["build", "app", "data"].map((name) => path.join(folder, name));

try {
  buildApp();
  await runApp();
  process.stdout.write("The image's steps work: built, started read-only, healthy, ready, stopped with 0.\n");
} finally {
  if (process.argv[2] === undefined) rmSync(folder, { recursive: true, force: true });
}

function buildApp() {
  for (const made of [source, app, data]) mkdirSync(made, { recursive: true });
  chmodSync(folder, 0o755);
  for (const [, names = "", to = ""] of build.matchAll(/^COPY (?:--\S+ )*(.*) (\S+)$/gm)) {
    for (const name of names.split(" ")) {
      const target = to.endsWith("/") ? path.join(source, to, path.basename(name)) : path.join(source, to);
      cpSync(path.join(ROOT, name), target, { recursive: true, filter: isCopied });
    }
  }
  if (process.getuid() === 0) sh(`chown -R ${USER}:${USER} ${source} ${app} ${data}`, folder);
  for (const [, line = ""] of build.matchAll(/^RUN (npm .*|node_modules.*)$/gm))
    sh(line.replace("/app", app), source, asUser());
  if (process.getuid() === 0) sh(`chown -R 0:0 ${app}`, folder);
}

/** What the ignore file beside the Dockerfile leaves out. */
function isCopied(file) {
  return !/\/(?:portal\/dist|portal\/\.build-[^/]*|deploy\/(?:compose|helm)|node_modules)(?:\/|$)|\.test\.tsx?$|\/\.env|\.log$/.test(
    file,
  );
}

async function runApp() {
  const env = { PATH: process.env.PATH };
  for (const [, pairs = ""] of run.matchAll(/^ENV (.*)$/gm))
    for (const pair of pairs.trim().split(/\s+/)) env[pair.split("=")[0]] = pair.split("=")[1];
  Object.assign(env, { HOST: "127.0.0.1", PORT, DATA_DIR: data, HOME: data, SQLITE_TMPDIR: data });
  const inside = [...asUser(), path.join(app, "bin/gateway"), "serve"];
  const readOnly = `mount --bind ${data} ${data} && mount -o remount,ro,bind / && exec "$@"`;
  const command = process.getuid() === 0 ? ["unshare", "--mount", "sh", "-c", readOnly, "sh", ...inside] : inside;
  const child = spawn(command[0], command.slice(1), { cwd: data, env, stdio: "inherit" });
  const exited = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
  try {
    await ready();
    const check = path.join(app, "deploy/image/healthcheck.mjs");
    const { status } = spawnSync(path.join(app, "node_modules/.bin/node"), [check], { env, stdio: "inherit" });
    if (status !== 0) throw new Error("the health check fails");
  } finally {
    child.kill("SIGTERM");
  }
  const how = await exited;
  if (how !== 0) throw new Error(`the gateway ended with ${how}`);
}

async function ready() {
  for (let tries = 0; tries < READY_TRIES; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${PORT}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(250);
  }
  throw new Error("the gateway did not get ready");
}

function asUser() {
  return process.getuid() === 0 ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"] : [];
}

function sh(line, cwd, user = []) {
  process.stdout.write(`${line}\n`);
  const env = { ...process.env, HOME: cwd, npm_config_cache: path.join(folder, "npm") };
  if (user.length > 0) spawnSync("install", ["-d", "-o", USER, "-g", USER, env.npm_config_cache]);
  const [program, ...args] = [...user, "sh", "-c", line];
  const { status } = spawnSync(program, args, { cwd, env, stdio: "inherit" });
  if (status !== 0) throw new Error(`"${line}" ended with ${status}`);
}
