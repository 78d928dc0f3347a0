import { readFileSync } from "node:fs";
import path from "node:path";
import { gatewayComponents } from "./bootstrap/component-set.ts";
import { type CloseResult, type ComponentReport, ComponentRuntime } from "./bootstrap/components.ts";
import type { GatewayInput, IdleConnections } from "./bootstrap/gateway-components.ts";
import { systemClock } from "./kit/clock.ts";
import { systemTimers } from "./kit/timers.ts";
import { type Config, PROJECT_ROOT } from "./settings/config.ts";

export type { IdleConnections };

/** A started gateway process. */
export type RunningGateway = {
  readonly origin: string;
  readonly adminToken: string;
  /** The key of the demo workspace, only at the very first start. */
  readonly firstKey: string | undefined;
  /** Valid once, while the gateway has no operator account. */
  readonly setupLink: string | undefined;
  /** Makes /readyz succeed; called after the banner was printed. */
  ready(): Promise<void>;
  /** Prometheus text of this process alone. */
  metrics(): Promise<string>;
  /** In start order. */
  components(): readonly ComponentReport[];
  /** Drains and closes. `unflushed`: SQL or Redis did not take everything, and the next start has to. */
  stop(idleConnections?: IdleConnections): Promise<CloseResult>;
};

type StartOptions = Pick<GatewayInput, "worker" | "prepareStore" | "readCatalogue" | "hashCost" | "onResponseTurn">;

/** Added to the drain settings before components that have not drained are closed. */
const DRAIN_GRACE_MS = 30_000;

/** Starts all components of one gateway process. */
export async function start(config: Config, options: StartOptions = {}): Promise<RunningGateway> {
  const runtime = new ComponentRuntime(gatewayComponents(gatewayInput(config, options)), {
    clock: systemClock,
    timers: systemTimers,
  });
  const { listener, secrets, firstStart, metrics, log } = await runtime.start();
  return {
    origin: listener.origin,
    adminToken: secrets.adminToken,
    firstKey: firstStart.firstKey,
    setupLink: firstStart.setupLink,
    ready: () => runtime.ready(),
    metrics: async () => (await metrics.render()).body,
    components: () => runtime.report(),
    async stop(idleConnections = "close") {
      const { GATEWAY_DRAIN_DELAY_MS: delayMs, GATEWAY_DRAIN_TIMEOUT_MS: timeoutMs } = config;
      const overdue = await runtime.drain({ idleConnections }, delayMs + timeoutMs + DRAIN_GRACE_MS);
      if (overdue.length > 0) log.warn({ components: overdue }, "lifecycle: drain deadline exceeded");
      return runtime.close();
    },
  };
}

/** The components in start order, without starting them. */
export function plannedComponents(config: Config): readonly ComponentReport[] {
  const components = gatewayComponents(gatewayInput(config, {}));
  return new ComponentRuntime(components, { clock: systemClock, timers: systemTimers }).report();
}

function gatewayInput(config: Config, options: StartOptions): GatewayInput {
  return { ...options, config, version: readVersion(), random: Math.random };
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "unknown";
}
