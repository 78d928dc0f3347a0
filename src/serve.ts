import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { explainStartFailure } from "./bootstrap/start-failure.ts";
import { notifySystemd } from "./bootstrap/systemd-notify.ts";
import { openPipeToPrimary } from "./io/workers/ipc-channel.ts";
import { PrimaryRpcClient } from "./io/workers/rpc-client.ts";
import { EXIT_UNFLUSHED } from "./io/workers/rpc-protocol.ts";
import { joinPrimary } from "./io/workers/worker-context.ts";
import { systemClock } from "./kit/clock.ts";
import { pinNextTickShape } from "./kit/next-tick-shape.ts";
import { removePid1SigtermHandler } from "./kit/pid1-sigterm.ts";
import { releaseMemory } from "./kit/release-memory.ts";
import { type IdleConnections, type RunningGateway, start } from "./main.ts";
import { type Config, readConfig } from "./settings/config.ts";

type BannerInfo = Pick<RunningGateway, "origin" | "firstKey" | "setupLink">;

/** Addresses and a first call to copy. The key is shown only here. */
function banner({ origin, firstKey, setupLink }: BannerInfo, { GATEWAY_PUBLIC_URL, sandbox }: Config): string {
  const base = GATEWAY_PUBLIC_URL ?? origin;
  const lines = [`API      ${base}/v1`, `Portal   ${base}/`];
  if (firstKey !== undefined) lines.push(`Key      ${firstKey}`);
  if (setupLink !== undefined) lines.push(`Setup    ${setupLink}`);
  if (firstKey !== undefined) {
    const body = JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] });
    const auth = `-H 'Authorization: Bearer ${firstKey}'`;
    // Without the sandbox there may be no model to call yet; the list of models always works.
    lines.push(
      sandbox
        ? `curl ${base}/v1/chat/completions ${auth} -H 'Content-Type: application/json' -d '${body}'`
        : `curl ${base}/v1/models ${auth}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/** Signals this close together count as one: a launcher forwards what the terminal sends to the whole group. */
const SIGNAL_DEBOUNCE_MS = 1000;
const FORCED_EXIT_MS = 1000;

/** Runs until a stop signal and returns the exit code. `--workers` overrides GATEWAY_WORKERS. */
export async function serve(env: NodeJS.ProcessEnv, workers?: string): Promise<number> {
  const config = readConfig(workers === undefined ? env : { ...env, GATEWAY_WORKERS: workers });
  if (cluster.isWorker) {
    await serveAsWorker(config);
    return 0;
  }
  const { GATEWAY_WORKERS: wanted } = config;
  const count = wanted === "auto" ? availableParallelism() : wanted;
  try {
    await (count > 1 ? serveWithWorkers(config, count, env) : serveAlone(config, env));
    // Set by a component that asked for the stop because the process cannot continue.
    return Number(process.exitCode ?? 0);
  } catch (error) {
    throw explainStartFailure(error, config);
  }
}

async function serveAlone(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  const gateway = await start(config);
  process.stdout.write(banner(gateway, config));
  await pinNextTickShape();
  releaseMemory();
  await gateway.ready();
  // Before the notice, because a supervisor may stop the gateway right after it.
  const stopped = untilStopped(["SIGTERM", "SIGINT", "SIGHUP"], async () => {
    await tellSupervisor("STOPPING=1", env);
    return gateway.stop();
  });
  await tellSupervisor("READY=1", env);
  await stopped;
}

/** The primary process serves no requests itself. */
async function serveWithWorkers(config: Config, count: number, env: NodeJS.ProcessEnv): Promise<void> {
  const { PrimaryProcess } = await import("./bootstrap/primary-process.ts");
  const primary = await PrimaryProcess.open(config, count);
  // A closed terminal sends SIGHUP and stops the gateway; without a terminal SIGHUP restarts the workers.
  const stopSignals = process.stdin.isTTY ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT"];
  if (!process.stdin.isTTY) process.on("SIGHUP", () => void primary.restart());
  const stopped = untilStopped(stopSignals, async () => {
    await tellSupervisor("STOPPING=1", env);
    await primary.stop();
  });
  await primary.start(({ origin, firstKey, setupLink }) => {
    const info = { origin, firstKey: firstKey ?? undefined, setupLink: setupLink ?? undefined };
    process.stdout.write(banner(info, config));
  });
  await tellSupervisor("READY=1", env);
  await stopped;
}

/** Without the notice systemd stops the service after its start timeout, so the log must state the reason. */
async function tellSupervisor(state: "READY=1" | "STOPPING=1", env: NodeJS.ProcessEnv): Promise<void> {
  const problem = await notifySystemd(state, env);
  if (problem !== undefined) process.stderr.write(`warning: systemd was not notified (${problem})\n`);
}

/** The first signal drains; a second one exits at once. */
function untilStopped(signals: readonly string[], stop: () => Promise<unknown>): Promise<void> {
  return new Promise<void>((resolve) => {
    let firstSignalMs: number | undefined;
    const onSignal = () => {
      if (firstSignalMs !== undefined && systemClock.monotonicMs() - firstSignalMs > SIGNAL_DEBOUNCE_MS)
        process.exit(1);
      if (firstSignalMs !== undefined) return;
      firstSignalMs = systemClock.monotonicMs();
      const exit = () => {
        resolve();
        // Half-open connections of vanished clients would keep the process alive.
        setTimeout(() => process.exit(), FORCED_EXIT_MS).unref();
      };
      stop().then(exit, (error: unknown) => {
        process.stderr.write(`error: ${error instanceof Error ? error.message : "the gateway did not stop cleanly"}\n`);
        process.exit(1);
      });
    };
    removePid1SigtermHandler();
    for (const signal of signals) process.on(signal, onSignal);
  });
}

/** One of several processes that share the port. It exits with its primary, which keeps the limits. */
async function serveAsWorker(config: Config): Promise<void> {
  const pipe = openPipeToPrimary();
  pipe.once("close", () => process.exit(1));
  const primary = new PrimaryRpcClient(pipe, systemClock);
  const shutdown = new WorkerShutdown();
  // The terminal signals the whole process group; the primary decides what follows.
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  process.once("SIGTERM", () => void shutdown.run("close"));
  primary.onNotification((notification) => {
    if (notification.is === "drain") void shutdown.run(notification.keepIdleConnections ? "keep" : "close");
  });
  const gateway = await start(config, { worker: await joinPrimary(primary) });
  primary.onNotification((notification) => {
    if (notification.is === "metrics_requested")
      void gateway.metrics().then((text) => primary.sendMetrics(notification.requestId, text));
  });
  shutdown.gateway = gateway;
  const { origin, firstKey = null, setupLink = null } = gateway;
  await primary.call("reportStarted", { origin, firstKey, setupLink });
  await pinNextTickShape();
  releaseMemory();
  await gateway.ready();
  await primary.call("reportReady", null);
}

/** Drains and exits a worker once, however many signals and notifications ask for it. */
class WorkerShutdown {
  gateway: RunningGateway | undefined;
  #hasStarted = false;

  async run(idleConnections: IdleConnections): Promise<void> {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    // A worker that is still starting may have been spawned to recover the work of another one.
    const result = this.gateway === undefined ? "unflushed" : await this.gateway.stop(idleConnections);
    process.exit(result === "unflushed" ? EXIT_UNFLUSHED : 0);
  }
}
