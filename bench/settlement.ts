import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Exchange, rejectUpload } from "../src/app/exchange.ts";
import { type AdmissionDeps, admit } from "../src/app/pipeline/admit.ts";
import { decodeChat } from "../src/app/pipeline/decode.ts";
import type { SettlementDeps } from "../src/app/pipeline/metered-usage.ts";
import { RequestTrace } from "../src/app/pipeline/record.ts";
import { settleCharged } from "../src/app/pipeline/settle.ts";
import type { Fault } from "../src/contract/faults.ts";
import { ROUTES } from "../src/contract/routes.ts";
import { NO_MARGIN } from "../src/domain/billing/margin.ts";
import { type CatalogueSnapshot, priceAt } from "../src/domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../src/domain/catalogue/load.ts";
import type { Attempt } from "../src/domain/routing/reachable-endpoint.ts";
import type { Principal } from "../src/domain/tenancy/key.ts";
import { OPEN_POLICY } from "../src/domain/tenancy/policy.ts";
import { catalogueFiles } from "../src/io/catalogue-files.ts";
import { openIngestPipeline } from "../src/io/journal/ingest-pipeline.ts";
import { memoryState } from "../src/io/state/memory-state.ts";
import { openSqlite } from "../src/io/store/sql/sqlite/open.ts";
import { Metrics } from "../src/io/telemetry/metrics.ts";
import { systemClock } from "../src/kit/clock.ts";
import { createIdGenerator } from "../src/kit/id-generator.ts";
import { sampleRecords } from "./log-samples.ts";

/**
 * Measures the cost of settlement and logging: `node bench/settlement.ts [requests]`. Runs the same requests with hold,
 * charge, record, journal and metrics, and without; the result is the difference. The main thread determines latency; the
 * whole process includes the SQLite worker thread.
 */
const MICROS_MAX = 25;
const AT_ONCE = 32;
const REPETITIONS = 5;
const requests = Number(process.argv[2] ?? 20_000);
const clock = systemClock;
const ids = createIdGenerator(() => clock.nowMs());
const quiet = { info() {}, warn() {}, error() {} };
const { request: inferenceRequest } = decodeChat(
  Buffer.from(
    JSON.stringify({
      model: "any",
      messages: [{ role: "user", content: "How much is it?" }],
      max_tokens: 200,
    }),
  ),
);
const usage = {
  inputTokens: 120,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 90,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

const loaded = await loadCatalogue([path.resolve(import.meta.dirname, "../catalogue")], clock.nowMs(), catalogueFiles);
if (!("snapshot" in loaded)) throw new Error("the catalogue cannot be read");
const { snapshot } = loaded;
const attempt = someAttempt(snapshot);
const principal = somePrincipal();
/** A record of typical size, with candidates and attempts. */
const [sample] = sampleRecords(1, clock.nowMs(), 1).take(1);
const plan = {
  is: "planned",
  attempts: [attempt],
  reason: "",
  router: null,
  effort: null,
  decision: () => sample?.decision ?? { candidates: [], order: [] },
  withPolicyNote: (problem: Fault) => problem,
  recheckPolicy: () => undefined,
  recheckRouter: () => undefined,
} as const;
const folder = mkdtempSync(path.join(tmpdir(), "gateway-settlement-"));
try {
  const store = await openSqlite(folder, clock);
  const books = await openIngestPipeline({
    dataDir: folder,
    store,
    serializeRecord: store.encodeRecord,
    clock,
    random: Math.random,
    syncEveryMs: 5,
    log: quiet,
  });
  const state = memoryState(clock);
  await state.credit(principal.workspace.id, 10n ** 18n);
  const metrics = new Metrics();
  const gateway: AdmissionDeps & SettlementDeps = {
    limits: {
      holdOutputTokens: 4096,
      requestTimeoutMs: 600_000,
      responseMaxBytes: 1,
      binaryFrameMaxBytes: 1,
      preambleMaxChars: 1,
      frameMaxChars: 1,
      keepAliveMs: 1,
      attemptsMax: 3,
      queueWaitMs: 0,
    },
    journal: books.journal,
    state,
    spenderOf: ({ key }) => ({ keyId: key.id, limits: [] }),
    onRequestFinished: (record) => metrics.recordRequest(record),
    onNotice: (notice) => metrics.recordEvent(notice),
  };
  const on = async () => {
    const trail = trailOf();
    await admit(gateway, trail, { attempts: [attempt] }, inferenceRequest);
    await settleCharged(
      gateway,
      trail,
      attempt,
      { usage, outputWeight: 360 },
      { inputTokens: 120 },
      { status: 200, errorCode: null },
    );
  };
  const off = async () => {
    trailOf();
    // Both yield twice, like a request that waits for its upstream.
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  await measure(on);
  await measure(off);
  const threads: number[] = [];
  const wholes: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    const [without, withAll] = [await measure(off), await measure(on)];
    await books.flush();
    threads.push(withAll.thread - without.thread);
    wholes.push(withAll.whole - without.whole);
  }
  await books.close();
  await store.close();
  const middle = (figures: number[]) => figures.toSorted((a, b) => a - b)[REPETITIONS >> 1] ?? 0;
  const micros = middle(threads);
  console.log(
    `${requests} requests, ${REPETITIONS} times: ${micros.toFixed(1)} µs of the request thread each (at most ${MICROS_MAX}), ${middle(wholes).toFixed(1)} µs of the whole process with the writing to SQLite`,
  );
  if (micros > MICROS_MAX) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(one: () => Promise<void>): Promise<{ thread: number; whole: number }> {
  const [thread, whole] = [process.threadCpuUsage(), process.cpuUsage()];
  for (let done = 0; done < requests; done += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
  const micros = ({ user, system }: NodeJS.CpuUsage) => (user + system) / requests;
  return { thread: micros(process.threadCpuUsage(thread)), whole: micros(process.cpuUsage(whole)) };
}

function trailOf(): RequestTrace {
  const trail = new RequestTrace(exchangeOf(), principal, "chat", clock);
  trail.modelRequested = attempt.model.id;
  trail.servingAttempt = attempt;
  trail.plan = plan;
  trail.terms = { currencies: snapshot.currencies, margin: NO_MARGIN, extras: undefined, hasOutputLimit: true };
  for (const tried of sample?.attempts ?? []) trail.addAttempt(tried);
  return trail;
}

function exchangeOf(): Exchange {
  const route = ROUTES.find(({ id }) => id === "createChatCompletion");
  if (route === undefined) throw new Error("there is no route for chat");
  return {
    requestId: ids.next("chatcmpl-"),
    route,
    params: {},
    query: new URLSearchParams(),
    headers: {},
    clientAddress: "127.0.0.1",
    receivedAtMs: clock.nowMs(),
    startedMs: clock.monotonicMs(),
    principal,
    baseHeaders: {},
    body: async () => Buffer.alloc(0),
    upload: rejectUpload,
  };
}

/** Priced in another currency than the wallet's, which needs a conversion. */
function someAttempt({ endpoints, models }: CatalogueSnapshot): Attempt {
  for (const endpoint of endpoints.values()) {
    const [price, model] = [priceAt(endpoint, clock.nowMs()), models.get(endpoint.model)];
    if (price?.currency === "USD" && price.outputPer1mTokens !== null && model !== undefined)
      return { endpoint, model, price, baseUrl: "http://127.0.0.1" };
  }
  throw new Error("nothing in the catalogue is priced in dollars");
}

function somePrincipal(): Principal {
  const workspace = {
    id: "ws_bench",
    slug: "bench",
    name: "Bench",
    currency: "EUR",
    createdAtMs: 0,
    policy: OPEN_POLICY,
    keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
  };
  const key = {
    id: "key_bench",
    workspaceId: workspace.id,
    memberId: null,
    name: "bench",
    kind: "workspace",
    environment: "live",
    digest: "",
    state: "active",
    scopes: null,
    ipAllowlist: null,
    expiresAtMs: null,
    graceUntilMs: null,
    rpm: null,
    policy: null,
    version: 1,
    createdAtMs: 0,
    rotatedFrom: null,
  } as const;
  return { workspace, key, member: undefined, allowlist: undefined };
}
