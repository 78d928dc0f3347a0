import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { honestly, systemOne } from "../../../tests/support/proofs.ts";
import { NOON_MS } from "../../../tests/support/small-catalogue.ts";
import { layTables } from "../../../tests/support/tables.ts";
import { startUpstream } from "../../../tests/support/upstream.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import { ProofRegistry } from "../../domain/catalogue/proof-registry.ts";
import { proofSubject } from "../../domain/catalogue/proofs.ts";
import { createHttpClient } from "../../http1/client/http-client.ts";
import { catalogueFiles } from "../../io/catalogue-files.ts";
import { openSqlite } from "../../io/store/sql/sqlite/open.ts";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kit/time.ts";
import type { Timers } from "../../kit/timers.ts";
import { Prober, type ProberDeps } from "./prober.ts";

const ENDPOINT = "typesafe:global:typesafe/jev-1.13.0";

/** How long one answer may take: what tells its timer from that of the schedule. */
const ANSWER_MS = 5_000;

/** Time that only passes when it is told to. */
function handTime() {
  let nowMs = NOON_MS;
  const due = new Set<{ atMs: number; ms: number; then: () => void }>();
  const timers: Timers = {
    after(ms, then) {
      const one = { atMs: nowMs + ms, ms, then };
      due.add(one);
      return { refresh: () => undefined, [Symbol.dispose]: () => void due.delete(one) };
    },
  };
  // Rounds take real time, on real sockets: one is over when the next is set.
  const rested = () =>
    eventually(() => expect([...due].some(({ ms }) => ms !== ANSWER_MS)).toBe(true), { interval: 2 });
  return {
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    timers,
    rested,
    async pass(ms: number) {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...due].toSorted((a, b) => a.atMs - b.atMs);
        if (next === undefined || next.atMs > untilMs) break;
        due.delete(next);
        nowMs = next.atMs;
        next.then();
        if (next.ms !== ANSWER_MS) await rested();
      }
      nowMs = untilMs;
    },
    /** As after a sleep: nothing happened meanwhile. */
    jump(ms: number) {
      nowMs += ms;
    },
    /** The clock on the wall is corrected; what waits waits as long as before. */
    setBack(ms: number) {
      nowMs -= ms;
      for (const one of due) one.atMs -= ms;
    },
    get set() {
      return due.size;
    },
  };
}

/** A prober of one provider on a real socket, with a store in a folder of its own. */
async function open(more: Partial<ProberDeps> = {}) {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-prober-"));
  const time = handTime();
  const upstream = await startUpstream(systemOne(honestly));
  await layTables(dataDir);
  const store = await openSqlite(dataDir, time.clock);
  const loaded = await loadCatalogue(
    [path.resolve(import.meta.dirname, "../../../catalogue")],
    NOON_MS,
    catalogueFiles,
  );
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { snapshot } = loaded;
  const connections = {
    hasRealProvider: true,
    credential: (slug: string) => (slug === "typesafe" ? { kind: "bearer" as const, token: "t" } : undefined),
    baseUrl: () => upstream.baseUrl,
  };
  const rules = { maxAgeMs: 30 * DAY_MS, failuresMax: 2 };
  const transport = createHttpClient({
    connections: 8,
    connectTimeoutMs: 5e3,
    firstByteTimeoutMs: 5e3,
    idleTimeoutMs: 5e3,
  });
  const bookOf = () =>
    new ProofRegistry(rules, {
      subjectOf: (endpoint, surface) => proofSubject(endpoint, surface, connections),
      isExempt: () => false,
    });
  const told: string[] = [];
  const warnings: unknown[] = [];
  const make = () =>
    new Prober({
      ...time,
      snapshot: () => snapshot,
      connections,
      transport,
      proofs: bookOf(),
      store: store.proofs,
      isLeader: () => true,
      ids: createIdGenerator(time.clock.nowMs),
      surfaces: ["decisions"],
      everyMs: DAY_MS,
      maxAgeMs: rules.maxAgeMs,
      keepMs: 400 * DAY_MS,
      timeoutMs: ANSWER_MS,
      responseMaxBytes: 65_536,
      onProof: ({ endpoint, result, cause }) => told.push(`${endpoint} ${result} ${cause}`),
      warn: (detail, message) => warnings.push([message, detail]),
      ...more,
    });
  const prober = make();
  onTestFinished(async () => {
    await prober.stop();
    await transport.close();
    await store.close();
    await upstream.close();
    rmSync(dataDir, { recursive: true });
    expect(warnings).toEqual([]);
  });
  const mine = () =>
    told.filter((line) => line.startsWith(`${ENDPOINT} `)).map((line) => line.slice(ENDPOINT.length + 1));
  return {
    prober,
    make,
    upstream,
    store,
    time,
    told: mine,
    is: (which = prober) => which.all().find(({ endpoint }) => endpoint.id === ENDPOINT)?.proven,
    /** The round is over, and so many proofs of the endpoint were made in all. */
    made: async (count: number) => {
      await time.rested();
      expect(mine()).toHaveLength(count);
    },
  };
}

describe("DEC-02 the schedule", () => {
  test("starts with unproven endpoints and repeats within a day, after most of it has passed", async () => {
    const { prober, time, told, made } = await open();
    prober.start();
    await made(1);
    await time.pass(21 * HOUR_MS);
    await made(1);
    await time.pass(3 * HOUR_MS + MINUTE_MS);
    await made(2);
    expect(told()).toEqual(["proven start", "proven schedule"]);
  });

  test("retries a failed endpoint with backoff, and its proof follows the results", async () => {
    const { prober, time, upstream, told, made, is } = await open();
    upstream.always({ status: 500 });
    prober.start();
    await made(1);
    expect(is()).toBe(false);
    await time.pass(8 * MINUTE_MS);
    await made(1);
    await time.pass(2 * MINUTE_MS);
    await made(2);
    await time.pass(17 * MINUTE_MS);
    await made(2);
    upstream.always(systemOne(honestly));
    await time.pass(3 * MINUTE_MS);
    await made(3);
    expect([told().at(-1), is()]).toEqual(["proven schedule", true]);
    await time.pass(HOUR_MS);
    await made(3);
  });

  test("continues after a restart with stored proofs, and does not repeat fresh ones", async () => {
    const { prober, make, time, upstream, made, is } = await open();
    prober.start();
    await made(1);
    await prober.stop();
    const asked = upstream.requests.length;
    const next = make();
    await next.load();
    expect(is(next)).toBe(true);
    await time.pass(HOUR_MS);
    next.start();
    await time.rested();
    expect(upstream.requests).toHaveLength(asked);
    await next.stop();
  });

  test("makes no calls if it is `never`, except on demand", async () => {
    const { prober, time, upstream, is } = await open({ everyMs: null });
    prober.start();
    await time.rested();
    await time.pass(2 * DAY_MS);
    expect(upstream.requests).toHaveLength(0);
    await prober.prove(
      prober.all().filter(({ endpoint }) => endpoint.id === ENDPOINT),
      "operator",
    );
    expect(is()).toBe(true);
    time.jump(30 * DAY_MS - 1);
    expect(is()).toBe(true);
    time.jump(1);
    expect(is()).toBe(false);
  });

  test("deletes expired proofs", async () => {
    const { prober, store, time, made } = await open({ keepMs: 2 * DAY_MS });
    prober.start();
    await made(1);
    await time.pass(4 * DAY_MS);
    const kept = await store.proofs.since(0);
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.every(({ atMs }) => atMs >= NOON_MS + 1.9 * DAY_MS)).toBe(true);
  });
});

test("a call that cannot be started is reported as such", async () => {
  const at: { url?: string } = {};
  const broken = { kind: "bearer" as const, token: "a\nb" };
  const connections = {
    hasRealProvider: true,
    credential: (slug: string) => (slug === "typesafe" ? broken : undefined),
    baseUrl: () => at.url,
  };
  const { prober, upstream } = await open({ connections });
  at.url = upstream.baseUrl;
  const wanted = prober.all().filter(({ endpoint }) => endpoint.id === ENDPOINT);
  const proofs = await prober.prove(wanted, "operator");
  expect(proofs).toMatchObject([{ result: "failed", reason: "the endpoint is unreachable" }]);
});

test("concurrent requests for the same proof share one probe", async () => {
  const { prober, upstream } = await open();
  const wanted = prober.all().filter(({ endpoint }) => endpoint.id === ENDPOINT);
  const [one, other] = await Promise.all([prober.prove(wanted, "operator"), prober.prove(wanted, "schedule")]);
  expect(one).toEqual(other);
  expect(upstream.requests).toHaveLength(2);
});

test("a silent endpoint times out, and a shutdown records no failure", async () => {
  const { prober, store, time, upstream } = await open();
  upstream.always({ end: { is: "stall", after: "before_headers" } });
  const wanted = prober.all().filter(({ endpoint }) => endpoint.id === ENDPOINT);
  const late = prober.prove(wanted, "operator");
  await upstream.arrived(1);
  await eventually(() => expect(time.set).toBe(1));
  await time.pass(ANSWER_MS);
  expect(await late).toMatchObject([{ result: "failed", reason: "no complete response within 5 s" }]);
  const cut = prober.prove(wanted, "operator");
  await upstream.arrived(2);
  await prober.stop();
  expect(await cut).toEqual([]);
  expect(await store.proofs.since(0)).toHaveLength(1);
});

describe("a clock in the future", () => {
  test("DEC-02 proves nothing after its correction: the endpoint is probed again within the hour", async () => {
    const { prober, time, made, is } = await open();
    time.jump(400 * DAY_MS);
    prober.start();
    await made(1);
    time.setBack(400 * DAY_MS);
    expect(is()).toBe(false);
    await time.pass(HOUR_MS);
    await made(2);
    expect(is()).toBe(true);
  });

  test("DEC-02 proves nothing after a restart either, and does not hide valid proofs", async () => {
    const { prober, make, time, is } = await open();
    const wanted = prober.all().filter(({ endpoint }) => endpoint.id === ENDPOINT);
    await prober.prove(wanted, "operator");
    time.jump(400 * DAY_MS);
    await prober.prove(wanted, "operator");
    time.setBack(400 * DAY_MS);
    const next = make();
    await next.load();
    expect(is(next)).toBe(true);
    time.jump(30 * DAY_MS);
    expect(is(next)).toBe(false);
  });
});

test("DEC-02 a proof is bound to the call's facts: other facts invalidate it, other limits do not", async () => {
  const { prober } = await open();
  const endpoint = prober.all().find((one) => one.endpoint.id === ENDPOINT)?.endpoint;
  if (endpoint?.decisions == null) throw new Error("no endpoint to ask");
  const { decisions } = endpoint;
  const connections = { baseUrl: () => "https://one.example" };
  const subject = (more: Partial<typeof decisions>) =>
    proofSubject({ ...endpoint, decisions: { ...decisions, ...more } }, "decisions", connections);
  expect(subject({ optionsMax: 3, bodyMaxBytes: 9 })).toBe(subject({}));
  for (const more of [
    { hasEnvelope: true },
    { logprobs: "count" },
    { topLogprobs: 5 },
    { thinkingOff: "enable_thinking" },
  ] as const)
    expect(subject(more)).not.toBe(subject({}));
});
