import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { COMPILED, PROGRAM } from "../support/program.ts";

export type GatewayProcess = {
  readonly child: ChildProcess;
  readonly dataDir: string;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Exit code or signal. */
  readonly exited: Promise<number | string>;
  /** Resolves when /readyz answers 200, with the origin of the banner. */
  readonly ready: () => Promise<string>;
  readonly stop: () => Promise<number | string>;
};

/** Generous: other tests use the machine too. */
const READY_MS_MAX = 60_000;
const running = new Set<GatewayProcess>();

/** `gateway serve` as a separate process, as an operator starts it. */
export function spawnGateway(env: Record<string, string> = {}): GatewayProcess {
  const dataDir = env["DATA_DIR"] ?? temporaryFolder();
  const child = spawn(process.execPath, [...PROGRAM, "serve"], {
    cwd: os.tmpdir(),
    env: {
      PATH: process.env["PATH"] ?? "",
      ...COMPILED,
      PORT: "0",
      DATA_DIR: dataDir,
      // Private upstream addresses are for scripted upstreams of tests only.
      GATEWAY_PROOF_EVERY: "never",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exited = once(child, "close").then(([code, signal]): number | string => code ?? signal);
  const gateway: GatewayProcess = {
    child,
    dataDir,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    exited,
    async ready() {
      const deadline = performance.now() + READY_MS_MAX;
      while (performance.now() < deadline) {
        const origin = /^API {6}(\S+)\/v1$/m.exec(output.stdout)?.[1];
        if (origin !== undefined && (await isReady(origin))) return origin;
        if (child.exitCode !== null) break;
        await sleep(25);
      }
      throw new Error(`the gateway did not get ready: ${output.stderr}${output.stdout}`);
    },
    async stop() {
      if (child.exitCode === null) child.kill("SIGTERM");
      const how = await exited;
      running.delete(gateway);
      return how;
    },
  };
  running.add(gateway);
  return gateway;
}

async function isReady(origin: string): Promise<boolean> {
  try {
    const answer = await fetch(`${origin}/readyz`, { headers: { connection: "close" } });
    await answer.text();
    return answer.status === 200;
  } catch {
    return false;
  }
}

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-edge-"));
  folders.push(folder);
  return folder;
}

/** Ends processes that a test file left running and removes their folders. */
export async function cleanUp(): Promise<void> {
  for (const gateway of running) {
    gateway.child.kill("SIGKILL");
    await gateway.exited;
  }
  running.clear();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** Files below a folder that contain any of the texts, with the text; every file is searched as bytes. A journal segment may be removed while a gateway runs; its content is elsewhere then and found by another pass. */
export function filesWith(folder: string, texts: readonly (string | Buffer)[]): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const bytes = bytesOf(file);
    if (bytes === undefined) return filesWith(folder, texts);
    for (const text of texts) if (bytes.includes(text)) found.push(`${path.relative(folder, file)}: ${text}`);
  }
  return found;
}

function bytesOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
