import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { COMPILED, PROGRAM } from "../support/program.ts";

/** A process is PID 1 of its own namespace, as in a container; only root may create one. */
const AS_FIRST = ["unshare", "--pid", "--fork", "--kill-child"] as const;
const mayTry = spawnSync(AS_FIRST[0], [...AS_FIRST.slice(1), "true"]).status === 0;

test.skipIf(!mayTry)("OPS-01 PID 1 of a container exits on SIGTERM during its start", async () => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), "gateway-first-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  // A database that accepts connections and stays silent: the start lasts until its timeout, on any machine.
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...COMPILED,
    PORT: "0",
    DATA_DIR: dataDir,
    DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${portOf(silent)}/gateway`,
    GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
  const outer = spawn(AS_FIRST[0], [...AS_FIRST.slice(1), process.execPath, ...PROGRAM, "serve"], {
    env,
    stdio: "pipe",
  });
  onTestFinished(() => void outer.kill("SIGKILL"));
  let stdout = "";
  outer.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  const ended = once(outer, "exit");
  // Repeatedly: a signal before any gateway code is loaded is lost.
  while (outer.exitCode === null && outer.signalCode === null) {
    for (const pid of childrenOf(outer.pid)) terminate(pid);
    await Promise.race([ended, sleep(50)]);
  }
  // By its own exit or by the signal: either is reported as this code.
  const { SIGTERM } = os.constants.signals;
  expect(outer.signalCode === "SIGTERM" ? 128 + SIGTERM : outer.exitCode).toBe(128 + SIGTERM);
  expect(stdout).toBe("");
});

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}

function childrenOf(pid: number | undefined): readonly number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return listed.split(" ").filter(Boolean).map(Number);
}

/** It may have ended meanwhile. */
function terminate(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {}
}
