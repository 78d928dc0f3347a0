import path from "node:path";
import { stateWithAlerts } from "../app/alerts/state-with-alerts.ts";
import { AlertMonitor } from "../domain/alerts/alert-monitor.ts";
import type { CatalogueSnapshot } from "../domain/catalogue/catalogue.ts";
import { RateRegistry } from "../domain/catalogue/exchange-rates.ts";
import { loadCatalogue } from "../domain/catalogue/load.ts";
import { Directory } from "../domain/tenancy/directory.ts";
import { catalogueFiles } from "../io/catalogue-files.ts";
import { ensureDataDir } from "../io/data-dir.ts";
import { loadOrCreateSecret } from "../io/secret-files.ts";
import { createLogger } from "../io/telemetry/logger.ts";
import { Metrics } from "../io/telemetry/metrics.ts";
import { OperatorEvents } from "../io/telemetry/operator-events.ts";
import { unknownProviderSettings, unusableKeySettings } from "../io/upstream/provider-connections.ts";
import { placementOf } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { randomToken } from "../kit/secret.ts";
import { startSandbox } from "../sandbox/server.ts";
import { type Config, ConfigError, PROJECT_ROOT } from "../settings/config.ts";
import { operatorTokenProblem } from "../settings/operator-token.ts";
import { openCoordination } from "./coordination.ts";
import { component, type GatewayComponentSet, type GatewayInput, type ReadCatalogue } from "./gateway-components.ts";
import type { Readiness } from "./handlers.ts";
import { createEdge, createOperatorTokenVerifier, listen } from "./listener.ts";
import { explainUnusableFolder } from "./start-failure.ts";

type FoundationName =
  | "rates"
  | "log"
  | "settingWarnings"
  | "ids"
  | "metrics"
  | "operatorEvents"
  | "directory"
  | "alertMonitor"
  | "readiness"
  | "secrets"
  | "placement"
  | "coordination"
  | "state"
  | "listener"
  | "sandbox";

const ADMIN_TOKEN_BYTES = 32;
const INSTANCE_ID_BYTES = 12;

/** Catalogue, log, metrics, shared state, and the port, which answers 503 until the traffic component opens it. */
export function foundationComponents({
  config,
  worker,
  readCatalogue = readFolders,
}: GatewayInput): Pick<GatewayComponentSet, FoundationName> {
  return {
    rates: component([], async () => new RateRegistry(await openCatalogue(config, readCatalogue))),
    log: component([], () => createLogger(config.LOG_LEVEL)),
    settingWarnings: component(["log", "rates"], ({ log, rates }) => {
      for (const warning of config.warnings) log.warn({ setting: warning }, "settings: questionable value");
      const unknown = unknownProviderSettings(config.providers, rates.snapshot);
      if (unknown.length > 0) log.warn({ providers: unknown }, "settings: unknown provider");
      return undefined;
    }),
    ids: component([], () => createIdGenerator(systemClock.nowMs)),
    metrics: component([], () => new Metrics()),
    operatorEvents: component(
      ["metrics", "log"],
      ({ metrics, log }) => new OperatorEvents((event) => metrics.recordEvent(event), log, systemClock),
    ),
    directory: component([], () => new Directory()),
    alertMonitor: component([], () => new AlertMonitor()),
    readiness: component([], (): Readiness => ({ isReady: false }), {
      ready(readiness) {
        readiness.isReady = true;
      },
    }),
    secrets: component([], () => openSecrets(config)),
    placement: component(["secrets"], ({ secrets: { instanceId } }) =>
      placementOf({ dataDir: config.DATA_DIR, instanceId }, worker),
    ),
    coordination: component(["placement", "ids", "log"], (deps) => openCoordination(config, worker, deps)),
    state: component(["coordination", "alertMonitor"], ({ coordination, alertMonitor }) =>
      stateWithAlerts(coordination.state, alertMonitor),
    ),
    listener: component(
      ["ids", "directory", "state", "coordination", "secrets", "log", "metrics", "operatorEvents"],
      async ({ coordination: { fleet }, secrets: { adminToken }, ...deps }) => {
        const { log, metrics } = deps;
        const operatorTokens = createOperatorTokenVerifier(config, { adminToken, clock: systemClock, log, metrics });
        const edge = createEdge(config, { ...deps, clock: systemClock, fleet, operatorTokens });
        return { edge, operatorTokens, origin: worker?.origin ?? (await listen(edge, config)) };
      },
      {
        drain: ({ edge }, { idleConnections }) => edge.listener.drain(config.GATEWAY_DRAIN_TIMEOUT_MS, idleConnections),
      },
    ),
    sandbox: component(["ids"], ({ ids }) => (config.sandbox ? startSandbox({ clock: systemClock, ids }) : undefined), {
      async close(sandbox) {
        await sandbox?.close();
        return undefined;
      },
    }),
  };
}

const readFolders: ReadCatalogue = (folders, nowMs) => loadCatalogue(folders, nowMs, catalogueFiles);

async function openCatalogue(config: Config, read: ReadCatalogue): Promise<CatalogueSnapshot> {
  const folders = [config.GATEWAY_CATALOGUE_DIR ?? path.join(PROJECT_ROOT, "catalogue")];
  if (config.sandbox) folders.push(path.join(PROJECT_ROOT, "src/sandbox/catalogue"));
  const loaded = await read(folders, systemClock.nowMs());
  if ("snapshot" in loaded) {
    const useless = unusableKeySettings(config.providers, loaded.snapshot);
    if (useless.length > 0) throw new ConfigError(useless);
    return loaded.snapshot;
  }
  const lines = loaded.problems
    .slice(0, 20)
    .map(({ file, field, message }) => `${file}${field === "" ? "" : ` ${field}`}: ${message}`);
  throw new ConfigError([
    `the catalogue has ${loaded.problems.length === 1 ? "a problem" : `${loaded.problems.length} problems`}`,
    ...lines,
    "`gateway catalogue check` shows them all",
  ]);
}

async function openSecrets(config: Config): Promise<{ adminToken: string; instanceId: string }> {
  const problem = ensureDataDir(config.DATA_DIR);
  if (problem !== undefined)
    throw new ConfigError([explainUnusableFolder(config.DATA_DIR, problem, process.getuid?.())]);
  const createToken = () => randomToken(ADMIN_TOKEN_BYTES);
  const adminToken = await loadOrCreateSecret(config.DATA_DIR, "admin-token", config.GATEWAY_ADMIN_TOKEN, createToken);
  // An operator can have replaced the file; a configured token was checked with the settings.
  const tokenProblem = operatorTokenProblem(adminToken, path.join(config.DATA_DIR, "admin-token"), config);
  if (tokenProblem !== undefined) throw new ConfigError([tokenProblem]);
  const createInstanceId = () => `ins_${randomToken(INSTANCE_ID_BYTES)}`;
  return {
    adminToken,
    // Not secret, but created the same way: processes that start at the same time get the same id.
    instanceId: await loadOrCreateSecret(config.DATA_DIR, "instance-id", null, createInstanceId),
  };
}
