import path from "node:path";
import { Captures } from "../app/pipeline/captures.ts";
import type { Gateway } from "../app/pipeline/world.ts";
import type { Switch } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import { EndpointPlaces } from "../domain/admission/endpoint-places.ts";
import { AdmissionQueue } from "../domain/admission/queue.ts";
import { RetryBudget } from "../domain/admission/retry-budget.ts";
import type { Connections, Snapshot } from "../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../domain/catalogue/load.ts";
import type { Proven } from "../domain/catalogue/proofs.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { CaptureStore } from "../domain/record/capture.ts";
import { SURFACES, type Surface } from "../domain/record/record.ts";
import { type BreakerRules, EndpointBreakers } from "../domain/routing/breakers.ts";
import { Health } from "../domain/routing/health.ts";
import { Learned } from "../domain/routing/learned.ts";
import { Reach } from "../domain/routing/reach.ts";
import { Sessions } from "../domain/routing/session.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import type { Managers } from "../edge/actor.ts";
import { IpLimit } from "../edge/ip-limit.ts";
import { MinuteLimit } from "../edge/minute-limit.ts";
import { Edge, type EdgeDeps } from "../edge/server.ts";
import { catalogueFiles } from "../io/catalogue-files.ts";
import { openDataDir } from "../io/data-dir.ts";
import type { Books } from "../io/journal/open.ts";
import { keptSecret } from "../io/secret-files.ts";
import type { Logger } from "../io/telemetry/log.ts";
import type { Gauges, Metrics } from "../io/telemetry/metrics.ts";
import type { Nodes } from "../io/tunnel/nodes.ts";
import { unknownProviderSettings } from "../io/upstream/connections.ts";
import { type MintedCredential, mintedCredential, readGoogleAccount } from "../io/upstream/google-credentials.ts";
import { isSpoken } from "../io/upstream/lanes.ts";
import type { OwnKeys } from "../io/upstream/own-keys.ts";
import { httpTransport, type Transport } from "../io/upstream/transport.ts";
import { addressList } from "../kit/cidr.ts";
import { systemClock } from "../kit/clock.ts";
import { Deadlines } from "../kit/deadlines.ts";
import { randomToken } from "../kit/secret.ts";
import { stop, systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError, PROJECT_ROOT } from "../settings/config.ts";

/** Frames longer than this are no frames of a chat. */
const FRAME_CHARS_MAX = 16 * 1024 * 1024;

const ATTEMPTS_MAX = 5;

/** A hold that outlives every request by this much was lost. */
export const HOLD_GRACE_MS = 60_000;

/** The longest time aside, in times of the first. */
const ASIDE_TIMES_MAX = 10;

const PATIENCE = { headersMs: 15_000, requestMs: 300_000, checkEveryMs: 5_000 };

export async function openCatalogue(config: Config): Promise<Snapshot> {
  const folders = [config.GATEWAY_CATALOGUE_DIR ?? path.join(PROJECT_ROOT, "catalogue")];
  if (config.sandbox) folders.push(path.join(PROJECT_ROOT, "src/sandbox/catalogue"));
  const loaded = await loadCatalogue(folders, systemClock.nowMs(), catalogueFiles);
  if ("snapshot" in loaded) return loaded.snapshot;
  const lines = loaded.problems
    .slice(0, 20)
    .map(({ file, field, message }) => `${file}${field === "" ? "" : ` ${field}`}: ${message}`);
  throw new ConfigError([
    `the catalogue has ${loaded.problems.length} problems`,
    ...lines,
    "`gateway catalogue check` shows them all",
  ]);
}

export async function openSecrets(config: Config): Promise<{ adminToken: string; instanceId: string }> {
  const unusable = openDataDir(config.DATA_DIR);
  if (unusable !== undefined)
    throw new ConfigError([
      `DATA_DIR: ${config.DATA_DIR} cannot be used (${unusable}); write a folder that can be written`,
    ]);
  const make = () => randomToken(32);
  return {
    adminToken: await keptSecret(config.DATA_DIR, "admin-token", config.GATEWAY_ADMIN_TOKEN, make),
    // No secret, and kept like one: two that open a folder at once get the same.
    instanceId: await keptSecret(config.DATA_DIR, "instance-id", null, () => `ins_${randomToken(12)}`),
  };
}

/** What requests are planned by: who can be reached, what is known of them, and whose rules hold. */
export function routingOf(snapshot: () => Snapshot, connections: Connections, directory: Directory, proofs: Proven) {
  return {
    reach: new Reach(snapshot, connections, isSpoken, proofs),
    health: new Health(),
    learned: new Learned(),
    sessions: new Sessions(),
    policyOf: (workspaceId: string, keyId: string | null) => directory.policyOf(workspaceId, keyId),
    routerOf: (workspaceId: string, slug: string) => directory.router(workspaceId, slug),
    spenderOf: (principal: Principal) => directory.spenderOf(principal),
  };
}

export function breakerRulesOf({
  GATEWAY_ASIDE_FAILURES: failuresInARow,
  GATEWAY_ASIDE_MS: asideMs,
}: Config): BreakerRules {
  return { failuresInARow, asideMs, asideMsMax: ASIDE_TIMES_MAX * asideMs };
}

/** What keeps a crowd, or a provider that fails, from taking everybody else with it. */
export function boundsOf(config: Config) {
  return {
    breakers: new EndpointBreakers(systemClock, breakerRulesOf(config)),
    queue: new AdmissionQueue(
      {
        places: config.GATEWAY_QUEUE_CONCURRENCY,
        waitingMax: config.GATEWAY_QUEUE_LENGTH,
        waitMs: config.GATEWAY_QUEUE_WAIT_MS,
      },
      (ms, then) => {
        const timer = systemTimers.after(ms, then);
        return () => stop(timer);
      },
    ),
    budget: new RetryBudget(config.GATEWAY_RETRY_PERCENT / 100),
    deadlines: new Deadlines(systemClock, systemTimers),
    places: new EndpointPlaces(config.GATEWAY_ENDPOINT_CONCURRENCY),
    random: Math.random,
  };
}

type Gauged = ReturnType<typeof boundsOf> & {
  readonly nodes: Pick<Nodes, "counts">;
  readonly sharing: { readonly fleet: Pick<Fleet, "leads" | "size">; readonly standing: string };
};

export function gaugesOf(edge: Edge, books: Books, { queue, breakers, nodes, sharing }: Gauged): Gauges {
  return {
    running: () => edge.running,
    draining: () => (edge.draining ? 1 : 0),
    journalPending: () => books.pending(),
    journalBroken: () => (books.journal.broken ? 1 : 0),
    queueTaken: () => queue.taken,
    queueWaiting: () => queue.waiting,
    endpointsAside: () => breakers.aside.length,
    nodesConnected: () => nodes.counts.here,
    instances: () => sharing.fleet.size,
    leads: () => (sharing.fleet.leads ? 1 : 0),
    sharedStateOpen: () => (sharing.standing === "alone" || sharing.standing === "open" ? 1 : 0),
  };
}

export function warnOfUnknown(config: Config, snapshot: Snapshot, log: Logger): void {
  const unknown = unknownProviderSettings(config.providers, snapshot);
  if (unknown.length > 0) log.warn({ providers: unknown }, "settings name providers that the catalogue does not have");
}

/** What to write instead, in place of the system's word for it. */
export function cannotListen(error: unknown, { HOST, PORT }: Config): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new ConfigError([`PORT: ${PORT} on ${HOST} is in use by another program; stop it, or write another port`]);
  if (code === "EACCES") return new ConfigError([`PORT: this user may not open port ${PORT}; write one from 1024 on`]);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new ConfigError([`HOST: this machine has no address ${HOST}; write one of its own, such as 127.0.0.1`]);
  return error;
}

export function limitsOf(config: Config): Gateway["limits"] {
  return {
    holdOutputTokens: config.GATEWAY_HOLD_OUTPUT_TOKENS,
    requestTimeoutMs: config.GATEWAY_REQUEST_TIMEOUT_MS,
    answerMaxBytes: config.GATEWAY_ANSWER_MAX_BYTES,
    frameMaxChars: FRAME_CHARS_MAX,
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    attemptsMax: ATTEMPTS_MAX,
    queueWaitMs: config.GATEWAY_QUEUE_WAIT_MS,
  };
}

/** Capture windows on the request path, with those that an earlier process left open. */
export async function openCaptures(config: Config, store: CaptureStore, directory: Directory, log: Logger) {
  const captures = new Captures({
    store,
    clock: systemClock,
    limits: {
      itemMaxBytes: config.GATEWAY_CAPTURE_ITEM_MAX_BYTES,
      windowMaxBytes: config.GATEWAY_CAPTURE_WINDOW_MAX_BYTES,
    },
    mayKeep: (workspaceId, keyId) => directory.policyOf(workspaceId, keyId)?.zeroDataRetention === false,
    warn: (detail, message) => log.warn(detail, message),
  });
  await captures.load();
  return captures;
}

export function openTransport(config: Config): Transport {
  return httpTransport({
    connections: config.GATEWAY_UPSTREAM_CONNECTIONS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  });
}

/** Service accounts by the provider's name in its variable. */
export function mintedFrom(config: Config, transport: Transport): Map<string, MintedCredential> {
  const minted = new Map<string, MintedCredential>();
  for (const [name, text] of config.providers.credentials) {
    const account = readGoogleAccount(text);
    if ("problem" in account) throw new ConfigError([`PROVIDER_${name}_CREDENTIALS: ${account.problem}`]);
    minted.set(name, mintedCredential(account, transport, systemClock));
  }
  return minted;
}

type EdgeParts = Pick<EdgeDeps, "clock" | "ids" | "directory" | "state" | "fleet"> &
  Pick<Managers, "adminToken" | "personOf"> & {
    ownKeys: OwnKeys;
    config: Config;
    log: Logger;
    metrics: Metrics;
  };

/** Surfaces that this deployment does without. */
export function switchedOff(config: Pick<Config, "GATEWAY_DECISIONS" | "GATEWAY_SPEECH">): ReadonlySet<Switch> {
  const off = new Set<Switch>();
  if (config.GATEWAY_DECISIONS === "off") off.add("decisions");
  if (config.GATEWAY_SPEECH === "off") off.add("speech");
  return off;
}

/** Surfaces that models are listed with here. */
export function servedSurfaces(config: Config): readonly Surface[] {
  const off: ReadonlySet<Surface> = switchedOff(config);
  return SURFACES.filter((surface) => !off.has(surface));
}

export function openEdge({ config, log, metrics, ownKeys, adminToken, personOf, ...parts }: EdgeParts): Edge {
  const proxies = config.GATEWAY_TRUSTED_PROXIES;
  return new Edge({
    ...parts,
    routes: ROUTES,
    managers: {
      adminToken,
      tokens: parts.directory.tokens,
      publicOrigin: config.GATEWAY_PUBLIC_URL === null ? undefined : new URL(config.GATEWAY_PUBLIC_URL).origin,
      personOf,
    },
    ipLimit: new IpLimit(config.GATEWAY_RPM_IP, parts.clock),
    manageLimit: new MinuteLimit(config.GATEWAY_RPM_MANAGE, parts.clock),
    switchedOff: switchedOff(config),
    trustedProxies: proxies.length === 0 ? undefined : addressList(proxies),
    bodyLimits: { jsonMaxBytes: config.GATEWAY_BODY_MAX_BYTES, uploadMaxBytes: config.GATEWAY_UPLOAD_MAX_BYTES },
    cors: { origins: config.GATEWAY_CORS_ORIGINS },
    patience: { ...PATIENCE, stallMs: config.GATEWAY_CLIENT_STALL_MS },
    credentials: [...config.providers.apiKeys.values()],
    ownSecrets: (workspaceId) => ownKeys.secretsOf(workspaceId),
    rpmDefaults: { live: config.GATEWAY_RPM_LIVE, test: config.GATEWAY_RPM_TEST },
    alarmed: ({ code, status, detail, message }, requestId) => {
      // Only a fault of the gateway itself is an error of its operator; the rest passes, or is a provider's; and a key
      // of a workspace's own that is refused is for its people to see, in their log.
      const isOwnKey = detail?.["ownKey"] !== undefined;
      const level = code === "internal_error" ? "error" : isOwnKey ? "debug" : "warn";
      log[level]({ requestId, code, status, detail }, message);
    },
    answered: (route, status, durationMs) => metrics.answered(route, status, durationMs),
  });
}
