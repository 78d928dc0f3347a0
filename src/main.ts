import { readFileSync } from "node:fs";
import path from "node:path";
import type { Alerts } from "./app/alerts/alerts.ts";
import { watchedState } from "./app/alerts/watched-state.ts";
import type { Handler } from "./app/exchange.ts";
import type { Check, ManageDeps, Readers, TenancyDeps } from "./app/manage/deps.ts";
import { fleetTurns } from "./app/manage/fleet-turns.ts";
import { guarded } from "./app/manage/guard.ts";
import { manageHandlers } from "./app/manage/handlers.ts";
import { Bookings } from "./app/manage/money/bookings.ts";
import { paymentHandlers } from "./app/manage/money/payments.ts";
import { masterKeyCheck } from "./app/manage/operation/master-key.ts";
import type { MasterKeyRotation } from "./app/manage/operation/master-key-rotation.ts";
import { firstStart } from "./app/manage/tenancy/first-start.ts";
import type { People } from "./app/people/open.ts";
import type { Captures } from "./app/pipeline/captures.ts";
import { connectionsFor, snapshotFor } from "./app/pipeline/own-layers.ts";
import type { Gateway } from "./app/pipeline/world.ts";
import type { Prober } from "./app/prober/prober.ts";
import { overseenResponses } from "./app/responses/removal.ts";
import type { ResponsesRoom } from "./app/responses/room.ts";
import { catalogueHandlers } from "./app/surfaces/catalogue.ts";
import { chatHandlers, decodeChat } from "./app/surfaces/chat.ts";
import { countHandlers } from "./app/surfaces/count-tokens.ts";
import { decisionsHandlers } from "./app/surfaces/decisions.ts";
import { documentHandlers } from "./app/surfaces/documents.ts";
import { embeddingsHandlers } from "./app/surfaces/embeddings.ts";
import { decodeMessage, messagesHandlers } from "./app/surfaces/messages.ts";
import { modelHandlers } from "./app/surfaces/models.ts";
import { operationsHandlers } from "./app/surfaces/operations.ts";
import { requestHandlers } from "./app/surfaces/requests.ts";
import { decodeResponse, responsesHandlers } from "./app/surfaces/responses.ts";
import { speechHandlers } from "./app/surfaces/speech.ts";
import { storedResponseHandlers } from "./app/surfaces/stored-responses.ts";
import { transcriptionHandlers } from "./app/surfaces/transcriptions.ts";
import { validateHandler } from "./app/surfaces/validate.ts";
import { apiDocumentText, llmsText, manageDocumentText } from "./contract/documents.ts";
import { PEOPLE_ROUTES } from "./contract/routes-people.ts";
import { AlertWatch } from "./domain/alerts/watch.ts";
import type { Proven } from "./domain/catalogue/proofs.ts";
import { RateBook } from "./domain/catalogue/rates.ts";
import type { Fleet } from "./domain/fleet/fleet.ts";
import type { Surface } from "./domain/record/record.ts";
import { excludedByPolicy, permitsModel } from "./domain/routing/policy.ts";
import { Directory } from "./domain/tenancy/directory.ts";
import type { Managers } from "./edge/actor.ts";
import { isOperator, recheckKey } from "./edge/authenticate.ts";
import type { Edge } from "./edge/server.ts";
import { type DiskSpace, watchDisk } from "./io/disk-space.ts";
import type { Books } from "./io/journal/open.ts";
import type { Store } from "./io/store/sql/store.ts";
import { type Logger, openLog } from "./io/telemetry/log.ts";
import { Metrics } from "./io/telemetry/metrics.ts";
import { Notices } from "./io/telemetry/notices.ts";
import { tokenCounter } from "./io/tokens/token-counter.ts";
import { withTunnels } from "./io/tunnel/nodes.ts";
import { openUploads, type Uploads } from "./io/uploads/uploads.ts";
import { addressesFrom, connectionsFrom } from "./io/upstream/connections.ts";
import { placeOf } from "./io/workers/folders.ts";
import type { Joined } from "./io/workers/joined.ts";
import { systemClock } from "./kit/clock.ts";
import { makeIds } from "./kit/ids.ts";
import { systemTimers } from "./kit/timers.ts";
import { alertCheck, openAlerts } from "./parts/alerts.ts";
import { checksOf, diskCheck } from "./parts/checks.ts";
import { fleetChecks, openSharing, reloading, type Sharing, shareEndpoints } from "./parts/fleet.ts";
import { retentionOf, sweepOften } from "./parts/jobs.ts";
import { holdNodes, joinPeers, nodeCheck, openNodes } from "./parts/nodes.ts";
import { type LogExporting, logExportCheck, type Observed, openObserve, openRecords } from "./parts/observe.ts";
import { holdOwnKeys, openOwnKeys } from "./parts/own-keys.ts";
import {
  boundsOf,
  cannotListen,
  gaugesOf,
  limitsOf,
  mintedFrom,
  openCaptures,
  openCatalogue,
  openEdge,
  openSecrets,
  openTransport,
  routingOf,
  servedSurfaces,
  warnOfUnknown,
} from "./parts/parts.ts";
import { openPeopleRoom } from "./parts/people.ts";
import { openPayments, openPrices, openRates } from "./parts/prices.ts";
import { openProber, proofBookOf, proofCheck } from "./parts/proofs.ts";
import { openKept } from "./parts/responses.ts";
import { inForceOf } from "./parts/settings.ts";
import { loadTenants, openIdempotency, openStore } from "./parts/store.ts";
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
  /** `keep`: others serve on at the same address, and connections that are idle may go on to them in their own time. */
  stop(idle?: "close" | "keep"): Promise<void>;
};

const FIRST_START = "first_start";

const VERSION = readVersion();

const clock = systemClock;
const TIME = { clock, timers: systemTimers };

function readVersion(): string {
  const found: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
}

/** Called with the open store before anything is read from it: tests put there what an earlier process left. */
type Prepare = (store: Store, platform: Pick<Platform, "snapshot" | "connections">) => Promise<void>;

/** Builds everything, brings it up, and answers with what a caller needs. Nothing else in the code wires parts. */
export async function start(config: Config, prepare?: Prepare, joined?: Joined): Promise<Running> {
  const ground = await openGround(config);
  const { log, ids, rateBook, snapshot, transport, directory, watch, metrics, nodes } = ground;
  const { adminToken, instanceId } = await openSecrets(config);
  const sharing = await openSharing(config, { instanceId, ids, log, joined });
  const { fleet } = sharing;
  const state = watchedState(sharing.state, watch);
  const inTurn = fleetTurns(fleet);
  const held = holdOwnKeys(config, { snapshot, transport, platform: () => platform });
  const personOf: Managers["personOf"] = (headers) => people.personOf(headers);
  const edge = openEdge({ ...ground, config, clock, state, fleet, adminToken, personOf, ownKeys: held });
  const origin = joined?.origin ?? (await listening(edge, config));

  const platform = await openPlatform(config, { ...ground, fleet });
  const { sandbox, connections, addresses, proofs, routing, observed } = platform;

  const place = placeOf(config.DATA_DIR, joined);
  const { store, vault, rotation, masterKeys } = await openStore(config, { ids, log, fleet, ...place });
  await prepare?.(store, platform);
  await sharing.begin(store);
  const { prober, sandboxProven } = await openProber(config, store, { ...ground, ...platform, fleet });
  const recording = { ...ground, ...sharing, place, store, version: VERSION };
  const { books, logExport } = await openRecords(config, recording);
  const caughtUp = sharing.caughtUp(books);
  const ownKeys = await openOwnKeys(store, { held, vault, snapshot, transport, connections, addresses, log });
  await loadTenants(store, directory);
  await sharing.open(store, directory, books);
  await openNodes(store, ground.heldNodes, ids, log);
  const peers = await joinPeers(config, { ...ground, board: sharing.board, fleet, masterKeys });
  const alerts = await openAlerts(config, store, { watch, directory, state, ownKeys: held, vault, ids, metrics, log });
  const bounds = boundsOf(config);
  metrics.watch(gaugesOf(edge, books, { ...bounds, nodes, sharing }));
  const captured = store.captures(vault);
  const captures = await openCaptures(config, captured, directory, log);
  const gateway: Gateway = {
    ...{ ...TIME, snapshot, connections, ...routing, ownKeys: held, nodes, ...bounds, state, transport, captures },
    journal: books.journal,
    tokens: tokenCounter(),
    recheck: (exchange) => recheckKey(exchange, directory, clock.nowMs()),
    margins: await openPrices(config, store, rateBook, ids),
    limits: limitsOf(config),
    idempotency: openIdempotency(config, store, caughtUp.all, log),
    ...toldOf(metrics, watch, observed, log),
  };
  const disk = await watchDisk(place.dataDir, config.GATEWAY_DISK_FREE_MIN_BYTES);
  const responses = await openKept({ config, store, vault, directory, disk, sharing, log }, gateway);
  const bookings = new Bookings({ state, ledger: store.ledger, clock, filling: () => sharing.filling });
  const tenancy: TenancyDeps = { store, directory, state, bookings, captures, clock, ids, snapshot };
  const money = await openPayments(config, { ...tenancy, store, caughtUp: caughtUp.all }, { fleet, log });
  const rates = openRates(config, { tenancy, store: store.rates, book: rateBook, inTurn, fleet, log, transport });
  const people = openPeopleRoom(config, { store, vault, directory, ids, log, origin, inTurn });
  const standing = { ready: false };
  const manage: ManageDeps = {
    ...manageSettings(config),
    ...{ ...tenancy, store, connections, responses: overseenResponses(responses), ownKeys, rates, prober },
    ...{ captured, alerts, caughtUp: caughtUp.soon, planning: gateway, endpoints: gateway, payments: money.payments },
    nodes: { held: nodes, max: config.GATEWAY_NODES_MAX, instance: fleet.id },
    masterKey: { rotation, timers: systemTimers },
    checks: checksNow(config, { store, books, bounds, disk, rotation, alerts, prober, nodes, sharing, logExport }),
  };
  const copies = { store, directory, ownKeys, nodes, watch, captures, margins: gateway.margins, rateBook, prober };
  await sharing.follow(reloading(copies));
  const endpoints = await shareEndpoints(sharing, gateway);
  edge.open(nodes, {
    ...surfaceHandlers(gateway, responses, proofs, servedSurfaces(config)),
    ...transcriptionHandlers(gateway, await uploadsOf(config, place.dataDir, disk)),
    ...requestHandlers({ log: store.log, timers: systemTimers, caughtUp: caughtUp.soon }),
    ...managementHandlers(manage, people),
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
    ready: () => begin(standing, [prober, logExport], place.isFirst ? undefined : () => listening(edge, config)),
    metrics: async () => (await metrics.text()).body,
    async stop(idle) {
      await Promise.all([sweeper, alerts, rates, prober, logExport].map((part) => part.stop()));
      await drain({ edge, responses, peers }, config, idle);
      await cut(gateway, edge, captures, responses);
      for (const part of [responses, observed, disk, peers, endpoints, books, sharing, store, sandbox])
        await part?.close();
    },
  };
}

function uploadsOf(config: Config, dataDir: string, disk: DiskSpace): Promise<Uploads> {
  // Room for less than one would be a refusal for ever.
  const togetherMaxBytes = Math.max(config.GATEWAY_UPLOADS_MAX_BYTES, config.GATEWAY_UPLOAD_MAX_BYTES);
  return openUploads(path.join(dataDir, "tmp"), disk, togetherMaxBytes);
}

type Ground = Awaited<ReturnType<typeof openGround>>;

/** What everything else stands on; nothing of it is kept on disk, and nothing listens yet. */
async function openGround(config: Config) {
  const rateBook = new RateBook(await openCatalogue(config));
  const log = logOf(config);
  warnOfUnknown(config, rateBook.snapshot, log);
  const heldNodes = holdNodes(config, () => rateBook.snapshot);
  const watch = new AlertWatch();
  return {
    log,
    ids: makeIds(() => clock.nowMs()),
    rateBook,
    snapshot: () => rateBook.snapshot,
    transport: withTunnels(openTransport(config), heldNodes.nodes),
    nodes: heldNodes.nodes,
    heldNodes,
    directory: new Directory(),
    watch,
    metrics: new Metrics(),
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
  const observed = openObserve(config, { metrics, snapshot, connections, version: VERSION, fleet, log });
  return { snapshot, sandbox, connections, addresses, proofs, routing, reach: routing.reach, observed };
}

function listening(edge: Edge, config: Config): Promise<string> {
  return edge.listen(config.HOST, config.PORT).catch((error: unknown) => {
    throw cannotListen(error, config);
  });
}

type Checked = {
  readonly store: Store;
  readonly books: Books;
  readonly bounds: ReturnType<typeof boundsOf>;
  readonly disk: DiskSpace;
  readonly rotation: MasterKeyRotation;
  readonly alerts: Alerts;
  readonly prober: Prober;
  readonly nodes: Ground["nodes"];
  readonly sharing: Sharing;
  readonly logExport: LogExporting;
};

function checksNow(config: Config, checked: Checked): Check[] {
  const { store, books, bounds, disk, rotation, alerts, prober, nodes, sharing, logExport } = checked;
  // They advise, and never call something broken.
  const advice = [
    diskCheck(config, disk),
    masterKeyCheck(rotation),
    alertCheck(alerts),
    proofCheck(prober),
    nodeCheck(nodes),
    logExportCheck(logExport),
  ];
  return [...checksOf(config, store, books, bounds.breakers), ...fleetChecks(config, sharing), ...advice];
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
  metrics: Metrics,
  watch: AlertWatch,
  { finished, passTrace }: Observed,
  log: Logger,
): Pick<Gateway, "finished" | "noticed" | "passTrace"> {
  return {
    finished(record) {
      metrics.finished(record);
      watch.finished(record);
      finished?.(record);
    },
    noticed: noticesOf(metrics, log),
    ...(passTrace === undefined ? {} : { passTrace }),
  };
}

function logOf(config: Config): Logger {
  const log = openLog(config.LOG_LEVEL);
  for (const warning of config.warnings) log.warn({ setting: warning }, "a setting that is not known");
  return log;
}

function noticesOf(metrics: Metrics, log: Logger): Gateway["noticed"] {
  const notices = new Notices((notice) => metrics.noticed(notice), log, systemClock);
  return (notice) => notices.take(notice);
}

type First = { readonly store: Store; readonly tenancy: TenancyDeps; readonly fleet: Fleet; readonly people: People };
type FirstWords = { readonly firstKey?: string | undefined; readonly setupLink?: string | undefined };

/** What the first start shows, once. */
async function firstWords({ store, tenancy, fleet, people }: First): Promise<FirstWords> {
  const firstKey = await fleet.alone(`workspace:${FIRST_START}`, () => firstKeyOf(store, tenancy));
  return { firstKey, setupLink: await people.setupLink() };
}

async function firstKeyOf(store: Store, tenancy: TenancyDeps): Promise<string | undefined> {
  if ((await store.meta.get(FIRST_START)) !== undefined) return undefined;
  const key = await firstStart(tenancy);
  await store.meta.set(FIRST_START, "done");
  return key;
}

/** Streams that are still open end here, and say so before their connections are cut. */
async function cut(gateway: Gateway, edge: Edge, captures: Pick<Captures, "settled">, { jobs }: ResponsesRoom) {
  await gateway.transport.close();
  await edge.cut();
  await jobs.settled();
  await gateway.tokens.close();
  await captures.settled();
}

/** What people and operators call, and payment providers. */
function managementHandlers(deps: ManageDeps, people: People): Record<string, Handler> {
  const ofPeople = { ...people.openHandlers, ...guarded(deps, PEOPLE_ROUTES, people.managedHandlers) };
  const room = { ...deps, inTurn: people.inTurn };
  return { ...manageHandlers(room), ...paymentHandlers(room), ...ofPeople };
}

type Operated = { readonly metrics: Metrics; readonly joined: Joined | undefined; readonly adminToken: string };

function operationsOf(edge: Edge, standing: { ready: boolean }, { metrics, joined, adminToken }: Operated) {
  return operationsHandlers({
    unready: async () => (edge.draining ? "it is draining" : standing.ready ? undefined : "it is starting"),
    async metricsText() {
      const own = await metrics.text();
      return joined === undefined ? own : { ...own, body: await joined.allMetrics() };
    },
    isOperator: (authorization) => isOperator(authorization, adminToken),
  });
}

/** How requests are read when it is asked what would become of them. */
const READERS: Readers = {
  chat: decodeChat,
  messages: (bytes) => decodeMessage(bytes, { headers: {} }),
  responses: decodeResponse,
};

function documentsAt(place: { readonly version: string; readonly serverUrl: string }): Record<string, Handler> {
  return documentHandlers({
    apiDocument: () => apiDocumentText(place),
    manageDocument: () => manageDocumentText(place),
    llmsText: () => llmsText(place),
    publicUrl: place.serverUrl,
    portalFolder: path.join(PROJECT_ROOT, "portal/dist"),
  });
}

type Drained = {
  readonly edge: Edge;
  readonly responses: ResponsesRoom;
  readonly peers: Awaited<ReturnType<typeof joinPeers>>;
};

/** Lets what is running finish; background work that does not is left for the next start. */
async function drain({ edge, responses: { jobs }, peers }: Drained, config: Config, idle: "close" | "keep" = "close") {
  const { GATEWAY_DRAIN_DELAY_MS: delayMs, GATEWAY_DRAIN_TIMEOUT_MS: timeoutMs } = config;
  // Balancers find out before the port is closed, and have no request on its way to a connection that ends.
  if (delayMs > 0 && idle === "close") await edge.announce(delayMs);
  await Promise.all([edge.drain(timeoutMs, idle), ...[jobs, peers].map((part) => part.drain(timeoutMs))]);
  jobs.abandon();
}

/** What callers with a key, and anyone who reads the catalogue, can ask. */
function surfaceHandlers(
  gateway: Gateway,
  responses: ResponsesRoom,
  proofs: Proven,
  served: readonly Surface[],
): Record<string, Handler> {
  const { snapshot, clock, margins } = gateway;
  const nowMs = () => clock.nowMs();
  return {
    ...chatHandlers(gateway),
    ...responsesHandlers(responses),
    ...storedResponseHandlers(responses),
    ...messagesHandlers(gateway),
    ...countHandlers(gateway),
    ...embeddingsHandlers(gateway),
    ...decisionsHandlers(gateway),
    ...speechHandlers(gateway),
    ...catalogueHandlers({ snapshot, nowMs, margin: margins.usual }),
    ...modelHandlers({
      snapshotOf: (workspaceId) => snapshotFor(gateway, workspaceId),
      connectionsOf: (workspaceId) => connectionsFor(gateway, workspaceId),
      proofs,
      nowMs,
      marginOf: (workspaceId) => margins.of(workspaceId),
      allows: (endpoint, policy) => excludedByPolicy(endpoint, policy) === undefined,
      permits: permitsModel,
      servedSurfaces: served,
    }),
    validateKey: validateHandler,
  };
}
