import { readFileSync } from "node:fs";
import path from "node:path";
import type { Handler } from "./app/exchange.ts";
import type { Check, TenancyDeps } from "./app/manage/deps.ts";
import { firstStart } from "./app/manage/first-start.ts";
import { manageHandlers } from "./app/manage/handlers.ts";
import type { Gateway } from "./app/pipeline/world.ts";
import type { ResponsesDeps } from "./app/responses/deps.ts";
import { openResponses } from "./app/responses/open.ts";
import { overseenResponses } from "./app/responses/removal.ts";
import { resumeJobs } from "./app/responses/resume.ts";
import type { ResponsesRoom } from "./app/responses/room.ts";
import { catalogueHandlers } from "./app/surfaces/catalogue.ts";
import { chatHandlers } from "./app/surfaces/chat.ts";
import { countHandlers } from "./app/surfaces/count-tokens.ts";
import { documentHandlers } from "./app/surfaces/documents.ts";
import { messagesHandlers } from "./app/surfaces/messages.ts";
import { modelHandlers } from "./app/surfaces/models.ts";
import { operationsHandlers } from "./app/surfaces/operations.ts";
import { responsesHandlers } from "./app/surfaces/responses.ts";
import { storedResponseHandlers } from "./app/surfaces/stored-responses.ts";
import { validateHandler } from "./app/surfaces/validate.ts";
import { type Config, ConfigError, PROJECT_ROOT, readConfig } from "./config.ts";
import { apiDocumentText, llmsText, manageDocumentText } from "./contract/documents.ts";
import { ROUTES } from "./contract/routes.ts";
import type { SharedState } from "./domain/admission/admission.ts";
import type { Snapshot } from "./domain/catalogue/catalogue.ts";
import { loadCatalogue } from "./domain/catalogue/load.ts";
import { Health } from "./domain/routing/health.ts";
import { excludedByPolicy, permitsModel } from "./domain/routing/policy.ts";
import { Reach } from "./domain/routing/reach.ts";
import { Directory } from "./domain/tenancy/directory.ts";
import { standingOf } from "./domain/tenancy/key.ts";
import { isOperator, recheckKey, scopeFault } from "./edge/authenticate.ts";
import { IpLimit } from "./edge/ip-limit.ts";
import { Edge, type EdgeDeps } from "./edge/server.ts";
import { catalogueFiles } from "./io/catalogue-files.ts";
import { openDataDir } from "./io/data-dir.ts";
import { type Books, openBooks } from "./io/journal/open.ts";
import { keptSecret, makeMasterKey, readMasterKey } from "./io/secret-files.ts";
import { memoryState } from "./io/state/memory.ts";
import { openPostgres } from "./io/store/sql/postgres/open.ts";
import { openSqlite } from "./io/store/sql/sqlite/open.ts";
import type { Store } from "./io/store/sql/store.ts";
import { type Logger, openLog } from "./io/telemetry/log.ts";
import { Metrics } from "./io/telemetry/metrics.ts";
import { tokenCounter } from "./io/tokens/token-counter.ts";
import { connectionsFrom, unknownProviderSettings } from "./io/upstream/connections.ts";
import { type MintedCredential, mintedCredential, readGoogleAccount } from "./io/upstream/google-credentials.ts";
import { isSpoken } from "./io/upstream/lanes.ts";
import { httpTransport, type Transport } from "./io/upstream/transport.ts";
import { checkMasterKey, openVault } from "./io/vault.ts";
import { addressList } from "./kit/cidr.ts";
import { systemClock } from "./kit/clock.ts";
import { makeIds } from "./kit/ids.ts";
import { randomToken } from "./kit/secret.ts";
import { parseDurationMs } from "./kit/time.ts";
import { startSandbox } from "./sandbox/server.ts";

/** A gateway that runs: where it is reached, and how it is stopped. */
export type Running = {
  readonly origin: string;
  readonly adminToken: string;
  /** The key of a first start, shown once; undefined at later starts. */
  readonly firstKey: string | undefined;
  /** Opens the doors of /readyz: called once the banner is out. */
  ready(): void;
  stop(): Promise<void>;
};

/** Frames longer than this are no frames of a chat. */
const FRAME_CHARS_MAX = 16 * 1024 * 1024;
const ATTEMPTS_MAX = 5;
const PATIENCE = { headersMs: 15_000, requestMs: 300_000, checkEveryMs: 5_000 };
const SWEEP_EVERY_MS = 60_000;
/** A hold that outlives every request by this much was lost. */
const HOLD_GRACE_MS = 60_000;

const FIRST_START = "first_start";

const VERSION = readVersion();

function readVersion(): string {
  const found: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
}

async function openCatalogue(config: Config): Promise<Snapshot> {
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

function openSecrets(config: Config): { adminToken: string; masterKey: Buffer } {
  const unusable = openDataDir(config.DATA_DIR);
  if (unusable !== undefined)
    throw new ConfigError([
      `DATA_DIR: ${config.DATA_DIR} cannot be used (${unusable}); write a folder that can be written`,
    ]);
  const adminToken = keptSecret(config.DATA_DIR, "admin-token", config.GATEWAY_ADMIN_TOKEN, () => randomToken(32));
  const masterKey = readMasterKey(keptSecret(config.DATA_DIR, "master-key", config.GATEWAY_MASTER_KEY, makeMasterKey));
  if (masterKey === undefined) throw new ConfigError(["GATEWAY_MASTER_KEY: write 32 bytes in base64 or hex"]);
  return { adminToken, masterKey };
}

/** Builds everything, brings it up, and answers with what a caller needs. Nothing else in the code wires parts. */
export async function start(config: Config): Promise<Running> {
  const log = openLog(config.LOG_LEVEL);
  for (const warning of config.warnings) log.warn({ setting: warning }, "a setting that is not known");
  const clock = systemClock;
  const ids = makeIds(() => clock.nowMs());
  const snapshot = await openCatalogue(config);
  const { adminToken, masterKey } = openSecrets(config);
  const transport = openTransport(config);
  const accounts = mintedFrom(config, transport);
  const directory = new Directory();
  const state = memoryState(clock);
  const metrics = new Metrics();
  const edge = openEdge({ config, log, clock, ids, directory, state, metrics, adminToken });
  const origin = await edge.listen(config.HOST, config.PORT).catch((error: unknown) => {
    throw cannotListen(error, config);
  });

  const sandbox = config.sandbox ? await startSandbox({ clock, ids }) : undefined;
  const connections = connectionsFrom(config.providers, () => snapshot, sandbox?.origins ?? {}, accounts);
  warnOfUnknown(config, snapshot, log);

  const store = await openStore(config, masterKey, log);
  const { DATA_DIR: dataDir, GATEWAY_JOURNAL_SYNC_MS: syncEveryMs } = config;
  const books = await openBooks({ dataDir, store, clock, syncEveryMs, log });
  await loadTenants(store, directory, state);
  metrics.watch({
    running: () => edge.running,
    draining: () => (edge.draining ? 1 : 0),
    journalPending: () => books.pending(),
  });

  const gateway: Gateway = {
    clock,
    snapshot: () => snapshot,
    connections,
    reach: new Reach(snapshot, connections, isSpoken),
    health: new Health(),
    state,
    journal: books.journal,
    transport,
    tokens: tokenCounter(),
    recheck: (exchange) => recheckKey(exchange, directory, clock.nowMs()),
    policyOf: (workspaceId) => directory.workspace(workspaceId)?.policy,
    limits: limitsOf(config),
    finished: (record) => metrics.finished(record),
  };
  const kept = store.responses(openVault(masterKey, store.dataKeys));
  const responses = openResponses({ ...responseSettings(config), store: kept, clock, warn: warningsOf(log) }, gateway);
  // Before anyone can ask for new work, so that only what an earlier process left is taken for that.
  await resumeResponses(responses, store, directory);
  const tenancy: TenancyDeps = { store, directory, state, clock, ids, snapshot: () => snapshot };
  const standing = { ready: false };
  const manage = {
    ...tenancy,
    store,
    connections,
    responses: overseenResponses(responses),
    checks: checksOf(config, store, books),
    caughtUp: () => books.flush(),
  };
  edge.open({
    ...surfaceHandlers(gateway, responses),
    ...manageHandlers(manage),
    ...documentsAt({ version: VERSION, serverUrl: config.GATEWAY_PUBLIC_URL ?? origin }),
    ...operationsHandlers({
      unready: async () => (edge.draining ? "it is draining" : standing.ready ? undefined : "it is starting"),
      metricsText: () => metrics.text(),
      isOperator: (authorization) => isOperator(authorization, adminToken),
    }),
  });
  const firstKey = (await store.meta.get(FIRST_START)) === undefined ? await firstStart(tenancy) : undefined;
  if (firstKey !== undefined) await store.meta.set(FIRST_START, "done");
  const sweeper = setInterval(() => {
    void state.sweep(config.GATEWAY_REQUEST_TIMEOUT_MS + HOLD_GRACE_MS);
    void sweepResponses(responses);
  }, SWEEP_EVERY_MS);

  return {
    origin,
    adminToken,
    firstKey,
    ready: () => {
      standing.ready = true;
    },
    async stop() {
      clearInterval(sweeper);
      await drain(edge, responses, config.GATEWAY_DRAIN_TIMEOUT_MS);
      // Streams that are still open end here, and say so before their connections are cut.
      await transport.close();
      await edge.cut();
      await responses.jobs.settled();
      await gateway.tokens.close();
      await books.close();
      await store.close();
      await sandbox?.close();
    },
  };
}

function documentsAt(place: { readonly version: string; readonly serverUrl: string }): Record<string, Handler> {
  return documentHandlers({
    apiDocument: () => apiDocumentText(place),
    manageDocument: () => manageDocumentText(place),
    llmsText: () => llmsText(place),
    publicUrl: place.serverUrl,
  });
}

/** The store, once it is sure that what is sealed in it can be opened. */
async function openStore(config: Config, masterKey: Buffer, log: Logger): Promise<Store> {
  const { DATABASE_URL: address, GATEWAY_DATABASE_CONNECTIONS: connections, DATA_DIR: dataDir } = config;
  const store =
    address === null
      ? await openSqlite(dataDir, systemClock)
      : await openPostgres({ address, connections, dataDir, clock: systemClock, log });
  try {
    await checkMasterKey(masterKey, store.dataKeys);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function warnOfUnknown(config: Config, snapshot: Snapshot, log: Logger): void {
  const unknown = unknownProviderSettings(config.providers, snapshot);
  if (unknown.length > 0) log.warn({ providers: unknown }, "settings name providers that the catalogue does not have");
}

async function loadTenants(store: Store, directory: Directory, state: SharedState): Promise<void> {
  directory.load(await store.tenancy.loadAll());
  for (const { workspaceId, balanceNanos } of await store.ledger.wallets())
    await state.credit(workspaceId, balanceNanos);
}

/** Lets what is running finish; background work that does not is left for the next start. */
async function drain(edge: Edge, { jobs }: ResponsesRoom, timeoutMs: number): Promise<void> {
  await Promise.all([edge.drain(timeoutMs), jobs.drain(timeoutMs)]);
  jobs.abandon();
}

function responseSettings(config: Config): Pick<ResponsesDeps, "retentionMs" | "jobsMax" | "keepAliveMs"> {
  return {
    retentionMs: parseDurationMs(config.GATEWAY_RESPONSES_RETENTION) ?? 0,
    jobsMax: { all: config.GATEWAY_BACKGROUND_MAX, workspace: config.GATEWAY_BACKGROUND_WORKSPACE_MAX },
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
  };
}

function warningsOf(log: Logger): ResponsesDeps["warn"] {
  return (detail, message) => log.warn(detail, message);
}

async function sweepResponses({ store, clock, warn }: ResponsesDeps): Promise<void> {
  try {
    await store.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "expired responses could not be removed yet");
  }
}

/** Background work that an earlier process left; it needs the key that asked to be one that may still ask. */
function resumeResponses(responses: ResponsesRoom, store: Store, directory: Directory): Promise<void> {
  const route = ROUTES.find(({ id }) => id === "createResponse");
  if (route === undefined) throw new Error("there is no route to create responses");
  return resumeJobs(responses, {
    route,
    isRecorded: async (id) => (await store.log.find(id)) !== undefined,
    callerOf: (keyId) => {
      const key = directory.key(keyId);
      const principal = key === undefined ? undefined : directory.byDigest(key.digest);
      if (principal === undefined || standingOf(principal.key, systemClock.nowMs()) !== "valid") return undefined;
      return scopeFault(principal, route) === undefined ? principal : undefined;
    },
  });
}

/** What callers with a key, and anyone who reads the catalogue, can ask. */
function surfaceHandlers(gateway: Gateway, responses: ResponsesRoom): Record<string, Handler> {
  const { snapshot, connections, clock } = gateway;
  const nowMs = () => clock.nowMs();
  return {
    ...chatHandlers(gateway),
    ...responsesHandlers(responses),
    ...storedResponseHandlers(responses),
    ...messagesHandlers(gateway),
    ...countHandlers(gateway),
    ...catalogueHandlers({ snapshot, nowMs }),
    ...modelHandlers({
      snapshot,
      connections,
      nowMs,
      allows: (endpoint, policy) => isSpoken(endpoint) && excludedByPolicy(endpoint, policy) === undefined,
      permits: permitsModel,
      servedSurfaces: ["chat", "messages", "responses"],
    }),
    validateKey: validateHandler,
  };
}

function checksOf(config: Config, store: Store, books: Books): Check[] {
  return [
    {
      name: "store",
      run: async () => {
        await store.ping();
        return { ok: true, detail: config.DATABASE_URL?.shown ?? `embedded store in ${config.DATA_DIR}` };
      },
    },
    {
      name: "journal",
      run: async () => {
        const detail = `${books.pending()} records wait for the store`;
        return books.journal.broken ? { ok: false, detail: `it cannot be written; ${detail}` } : { ok: true, detail };
      },
    },
    {
      name: "settings",
      run: async () => ({ ok: true, detail: config.warnings.length === 0 ? "all known" : config.warnings.join("; ") }),
    },
  ];
}

/** What to write instead, in place of the system's word for it. */
function cannotListen(error: unknown, { HOST, PORT }: Config): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new ConfigError([`PORT: ${PORT} on ${HOST} is in use by another program; stop it, or write another port`]);
  if (code === "EACCES") return new ConfigError([`PORT: this user may not open port ${PORT}; write one from 1024 on`]);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new ConfigError([`HOST: this machine has no address ${HOST}; write one of its own, such as 127.0.0.1`]);
  return error;
}

function limitsOf(config: Config): Gateway["limits"] {
  return {
    holdOutputTokens: config.GATEWAY_HOLD_OUTPUT_TOKENS,
    requestTimeoutMs: config.GATEWAY_REQUEST_TIMEOUT_MS,
    answerMaxBytes: config.GATEWAY_ANSWER_MAX_BYTES,
    frameMaxChars: FRAME_CHARS_MAX,
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    attemptsMax: ATTEMPTS_MAX,
  };
}

function openTransport(config: Config): Transport {
  return httpTransport({
    connections: config.GATEWAY_UPSTREAM_CONNECTIONS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  });
}

/** Service accounts by the provider's name in its variable. */
function mintedFrom(config: Config, transport: Transport): Map<string, MintedCredential> {
  const minted = new Map<string, MintedCredential>();
  for (const [name, text] of config.providers.credentials) {
    const account = readGoogleAccount(text);
    if ("problem" in account) throw new ConfigError([`PROVIDER_${name}_CREDENTIALS: ${account.problem}`]);
    minted.set(name, mintedCredential(account, transport, systemClock));
  }
  return minted;
}

type EdgeParts = Pick<EdgeDeps, "clock" | "ids" | "directory" | "state" | "adminToken"> & {
  config: Config;
  log: Logger;
  metrics: Metrics;
};

function openEdge({ config, log, metrics, ...parts }: EdgeParts): Edge {
  const proxies = config.GATEWAY_TRUSTED_PROXIES;
  return new Edge({
    ...parts,
    routes: ROUTES,
    ipLimit: new IpLimit(config.GATEWAY_RPM_IP, parts.clock),
    trustedProxies: proxies.length === 0 ? undefined : addressList(proxies),
    bodyLimits: { jsonMaxBytes: config.GATEWAY_BODY_MAX_BYTES, uploadMaxBytes: config.GATEWAY_UPLOAD_MAX_BYTES },
    cors: { origins: config.GATEWAY_CORS_ORIGINS },
    patience: { ...PATIENCE, stallMs: config.GATEWAY_CLIENT_STALL_MS },
    credentials: [...config.providers.apiKeys.values()],
    rpmDefaults: { live: config.GATEWAY_RPM_LIVE, test: config.GATEWAY_RPM_TEST },
    alarmed: ({ code, status, detail, message }, requestId) => {
      // Only a fault of the gateway itself is an error of its operator; the rest passes, or is a provider's.
      const level = code === "internal_error" ? "error" : "warn";
      log[level]({ requestId, code, status, detail }, message);
    },
    answered: (route, status, durationMs) => metrics.answered(route, status, durationMs),
  });
}

/** Prints where things are and how to make the first call. The key is shown this once. */
function banner({ origin, firstKey }: Running, { GATEWAY_PUBLIC_URL, sandbox }: Config): string {
  const base = GATEWAY_PUBLIC_URL ?? origin;
  const lines = [`API      ${base}/v1`, `Portal   ${base}/`];
  if (firstKey !== undefined) {
    const body = JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] });
    const auth = `-H 'Authorization: Bearer ${firstKey}'`;
    lines.push(`Key      ${firstKey}`);
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

/** Runs until it is told to stop. The first signal drains; a later second one exits at once. */
export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(env);
  const running = await start(config);
  process.stdout.write(banner(running, config));
  running.ready();
  await new Promise<void>((resolve) => {
    let firstMs: number | undefined;
    const stop = () => {
      // A launcher forwards what the terminal sends to the whole group: signals close together are one.
      if (firstMs !== undefined && systemClock.elapsedMs() - firstMs > SAME_SIGNAL_MS) process.exit(1);
      if (firstMs !== undefined) return;
      firstMs = systemClock.elapsedMs();
      running.stop().then(resolve, (error: unknown) => {
        process.stderr.write(`error: ${error instanceof Error ? error.message : "the gateway did not stop cleanly"}\n`);
        process.exit(1);
      });
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, stop);
  });
}
