import type { NodeSurface } from "../domain/tenancy/node.ts";
import { type AgentStatus, NodeAgent } from "../io/tunnel/node-agent.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Invocation, type Shell, UsageError } from "./command.ts";
import { modelSurfaces } from "./node-models.ts";
import { textFile } from "./values.ts";

/** How long running requests may take to finish after a stop signal. */
const FINISH_MS = 30_000;
/** A launcher forwards what the terminal sends to the whole group: signals close together are one. */
const SAME_SIGNAL_MS = 1_000;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Runs until a stop signal (exit 0) or an unrecoverable error (exit 1 with the reason). */
export async function runNodeConnect({ options, format, shell }: Invocation, version: string): Promise<number> {
  const gateway = address("--url", options["url"]);
  const upstream = address("--upstream", options["upstream"]);
  const keyFile = options["upstreamKeyFile"];
  const show = showing(format, gateway.origin, shell);
  const agent = new NodeAgent({
    gateway,
    token: tokenOf(options, shell.env),
    local: { base: upstream, key: typeof keyFile === "string" ? textFile(keyFile) : null },
    capacity: Number(options["capacity"]),
    chosen: Array.isArray(options["models"]) ? options["models"].map(String) : [],
    surfaces: surfacesOf(options["surfaces"]),
    version,
    finishMs: FINISH_MS,
    env: shell.env,
    timers: systemTimers,
    monotonicMs: systemClock.monotonicMs,
    random: Math.random,
    report: (status) => show.status(status),
  });
  const why = await agent.run(stopSignal());
  show.end(why);
  return why === undefined ? 0 : 1;
}

function surfacesOf(value: unknown): Readonly<Record<string, readonly NodeSurface[]>> {
  return typeof value === "string" ? modelSurfaces(value) : {};
}

function address(flag: string, value: unknown): URL {
  if (typeof value === "string" && URL.canParse(value) && /^https?:/i.test(value)) return new URL(value);
  throw new UsageError(`${flag}: must be an absolute http or https URL.`);
}

function tokenOf(options: Readonly<Record<string, unknown>>, env: Shell["env"]): string {
  const { token, tokenFile } = options;
  if (typeof token === "string" && token !== "") return token;
  if (typeof tokenFile === "string") return textFile(tokenFile);
  const given = env["GATEWAY_NODE_TOKEN"]?.trim();
  if (given !== undefined && given !== "") return given;
  throw new UsageError(
    "The node token is missing. Use --token-file, or set GATEWAY_NODE_TOKEN. `gateway node create` shows it once, `gateway node rotate` creates a new one.",
  );
}

/** The first signal finishes what runs; a later second one exits at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  let firstMs: number | undefined;
  const onSignal = () => {
    const nowMs = performance.now();
    if (firstMs !== undefined && nowMs - firstMs > SAME_SIGNAL_MS) process.exit(1);
    firstMs ??= nowMs;
    stopping.abort();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return stopping.signal;
}

type Showing = { status(status: AgentStatus): void; end(why: string | undefined): void };

/** On a terminal one line that changes; elsewhere a line for every change, or as JSON. */
function showing(format: Invocation["format"], gateway: string, shell: Shell): Showing {
  if (format === "json") return jsonLines(gateway, shell);
  return shell.stdout.isTTY === true ? liveLine(gateway, shell) : plainLines(gateway, shell);
}

function jsonLines(gateway: string, { stdout }: Shell): Showing {
  const write = (event: object) =>
    stdout.write(`${JSON.stringify({ at: new Date().toISOString(), gateway, ...event })}\n`);
  let shown = "";
  return {
    status({ retryInMs, ...status }) {
      const event = { ...status, again_in_ms: retryInMs };
      const text = JSON.stringify(event);
      if (text === shown) return;
      shown = text;
      write(event);
    },
    end: (why) => write({ state: "ended", problem: why ?? null }),
  };
}

/** Only what is new of the state: a line for every request would fill a journal. */
function plainLines(gateway: string, shell: Shell): Showing {
  let shown = "";
  return {
    status(status) {
      const { state, models, problem } = status;
      const key = JSON.stringify([state, models, problem]);
      if (key === shown) return;
      shown = key;
      shell.stdout.write(`${sentence(status, gateway)}\n`);
    },
    end: (why) => write(shell, why),
  };
}

function liveLine(gateway: string, shell: Shell): Showing {
  return {
    status(status) {
      const width = Math.max(20, shell.stdout.columns ?? 80);
      const text = sentence(status, gateway);
      // Back to the start of the line, and away with what stood there.
      shell.stdout.write(`\r\u001b[2K${text.length < width ? text : `${text.slice(0, width - 2)}…`}`);
    },
    end(why) {
      shell.stdout.write("\n");
      write(shell, why);
    },
  };
}

function write({ stdout, stderr }: Shell, why: string | undefined): void {
  if (why === undefined) stdout.write("stopped\n");
  else stderr.write(`error: ${why}\n`);
}

/** What a person reads: names that the server chose must not draw on the terminal. */
function sentence({ state, models, inFlight, served, problem, retryInMs }: AgentStatus, gateway: string): string {
  const connection = {
    connecting: `connecting to ${gateway}`,
    connected: `connected to ${gateway}`,
    waiting: `disconnected, reconnecting in ${Math.ceil((retryInMs ?? 0) / 1000)} s`,
    finishing: "stopping after requests in progress",
    over: "disconnected",
  }[state];
  const load = `${models === 1 ? "1 model" : `${models} models`}, ${inFlight} running, ${served} served`;
  const text = [connection, load, ...(problem === null ? [] : [problem])].join(" · ");
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "?");
}
