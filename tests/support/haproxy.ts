import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { unusedPort } from "./upstream.ts";

const HAPROXY_FOLDER = path.join(PROJECT_ROOT, "deploy/haproxy");
const READY_MS_MAX = 30_000;
const SUPERVISE = `exec 3<&0; "$@" & balancer=$!
{ while read -r signal <&3; do kill -$signal $balancer; done; kill -TERM $balancer; } & reader=$!
wait $balancer; kill $reader`;

/** Tests behind a balancer are skipped where it is not installed; `npm test` reports it, and installs it as root. */
export const hasHaproxy = spawnSync("/bin/sh", ["-c", "command -v haproxy"], { stdio: "ignore" }).status === 0;

export type Balancer = {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  close(): Promise<void>;
};

export type HaproxyBalancer = Balancer & {
  /** Stops accepting; resolves when its last connection has ended and the process has exited. */
  drain(): Promise<void>;
};

/** A real HAProxy in front of gateways on these ports of loopback, with the shipped configuration. */
export async function startHaproxy(gatewayPorts: readonly number[]): Promise<HaproxyBalancer> {
  const port = await unusedPort();
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-haproxy-"));
  const file = path.join(folder, "haproxy.cfg");
  writeFileSync(file, configOf(port, await unusedPort(), gatewayPorts));
  // The shell in between passes on the signals of its input, and ends the balancer when its input ends, as it does when the tests are killed.
  const child = spawn("/bin/sh", ["-c", SUPERVISE, "sh", "haproxy", "-db", "-f", file], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let logs = "";
  child.stderr.on("data", (chunk) => {
    logs = `${logs}${chunk}`.slice(-4000);
  });
  const close = async () => {
    await stopped(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + READY_MS_MAX;
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await close();
      throw new Error(`haproxy did not start: ${logs}`);
    }
    await sleep(20);
  }
  const drain = async () => {
    const exited = once(child, "exit");
    child.stdin.write("USR1\n");
    await exited;
  };
  return { url: `http://127.0.0.1:${port}`, drain, close };
}

/** The shipped file with addresses of this machine; each replacement must find its line. */
function configOf(port: number, statisticsPort: number, gatewayPorts: readonly number[]): string {
  const shipped = readFileSync(path.join(HAPROXY_FOLDER, "haproxy.cfg"), "utf8");
  const servers = gatewayPorts.map((one, at) => `  server gateway-${at + 1} 127.0.0.1:${one}\n`).join("");
  const changes: readonly (readonly [RegExp, string])[] = [
    [/^ {2}log stdout .*\n/m, ""],
    [/^ {2}log global\n/m, ""],
    [/^ {2}# The HTTP format .*\n {2}log-format .*\n/m, ""],
    [/^ {2}maxconn 20000$/m, "  maxconn 2000"],
    [/bind :8080/, `bind 127.0.0.1:${port}`],
    [/bind 127\.0\.0\.1:8404/, `bind 127.0.0.1:${statisticsPort}`],
    [/ init-addr \S+ resolvers system/, ""],
    [/(?: {2}server .*:8080\n)+/, servers],
    [/^ {2}default-server init-addr .*\n/m, ""],
    [/(?: {2}server .* track .*\n)+/, servers.replace(/ {2}server (\S+) .*/g, "$& track gateways/$1")],
    [/lua-load close-tunnels.lua/, `lua-load ${path.join(HAPROXY_FOLDER, "close-tunnels.lua")}`],
  ];
  return changes.reduce((text, [from, to]) => {
    if (!from.test(text)) throw new Error(`haproxy.cfg has no ${from}`);
    return text.replace(from, to);
  }, shipped);
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.end();
  await exited;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
