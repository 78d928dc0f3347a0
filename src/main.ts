import { readFileSync } from "node:fs";
import path from "node:path";
import { stateWithAlerts } from "./app/alerts/state-with-alerts.ts";
import type { ManageDeps, RequestDecoders, TenancyDeps } from "./app/manage/deps.ts";
import { LedgerPoster } from "./app/manage/money/ledger-poster.ts";
import { fleetMutationLock } from "./app/manage/mutation-lock.ts";
import type { Captures } from "./app/pipeline/content-captures.ts";
import type { GatewayDeps } from "./app/pipeline/gateway-deps.ts";
import { overseenResponses } from "./app/responses/end-work.ts";
import type { ResponsesRoom } from "./app/responses/responses-context.ts";
import { decodeChat } from "./app/surfaces/chat.ts";
import { decodeMessage } from "./app/surfaces/messages.ts";
import { requestHandlers } from "./app/surfaces/request-cost.ts";
import { decodeResponse } from "./app/surfaces/responses.ts";
import { transcriptionHandlers } from "./app/surfaces/transcriptions.ts";
import { openAlerts } from "./bootstrap/alerts.ts";
import { boundsOf, limitsOf } from "./bootstrap/bounds.ts";
import { openCaptures } from "./bootstrap/captures.ts";
import { openCatalogue, warnOfUnknown } from "./bootstrap/catalogue.ts";
import { checksNow } from "./bootstrap/checks.ts";
import { cannotListen, knownSecrets, openEdge, servedSurfaces } from "./bootstrap/edge.ts";
import { firstWords } from "./bootstrap/first-start.ts";
import { openSharing, reloading, shareEndpoints } from "./bootstrap/fleet.ts";
import { gaugesOf } from "./bootstrap/gauges.ts";
import { documentsAt, managementHandlers, operationsOf, surfaceHandlers } from "./bootstrap/handlers.ts";
import { retentionOf, sweepOften } from "./bootstrap/jobs.ts";
import { holdNodes, joinPeers, openNodes } from "./bootstrap/nodes.ts";
import { type Observed, openObserve, openRecords } from "./bootstrap/observe.ts";
import { holdOwnKeys, openOwnKeys } from "./bootstrap/own-keys.ts";
import { openPeopleRoom } from "./bootstrap/people.ts";
import { openPayments, openPrices, openRates } from "./bootstrap/prices.ts";
import { openProber, proofBookOf } from "./bootstrap/proofs.ts";
import { openKept } from "./bootstrap/responses.ts";
import { routingOf } from "./bootstrap/routing.ts";
import { openSecrets } from "./bootstrap/secrets.ts";
import { inForceOf } from "./bootstrap/settings.ts";
import { loadTenants, openIdempotency, openStore } from "./bootstrap/store.ts";
import { mintedFrom, openTransport } from "./bootstrap/upstream.ts";
import { AlertMonitor } from "./domain/alerts/alert-monitor.ts";
import { RateRegistry } from "./domain/catalogue/exchange-rates.ts";
import type { Fleet } from "./domain/fleet/fleet.ts";
import { Directory } from "./domain/tenancy/directory.ts";
import { recheckKey } from "./edge/authenticate.ts";
import type { Managers } from "./edge/authenticate-manager.ts";
import type { Edge } from "./edge/server.ts";
import { type DiskSpace, watchDiskSpace } from "./io/disk-space.ts";
import type { Store } from "./io/store/sql/store.ts";
import { createLogger, type Logger } from "./io/telemetry/logger.ts";
import { Metrics } from "./io/telemetry/metrics.ts";
import { OperatorEvents } from "./io/telemetry/operator-events.ts";
import { tokenCounter } from "./io/tokens/token-counter.ts";
import { withTunnels } from "./io/tunnel/nodes.ts";
import { openUploads, type Uploads } from "./io/uploads/uploads.ts";
import { accountsAlone, addressesFrom, connectionsFrom } from "./io/upstream/connections.ts";
import type { WorkerContext } from "./io/workers/worker-context.ts";
import { placementOf } from "./io/workers/worker-folders.ts";
import { systemClock } from "./kit/clock.ts";
import { createIdGenerator } from "./kit/id-generator.ts";
import { randomToken } from "./kit/secret.ts";
import { systemTimers } from "./kit/timers.ts";
import { startSandbox } from "./sandbox/server.ts";
import { type Config, PROJECT_ROOT } from "./settings/config.ts";

/** A gateway that runs: where it is reached, and how it is stopped. */
export type Running = {
  readonly origin: string;
  readonly adminToken: string;
  /** The key of a first start, shown once; undefined at later starts. */
  readonly firstKey: string | undefined;
  /** Good once, while nobody runs the gateway; undefined when somebody does. */
  readonly setupLink: string | undefined;
  /** Opens the doors of /readyz: called once the banner is out. */
  ready(): Promise<void>;
  /** The metrics of this process alone. */
  metrics(): Promise<string>;
  /**
   * `keep`: others serve on at the same address, and connections that are idle may go on to them in their own time. Answers
   * with `left` where the next start has to book or free what SQL or Redis did not take.
   */
  stop(idle?: "close" | "keep"): Promise<"done" | "left">;
};

const VERSION = readVersion();
const HOP_MARK_BYTES = 9;

const clock = systemClock;
const TIME = { clock, timers: systemTimers };

function readVersion(): string {
  const found: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
}

/** Called with the open store before anything is read from it: tests put there what an earlier process left. */
type Prepare = (store: Store, platform: Pick<Platform, "snapshot" | "connections">) => Promise<void>;

/** Builds everything, brings it up, and answers with what a caller needs. Nothing else in the code wires parts. */
export async function start(config: Config, prepare?: Prepare, joined?: WorkerContext): Promise<Running> {
  const ground = await openGround(config);
  const { log, ids, rateBook, snapshot, transport, directory, watch: monitor, metrics, nodes } = ground;
  const { adminToken, instanceId } = await openSecrets(config);
  const place = placementOf({ dataDir: config.DATA_DIR, instanceId }, joined);
  const sharing = await openSharing(config, { place, ids, log, joined });
  const { fleet } = sharing;
  const state = stateWithAlerts(sharing.state, monitor);
  const mutationLock = fleetMutationLock(fleet);
  const held = holdOwnKeys(config, { snapshot, transport, platform: () => platform });
  const personOf: Managers["personOf"] = (headers) => people.personOf(headers);
  const edge = openEdge({ ...ground, config, clock, state, fleet, adminToken, personOf });
  const origin = joined?.origin ?? (await listening(edge, config));

  const platform = await openPlatform(config, { ...ground, fleet });
  const { sandbox, connections, proofs, routing, observed } = platform;

  const { store, vault, rotation, masterKeys, reloadKeys } = await openStore(config, { ids, log, fleet, ...place });
  await prepare?.(store, platform);
  await sharing.begin(store);
  const { prober, sandboxProven } = await openProber(config, store, { ...ground, ...platform, fleet });
  const recording = { ...ground, ...sharing, place, store, version: VERSION };
  const { books, logExport } = await openRecords(config, recording);
  const caughtUp = sharing.caughtUp(books);
  const ownKeys = await openOwnKeys(store, { ...ground, ...platform, held, vault });
  await loadTenants(store, directory);
  await sharing.open(store, directory, books);
  await openNodes(store, ground.heldNodes, ids, log);
  const peers = await joinPeers(config, { ...ground, board: sharing.board, fleet, masterKeys });
  const alerts = await openAlerts(config, store, {
    monitor,
    directory,
    state,
    ownKeys: held,
    vault,
    ids,
    metrics,
    log,
  });
  const bounds = boundsOf(config);
  metrics.registerGauges(gaugesOf(edge, books, { ...bounds, nodes, sharing }));
  const captureStore = store.captures(vault);
  const captures = await openCaptures(config, captureStore, directory, log);
  const gateway: GatewayDeps = {
    ...{ ...TIME, snapshot, connections, ...routing, ownKeys: held, nodes, ...bounds, state, transport, captures },
    journal: books.journal,
    secretsOf: knownSecrets(connections, held),
    tokenCounter: tokenCounter(),
    recheckKey: (exchange) => recheckKey(exchange, directory, clock.nowMs()),
    margins: await openPrices(config, store, rateBook, ids),
    limits: limitsOf(config),
    loopDetection: await hopsOf(config, store),
    idempotency: openIdempotency(config, store, caughtUp.all, log),
    ...toldOf(ground, observed),
  };
  const disk = await watchDiskSpace(place.dataDir, config.GATEWAY_DISK_FREE_MIN_BYTES);
  const responses = await openKept({ config, store, vault, directory, disk, sharing, ids, log }, gateway);
  const ledgerPoster = new LedgerPoster({
    state,
    ledger: store.ledger,
    clock,
    walletGeneration: () => sharing.filling,
  });
  const tenancy: TenancyDeps = { store, directory, state, ledgerPoster, captures, clock, ids, snapshot };
  const money = await openPayments(config, { ...tenancy, store, mutationLock, caughtUp: caughtUp.all }, log);
  const rates = openRates(config, {
    tenancy,
    store: store.rates,
    rateBook: rateBook,
    mutationLock,
    fleet,
    log,
    transport,
  });
  const copies = reloading({ ...gateway, ...ground, store, ownKeys, captures, prober, reloadKeys });
  const people = openPeopleRoom(config, { ...ground, store, vault, copies, origin, mutationLock, adminToken });
  const standing = { ready: false };
  const manage: ManageDeps = {
    ...manageSettings(config),
    ...{ ...tenancy, store, connections, responses: overseenResponses(responses), ownKeys, rates, prober },
    ...{
      captureStore,
      alerts,
      awaitIngest: caughtUp.soon,
      planning: gateway,
      endpoints: gateway,
      payments: money.payments,
    },
    nodes: { registry: nodes, max: config.GATEWAY_NODES_MAX, instance: fleet.id },
    ...{ masterKey: { rotation, timers: systemTimers }, timers: systemTimers },
    checks: checksNow(config, { ...ground, store, books, bounds, disk, rotation, alerts, prober, sharing, logExport }),
  };
  await sharing.follow(copies);
  const endpoints = await shareEndpoints(sharing, gateway);
  edge.open(nodes, gateway.secretsOf, {
    ...surfaceHandlers(gateway, responses, proofs, servedSurfaces(config)),
    ...transcriptionHandlers(gateway, await uploadsOf(config, place.dataDir, disk)),
    ...requestHandlers({ log: store.log, timers: systemTimers, waitForIngest: caughtUp.soon }),
    ...managementHandlers(manage, people, mutationLock),
    ...documentsAt({ version: VERSION, serverUrl: config.GATEWAY_PUBLIC_URL ?? origin }),
    ...operationsOf(edge, standing, { metrics, joined, adminToken }),
  });
  const first = place.isFirst ? await firstWords({ store, tenancy, fleet, people }) : {};
  const retention = retentionOf(config, store, log);
  const sweeper = sweepOften(config, { state, captures, responses, rotation, retention, money, people, fleet });
  await sandboxProven;

  return {
    origin,
    adminToken,
    firstKey: first.firstKey,
    setupLink: first.setupLink,
    ready: () =>
      begin(standing, [prober, logExport], place.isFirst ? undefined : () => listening(edge, config, origin)),
    metrics: async () => (await metrics.render()).body,
    async stop(idle) {
      await Promise.all([sweeper, alerts, rates, prober, logExport].map((part) => part.stop()));
      await drain({ edge, responses, peers }, config, idle);
      await cut(gateway, edge, captures, responses);
      return closeAll([responses, observed, disk, peers, endpoints, books, sharing, store, sandbox]);
    },
  };
}

async function hopsOf(config: Config, store: Store): Promise<GatewayDeps["loopDetection"]> {
  const mark = await store.meta.add("hop_mark", randomToken(HOP_MARK_BYTES));
  return { mark, everywhere: config.GATEWAY_CATALOGUE_DIR !== null };
}

function uploadsOf(config: Config, dataDir: string, disk: DiskSpace): Promise<Uploads> {
  // Room for less than one would be a refusal for ever.
  const togetherMaxBytes = Math.max(config.GATEWAY_UPLOADS_MAX_BYTES, config.GATEWAY_UPLOAD_MAX_BYTES);
  return openUploads(path.join(dataDir, "tmp"), disk, togetherMaxBytes);
}

type Ground = Awaited<ReturnType<typeof openGround>>;

/** What everything else stands on; nothing of it is kept on disk, and nothing listens yet. */
async function openGround(config: Config) {
  const rateBook = new RateRegistry(await openCatalogue(config));
  const log = logOf(config);
  warnOfUnknown(config, rateBook.snapshot, log);
  const heldNodes = holdNodes(config, () => rateBook.snapshot);
  const watch = new AlertMonitor();
  const metrics = new Metrics();
  return {
    log,
    ids: createIdGenerator(() => clock.nowMs()),
    rateBook,
    snapshot: () => rateBook.snapshot,
    transport: withTunnels(openTransport(config), heldNodes.nodes),
    nodes: heldNodes.nodes,
    heldNodes,
    directory: new Directory(),
    watch,
    metrics,
    notices: new OperatorEvents((notice) => metrics.recordEvent(notice), log, systemClock),
  };
}

type Platform = Awaited<ReturnType<typeof openPlatform>>;

/** Who can be reached from here, simulated providers included, and what is proven of them. */
async function openPlatform(
  config: Config,
  { snapshot, transport, directory, ids, metrics, log, fleet }: Ground & { readonly fleet: Fleet },
) {
  const sandbox = config.sandbox ? await startSandbox({ clock, ids }) : undefined;
  const origins = sandbox?.origins ?? {};
  const connections = connectionsFrom(config.providers, snapshot, origins, mintedFrom(config, transport));
  const proofs = proofBookOf(config, snapshot, connections);
  const routing = routingOf(snapshot, connections, directory, proofs);
  const addresses = addressesFrom(config.providers, origins);
  const alone = accountsAlone(config.providers, snapshot());
  const observed = openObserve(config, { metrics, snapshot, connections, version: VERSION, fleet, log });
  const reached = { snapshot, sandbox, connections, addresses, accountsAlone: alone };
  return { ...reached, proofs, routing, reach: routing.reach, observed };
}

async function listening({ door }: Edge, config: Config, told?: string): Promise<string> {
  try {
    const origin = await door.listen(config.HOST, config.PORT);
    if (told === undefined || origin === told) return origin;
    // The system chose the port for workers that are all gone: it would choose another one for those that follow.
    await door.unlisten();
    return await door.listen(config.HOST, Number(new URL(told).port));
  } catch (error) {
    throw cannotListen(error, config);
  }
}

/** What the management API shows of the settings, and does by them. */
function manageSettings(config: Config) {
  return {
    peopleCreateWorkspaces: config.GATEWAY_SIGNUP === "open",
    responseRetention: config.GATEWAY_RESPONSES_RETENTION,
    inForce: inForceOf(config, VERSION, clock.nowMs()),
    readers: READERS,
  };
}

type Begun = { start(): void };

/** Served from here on; who is not proven yet is asked now. A worker that joins others listens only now, too. */
async function begin(standing: { ready: boolean }, parts: readonly Begun[], listen?: () => Promise<string>) {
  standing.ready = true;
  for (const part of parts) part.start();
  await listen?.();
}

/** Told of every request that is over, and of what happened on its way. */
function toldOf(
  { metrics, watch, notices }: Pick<Ground, "metrics" | "watch" | "notices">,
  { finished, passTrace: traceparentFor }: Observed,
): Pick<GatewayDeps, "finished" | "noticed" | "passTrace"> {
  return {
    onRequestFinished(record) {
      metrics.recordRequest(record);
      watch.recordRequest(record);
      finished?.(record);
    },
    onNotice: (notice) => notices.record(notice),
    ...(traceparentFor === undefined ? {} : { traceparentFor }),
  };
}

function logOf(config: Config): Logger {
  const log = createLogger(config.LOG_LEVEL);
  for (const warning of config.warnings) log.warn({ setting: warning }, "a setting to look at");
  return log;
}

/** Streams that are still open end here, and say so before their connections are cut. */
async function cut(gateway: GatewayDeps, edge: Edge, captures: Pick<Captures, "settled">, { jobs }: ResponsesRoom) {
  await gateway.transport.close();
  await edge.door.cut();
  await jobs.settled();
  await gateway.tokenCounter.close();
  await captures.settled();
}

/** One after the other. */
async function closeAll(parts: readonly ({ close(): unknown } | undefined)[]): ReturnType<Running["stop"]> {
  const ends: unknown[] = [];
  for (const part of parts) ends.push(await part?.close());
  return ends.includes("left") ? "left" : "done";
}

/** How requests are read when it is asked what would become of them. */
const READERS: RequestDecoders = {
  chat: decodeChat,
  messages: (bytes) => decodeMessage(bytes, { headers: {} }),
  responses: decodeResponse,
};

type Drained = {
  readonly edge: Edge;
  readonly responses: ResponsesRoom;
  readonly peers: Awaited<ReturnType<typeof joinPeers>>;
};

/** Lets what is running finish; background work that does not is left for the next start. */
async function drain({ edge, responses: { jobs }, peers }: Drained, config: Config, idle: "close" | "keep" = "close") {
  const { GATEWAY_DRAIN_DELAY_MS: delayMs, GATEWAY_DRAIN_TIMEOUT_MS: timeoutMs } = config;
  // Balancers find out before the port is closed, and have no request on its way to a connection that ends.
  if (delayMs > 0 && idle === "close") await edge.door.announce(delayMs);
  await Promise.all([edge.door.drain(timeoutMs, idle), ...[jobs, peers].map((part) => part.drain(timeoutMs))]);
  jobs.abandon();
}
