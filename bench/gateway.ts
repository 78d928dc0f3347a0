import type { ChildProcess } from "node:child_process";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { z } from "zod";
import { type Bench, bodyFor, type Prepared, type Shape } from "./candidate.ts";
import { freePort, isRunning } from "./children.ts";

/** One provider of the catalogue for each upstream, both with prices in the wallet's currency. */
const UPSTREAMS = {
  json: { provider: "SCALEWAY", model: "alibaba/qwen3-235b-a22b-instruct-2507" },
  stream: { provider: "IONOS", model: "meta/llama-3.1-8b-instruct" },
} as const;

const WORKSPACE = "bench";
const READY_MS_MAX = 60_000;
const CLI_MS_MAX = 30_000;
const LOG_AGE_MS_MAX = 60_000;
const CREDIT = 1_000_000;
const keySchema = z.object({ key: z.string() });
const walletSchema = z.object({ balance: z.string() });
const logSchema = z.object({ data: z.array(z.object({ created_at: z.string() })) });

/** Everything on: live key with its limit, a policy that filters, a wallet with credit, journal and request log. */
export async function prepareGateway(bench: Bench): Promise<Prepared> {
  const port = await freePort();
  const token = randomBytes(24).toString("hex");
  const dataDir = path.join(bench.folder, "gateway-data");
  mkdirSync(dataDir, { recursive: true });
  const env = {
    HOST: "127.0.0.1",
    PORT: String(port),
    DATA_DIR: dataDir,
    GATEWAY_ADMIN_TOKEN: token,
    GATEWAY_RPM_IP: "0",
    LOG_LEVEL: "warn",
    ...providerSettings(bench.upstream),
  };
  const bin = path.join(bench.root, "bin/gateway");
  const launchWith = (command: readonly string[]) => () =>
    bench.children.start(command, { core: "candidate", env, logFile: path.join(bench.folder, "gateway.log") });

  const first = launchWith([bin, "serve"])();
  await untilReady(first, port);
  const cli = cliOf(bin, { ...process.env, GATEWAY_URL: `http://127.0.0.1:${port}`, ...env });
  const key = await openWorkspace(cli);
  await bench.children.stop(first);
  return {
    title: "**gateway**",
    version: "this repository: key, limits, policy, wallet hold, journal and request log on",
    launch: launchWith(bench.gatewayCommand ?? [bin, "serve"]),
    check: () => checkBooks(cli),
    target: (shape: Shape) => ({
      url: `http://127.0.0.1:${port}/v1/chat/completions`,
      headers: { authorization: `Bearer ${key}` },
      body: bodyFor(UPSTREAMS[shape.is].model, shape),
    }),
  };
}

function providerSettings(upstream: Bench["upstream"]): Record<string, string> {
  return {
    [`PROVIDER_${UPSTREAMS.json.provider}_API_KEY`]: "bench",
    [`PROVIDER_${UPSTREAMS.json.provider}_BASE_URL`]: `http://127.0.0.1:${upstream.json}/v1`,
    [`PROVIDER_${UPSTREAMS.stream.provider}_API_KEY`]: "bench",
    [`PROVIDER_${UPSTREAMS.stream.provider}_BASE_URL`]: `http://127.0.0.1:${upstream.stream}/v1`,
  };
}

type Cli = (...args: readonly string[]) => Promise<unknown>;

function cliOf(bin: string, env: NodeJS.ProcessEnv): Cli {
  const run = promisify(execFile);
  return async (...args) => {
    const { stdout } = await run(bin, [...args, "--json"], { env, timeout: CLI_MS_MAX });
    return JSON.parse(stdout);
  };
}

async function openWorkspace(cli: Cli): Promise<string> {
  await cli("workspace", "create", WORKSPACE, "--currency", "EUR");
  await cli("wallet", "credit", WORKSPACE, String(CREDIT), "--note", "benchmark");
  await cli("policy", "set", WORKSPACE, "--floor", "L2", "--countries", "FR,DE");
  return keySchema.parse(await cli("key", "create", WORKSPACE, "--env", "live", "--rpm", "1000000")).key;
}

/** A gateway that forgot to write things down would be fast. */
async function checkBooks(cli: Cli): Promise<string | undefined> {
  const { balance } = walletSchema.parse(await cli("wallet", "show", WORKSPACE));
  if (!(Number(balance) < CREDIT)) return "nothing was charged";
  const [newest] = logSchema.parse(await cli("log", "list", WORKSPACE, "--limit", "1")).data;
  const ageMs = Date.now() - Date.parse(newest?.created_at ?? "");
  return ageMs < LOG_AGE_MS_MAX ? undefined : "the last requests are not in the log";
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  for (const startedAtMs = performance.now(); performance.now() - startedAtMs < READY_MS_MAX; ) {
    if (!isRunning(child)) throw new Error(`it ended with ${child.exitCode ?? child.signalCode} while starting`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
  throw new Error("it was not ready within a minute");
}
