import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import type { Json } from "./gateway.ts";
import { unusedPort } from "./upstream.ts";

const READY_MS_MAX = 15_000;

/** Tests with it are skipped where it is not installed; `npm test` reports it, and installs it as root. */
export const hasPrometheus = spawnSync("/bin/sh", ["-c", "command -v promtool"], { stdio: "ignore" }).status === 0;

/** The output of `promtool` for a file, and whether it succeeded. */
export function promtool(
  command: readonly string[],
  text?: string,
): { readonly isFine: boolean; readonly output: string } {
  const { status, stdout, stderr } = spawnSync("promtool", command, { input: text, encoding: "utf8" });
  return { isFine: status === 0, output: `${stdout}${stderr}` };
}

export type Prometheus = {
  /** The `data` of an API response; throws when it is no success. */
  ask(path: string, query?: Readonly<Record<string, string>>): Promise<Json>;
  close(): Promise<void>;
};

/** A real Prometheus with this configuration, with its own data that is removed with it. */
export async function startPrometheus(config: object): Promise<Prometheus> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-prometheus-"));
  const file = path.join(folder, "prometheus.yml");
  writeFileSync(file, stringify(config));
  const address = `127.0.0.1:${await unusedPort()}`;
  const command = [
    "prometheus",
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${address}`,
    "--log.level=warn",
  ];
  // The shell in between ends the server when its input ends, as it does when the tests are killed.
  const child = spawn("/bin/sh", ["-c", '"$@" & read _; kill -TERM $!; wait $!', "sh", ...command], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let logs = "";
  child.stderr.on("data", (chunk) => {
    logs = `${logs}${chunk}`.slice(-4000);
  });
  const close = async () => {
    if (child.exitCode === null) {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + READY_MS_MAX;
  while (!(await isReady(address))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await close();
      throw new Error(`Prometheus did not start: ${logs}`);
    }
    await sleep(50);
  }
  const ask = async (where: string, query: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`http://${address}/api/v1/${where}?${new URLSearchParams(query)}`);
    const { status, data, error } = (await answer.json()) as Json;
    if (status !== "success") throw new Error(`${where} ${JSON.stringify(query)}: ${error}`);
    return data;
  };
  return { ask, close };
}

async function isReady(address: string): Promise<boolean> {
  try {
    return (await fetch(`http://${address}/-/ready`)).ok;
  } catch {
    return false;
  }
}
