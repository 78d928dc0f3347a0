import type { Json, TestFleet } from "./fleet.ts";
import type { Caller, CallOutcome } from "./load.ts";

export type World = {
  readonly keys: Readonly<Record<string, string>>;
  readonly ids: Readonly<Record<string, string>>;
  readonly callers: readonly Caller[];
  readonly credits: Readonly<Record<string, string>>;
  /** When the revocation of the key of `gone` was confirmed. */
  revokedMs: number;
  /** When it was requested. */
  revokingMs: number;
};

export type Report = {
  readonly seed: number;
  readonly seconds: number;
  readonly requests: number;
  /** By caller and outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly faults: readonly { readonly name: string; readonly atMs: number; readonly tookMs: number }[];
  readonly wholeMs: { readonly p50: number; readonly p99: number; readonly longest: number };
  readonly refusedLongestMs: number;
  readonly chargedNanos: Readonly<Record<string, number>>;
  readonly peakMegabytes: number;
  /** Violations; empty when all is well. */
  readonly wrong: readonly string[];
};

type Evidence = World & {
  readonly fleet: TestFleet;
  readonly seen: readonly CallOutcome[];
  readonly after: readonly CallOutcome[];
  readonly faults: Report["faults"];
  /** When the rolling restart began, and how each instance exited. */
  readonly rolling: { readonly fromMs: number; readonly ends: readonly (number | string)[] };
  readonly seed: number;
  readonly tookMs: number;
  readonly peakBytes: number;
};

/** Requests per minute of the key of `often`. */
export const LIMIT = 60;
/** Memory limit of one instance: far above what it needs, far below what a leak would reach. */
const RESIDENT_BYTES_MAX = 700 * 1024 * 1024;
const MINUTE_MS = 60_000;
const EXAMPLES_MAX = 5;
/** The status of an expected refusal by caller. All may meet a dying instance, and the balancer's errors for it. */
const MEANT: Readonly<Record<string, number>> = { poor: 402, often: 429, gone: 401 };

export async function judge(evidence: Evidence): Promise<Report> {
  const { fleet, seen, after, credits, faults } = evidence;
  const all = [...seen, ...after];
  const wrong: string[] = [];
  const chargedNanos: Record<string, number> = {};
  const rows = new Map<string, Json>();
  for (const [who, credit] of Object.entries(credits)) {
    const exported: Json[] = [await fleet.manage("GET", `/workspaces/${who}/requests/export?format=jsonl`)].flat();
    for (const row of exported) {
      if (rows.has(row.id)) wrong.push(`${row.id} is in the log twice`);
      rows.set(row.id, row);
    }
    const charged = exported.reduce((sum, { cost }) => sum + nanos(cost), 0);
    chargedNanos[who] = charged;
    const { balance } = await fleet.manage("GET", `/workspaces/${who}/wallet`);
    if (nanos(balance) !== nanos(credit) - charged)
      wrong.push(`${who}: ${balance} is left of ${credit}, but the log adds up to ${charged} nanos`);
    if (nanos(balance) < 0) wrong.push(`${who}: the balance is ${balance}`);
  }
  wrong.push(
    ...some("an answer that a caller had whole is not in the log", missing(all, rows)),
    ...some("an answer said another cost than the log", differing(all, rows)),
    ...some("a revoked key was served", servedAfter(evidence)),
    ...some("an unexpected refusal", unmeant(all, evidence.revokingMs)),
    ...some("a caller waited without end", all.filter(({ code }) => code === "hang").map(describeOutcome)),
    ...some(
      "an instance does not serve any more",
      after.filter(({ outcome }) => outcome !== "whole").map(describeOutcome),
    ),
    ...some("an instance did not end by itself", evidence.rolling.ends.filter((how) => how !== 0).map(String)),
    ...some("a restart of one instance after the other was noticed", noticed(seen, evidence.rolling.fromMs)),
    ...limitBroken(seen, faults),
    ...neverHappened(seen),
  );
  const doctor = await fleet.manage("GET", "/doctor");
  for (const { name, ok, detail } of doctor.checks ?? []) if (!ok) wrong.push(`doctor: ${name}: ${detail}`);
  if (evidence.peakBytes > RESIDENT_BYTES_MAX) wrong.push(`an instance had ${evidence.peakBytes} bytes in memory`);
  const whole = all.filter(({ outcome }) => outcome === "whole").map(({ tookMs }) => tookMs);
  const refused = all.filter(({ outcome }) => outcome === "refused").map(({ tookMs }) => tookMs);
  return {
    seed: evidence.seed,
    seconds: Math.round(evidence.tookMs / 1000),
    requests: all.length,
    outcomes: counted(
      all.map(({ who, outcome, code }) => `${who}: ${code === undefined ? outcome : `${outcome} ${code}`}`),
    ),
    faults,
    wholeMs: { p50: at(whole, 0.5), p99: at(whole, 0.99), longest: at(whole, 1) },
    refusedLongestMs: at(refused, 1),
    chargedNanos,
    peakMegabytes: Math.round(evidence.peakBytes / 1024 / 1024),
    wrong,
  };
}

function missing(all: readonly CallOutcome[], rows: ReadonlyMap<string, Json>): string[] {
  return all.filter(({ outcome, requestId }) => outcome === "whole" && !rows.has(requestId ?? "")).map(describeOutcome);
}

function differing(all: readonly CallOutcome[], rows: ReadonlyMap<string, Json>): string[] {
  return all.flatMap((one) => {
    const row = rows.get(one.requestId ?? "");
    if (one.outcome !== "whole" || one.costNanos === undefined || row === undefined) return [];
    return nanos(row.cost) === one.costNanos
      ? []
      : [`${describeOutcome(one)}: ${one.costNanos} nanos, in the log ${row.cost}`];
  });
}

function servedAfter({ seen, revokedMs }: Evidence): string[] {
  if (Number.isNaN(revokedMs)) return ["the key was never revoked"];
  return seen
    .filter(
      ({ who, startedMs, outcome }) =>
        who === "gone" && startedMs > revokedMs && outcome !== "refused" && outcome !== "lost",
    )
    .map(describeOutcome);
}

/** A 503 of the gateway has Retry-After; 502 to 504 without its body are the balancer's, for an instance that died. */
function unmeant(all: readonly CallOutcome[], revokingMs: number): string[] {
  return all
    .filter(({ who, outcome, status, code, retryAfter, startedMs, tookMs }) => {
      if (outcome !== "refused") return false;
      if (code === "balancer") return ![502, 503, 504].includes(status ?? 0);
      if (status === 503) return retryAfter === null;
      return status !== MEANT[who] || (who === "gone" && startedMs + tookMs < revokingMs);
    })
    .map(describeOutcome);
}

function noticed(seen: readonly CallOutcome[], fromMs: number): string[] {
  return seen
    .filter(({ who, startedMs, outcome, status }) => startedMs > fromMs && outcome !== "whole" && status !== MEANT[who])
    .map(describeOutcome);
}

/** In any minute at most the limit; a Redis that lost its data starts a new count. */
function limitBroken(seen: readonly CallOutcome[], faults: Report["faults"]): string[] {
  const served = seen
    .filter(({ who, outcome }) => who === "often" && outcome === "whole")
    .map(({ startedMs }) => startedMs)
    .sort((a, b) => a - b);
  const counts = served.map((from, first) => served.slice(first).findIndex((one) => one >= from + MINUTE_MS));
  const most = Math.max(0, ...counts.map((count, first) => (count === -1 ? served.length - first : count)));
  const losses = faults.filter(({ name }) => name.startsWith("loss of Redis")).length;
  const allowed = LIMIT * (1 + losses);
  return most <= allowed ? [] : [`${most} requests were served in a minute to a key of ${LIMIT} a minute`];
}

/** A run without refusals, or in which no caller ran out of money, would prove nothing. */
export function neverHappened(seen: readonly CallOutcome[]): string[] {
  const had = (who: string, test: (one: CallOutcome) => boolean) => seen.some((one) => one.who === who && test(one));
  return [
    ["rich was never served", had("rich", ({ outcome }) => outcome === "whole")],
    ["poor never ran out of money", had("poor", ({ status }) => status === 402)],
    ["often was never told to wait", had("often", ({ status }) => status === 429)],
    ["gone was never served", had("gone", ({ outcome }) => outcome === "whole")],
    ["gone was never refused", had("gone", ({ status }) => status === 401)],
  ].flatMap(([what, happened]) => (happened === true ? [] : [String(what)]));
}

function some(what: string, examples: readonly string[]): string[] {
  if (examples.length === 0) return [];
  return [`${what} (${examples.length}): ${examples.slice(0, EXAMPLES_MAX).join(" | ")}`];
}

function describeOutcome({ who, kind, outcome, status, code, requestId, tookMs }: CallOutcome): string {
  return `${who} ${kind} ${requestId ?? "without id"}: ${outcome} ${status ?? ""} ${code ?? ""} after ${Math.round(tookMs)} ms`;
}

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

function nanos(amount: unknown): number {
  return Math.round(Number(amount) * 1e9);
}
