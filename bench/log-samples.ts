import type { RequestRecord } from "../src/domain/record/record.ts";
import { finishedRecord } from "../tests/support/records.ts";

const STATUSES = [
  [200, null],
  [429, "rate_limit_exceeded"],
  [502, "upstream_error"],
  [404, "model_not_found"],
] as const;

/** `unlike`: every request has a unique label; `faded`: only old requests had one, at a provider no longer used. */
export const HABITS = ["usual", "unlike", "faded"] as const;
export type Habits = (typeof HABITS)[number];

/** One in this many requests is from the old period. */
const FADED_SHARE = 50;

/** Deterministic requests of a busy workspace: forty keys, a dozen models, mostly successful. */
export function sampleRecords(total: number, endMs: number, spacingMs: number, habits: Habits = "usual") {
  let n = 0;
  return {
    take(count: number): RequestRecord[] {
      const last = Math.min(total, n + count);
      const records: RequestRecord[] = [];
      for (; n < last; n += 1) {
        const record = sampleRecord(n, Math.floor(endMs - (total - n) * spacingMs), habits);
        records.push(habits === "faded" && n < total / FADED_SHARE ? faded(record, n) : record);
      }
      return records;
    },
  };
}

function sampleRecord(n: number, createdAtMs: number, habits: Habits): RequestRecord {
  const draw = drawsOf(n);
  const [status, errorCode] = STATUSES[draw(50) < 46 ? 0 : 1 + draw(3)] ?? STATUSES[0];
  // A key uses few models, like real programs; two thirds of the calls use the first eight keys.
  const key = draw(3) < 2 ? draw(8) : draw(40);
  const model = (key * 5 + draw(4)) % 12;
  const provider = `provider-${(model + draw(2)) % 6}`;
  const plain = finishedRecord(`chatcmpl-${createdAtMs.toString(16).padStart(12, "0")}7${hex(n)}`, {
    createdAtMs,
    keyId: `key_${hex(key)}`,
    memberId: key % 4 === 0 ? `mem_${hex(key)}` : null,
    environment: draw(10) === 0 ? "test" : "live",
    app: habits === "unlike" ? `job ${n}` : (["support-desk", "editor", "batch", null][(key + draw(2)) % 4] ?? null),
    modelRequested: draw(8) === 0 ? "auto" : `creator/model-${model}`,
    model: status === 404 ? null : `creator/model-${model}`,
    provider: status === 404 ? null : provider,
    status,
    errorCode,
    // A program uses one dialect.
    surface: key % 3 === 0 ? "messages" : "chat",
  });
  return status === 200 ? plain : { ...plain, charge: null, usage: null };
}

function faded(record: RequestRecord, n: number): RequestRecord {
  const left = { provider: "provider-gone", status: 503, errorCode: "upstream_error", environment: "live" } as const;
  return { ...record, ...left, app: `job ${n}`, charge: null, usage: null };
}

const hex = (n: number) => n.toString(16).padStart(19, "0");

/** A seeded pseudo-random sequence. */
function drawsOf(seed: number): (below: number) => number {
  let state = (seed + 1) * 0x9e3779b1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x6d2b79f5) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}
