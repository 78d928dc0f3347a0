import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { cannotStart } from "./bootstrap/cannot-start.ts";
import { pipeToPrimary } from "./io/workers/pipe.ts";
import { PrimaryRpcClient } from "./io/workers/rpc-client.ts";
import { EXIT_UNFLUSHED } from "./io/workers/rpc-protocol.ts";
import { joinPrimary } from "./io/workers/worker-context.ts";
import { systemClock } from "./kit/clock.ts";
import { pinNextTickShape } from "./kit/next-tick-shape.ts";
import { removePid1SigtermHandler } from "./kit/pid1-sigterm.ts";
import { releaseMemory } from "./kit/release-memory.ts";
import { type Running, start } from "./main.ts";
import { type Config, readConfig } from "./settings/config.ts";

type Shown = Pick<Running, "origin" | "firstKey" | "setupLink">;

/** Prints where things are and how to make the first call. The key is shown this once. */
function banner({ origin, firstKey, setupLink }: Shown, { GATEWAY_PUBLIC_URL, sandbox }: Config): string {
  const base = GATEWAY_PUBLIC_URL ?? origin;
  const lines = [`API      ${base}/v1`, `Portal   ${base}/`];
  if (firstKey !== undefined) lines.push(`Key      ${firstKey}`);
  if (setupLink !== undefined) lines.push(`Setup    ${setupLink}`);
  if (firstKey !== undefined) {
    const body = JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] });
    const auth = `-H 'Authorization: Bearer ${firstKey}'`;
    // Without the simulated providers there may be no model to call yet, but there is always a list of them.
    lines.push(
      sandbox
        ? `curl ${base}/v1/chat/completions ${auth} -H 'Content-Type: application/json' -d '${body}'`
        : `curl ${base}/v1/models ${auth}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

const SAME_SIGNAL_MS = 1000;
const EXIT_MS = 1000;

/** Runs until it is told to stop. `--workers` wins over the setting. */
export async function serve(env: NodeJS.ProcessEnv, workers?: string): Promise<void> {
  const config = readConfig(workers === undefined ? env : { ...env, GATEWAY_WORKERS: workers });
  if (cluster.isWorker) return serveAsWorker(config);
  const { GATEWAY_WORKERS: wanted } = config;
  const count = wanted === "auto" ? availableParallelism() : wanted;
  const serving = count > 1 ? serveWithWorkers(config, count) : serveAlone(config);
  return serving.catch((error: unknown) => {
    throw cannotStart(error, config);
  });
}

async function serveAlone(config: Config): Promise<void> {
  const running = await start(config);
  process.stdout.write(banner(running, config));
  await pinNextTickShape();
  releaseMemory();
  await running.ready();
  await untilStopped(["SIGTERM", "SIGINT", "SIGHUP"], () => running.stop());
}

/** Serves nothing itself: it starts the workers, replaces those that end, and keeps what they share. */
async function serveWithWorkers(config: Config, count: number): Promise<void> {
  const { openWorkers } = await import("./bootstrap/workers.ts");
  const workers = await openWorkers(config, count);
  // Whoever closes the terminal wants an end of it; a gateway without one is told to start its workers anew.
  const stopping = process.stdin.isTTY ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT"];
  if (!process.stdin.isTTY) process.on("SIGHUP", () => void workers.restart());
  const stopped = untilStopped(stopping, () => workers.stop());
  await workers.start(({ origin, firstKey, setupLink }) => {
    const shown = { origin, firstKey: firstKey ?? undefined, setupLink: setupLink ?? undefined };
    process.stdout.write(banner(shown, config));
  });
  await stopped;
}

/** The first signal drains; a later second one exits at once. */
function untilStopped(signals: readonly string[], stop: () => Promise<unknown>): Promise<void> {
  return new Promise<void>((resolve) => {
    let firstMs: number | undefined;
    const stopOnce = () => {
      // A launcher forwards what the terminal sends to the whole group: signals close together are one.
      if (firstMs !== undefined && systemClock.monotonicMs() - firstMs > SAME_SIGNAL_MS) process.exit(1);
      if (firstMs !== undefined) return;
      firstMs = systemClock.monotonicMs();
      const leave = () => {
        resolve();
        // Everything is closed: what holds the process still are connections whose other side does not even say goodbye.
        setTimeout(() => process.exit(0), EXIT_MS).unref();
      };
      stop().then(leave, (error: unknown) => {
        process.stderr.write(`error: ${error instanceof Error ? error.message : "the gateway did not stop cleanly"}\n`);
        process.exit(1);
      });
    };
    removePid1SigtermHandler();
    for (const signal of signals) process.on(signal, stopOnce);
  });
}

/** One of several that share the port. It ends with its primary, which alone knows the limits. */
async function serveAsWorker(config: Config): Promise<void> {
  const pipe = pipeToPrimary();
  pipe.once("close", () => process.exit(1));
  const primary = new PrimaryRpcClient(pipe, systemClock);
  let running: Running | undefined;
  let leaving = false;
  const leave = async (idle: "close" | "keep") => {
    // Whoever stops a whole group tells this one too, beside its primary.
    if (leaving) return;
    leaving = true;
    // One that has not begun to serve may have come for what another left.
    const end = running === undefined ? "left" : await running.stop(idle);
    process.exit(end === "left" ? EXIT_UNFLUSHED : 0);
  };
  // The terminal tells all of the group; the primary says what follows from it.
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  process.once("SIGTERM", () => void leave("close"));
  primary.onNotification((news) => {
    if (news.is === "drain") void leave(news.lingering === "yes" ? "keep" : "close");
  });
  const started = await start(config, undefined, await joinPrimary(primary));
  primary.onNotification((news) => {
    if (news.is === "measure") void started.metrics().then((text) => primary.sendMetrics(news.number, text));
  });
  running = started;
  const { origin, firstKey = null, setupLink = null } = started;
  await primary.ask("up", { origin, firstKey, setupLink });
  await pinNextTickShape();
  releaseMemory();
  await started.ready();
  await primary.ask("ready", null);
}
