import type { RequestRecord } from "../src/domain/record/record.ts";
import { finishedRecord } from "../tests/support/records.ts";

export const WORKSPACES = 200;
const KEYS = 2000;
export const DAYS = 90;
export const END_MS = Date.UTC(2027, 0, 15);
const DAY_MS = 86_400_000;

/** One in this many requests, the oldest, used a provider that nothing used later. */
const OLD_SHARE = 50;
const OLD_LABELS = 40;

export const workspaceName = (n: number) => `ws_${n.toString(16).padStart(19, "0")}`;
export const GONE_PROVIDER = "provider-gone";

/** Deterministic requests of many workspaces, spread evenly over the days, oldest first. */
export function* growthRecords(total: number, batch: number): Generator<RequestRecord[]> {
  for (let n = 0; n < total; n += batch)
    yield Array.from({ length: Math.min(batch, total - n) }, (_, at) => growthRecord(n + at, total));
}

function growthRecord(n: number, total: number): RequestRecord {
  const draw = drawsOf(n);
  const createdAtMs = Math.floor(END_MS - ((total - n) / total) * DAYS * DAY_MS);
  const key = draw(KEYS);
  const isOld = n < total / OLD_SHARE;
  const hasFailed = draw(50) === 0;
  const model = (key * 5 + draw(4)) % 12;
  const provider = isOld ? GONE_PROVIDER : `provider-${(model + draw(2)) % 6}`;
  const streaming = draw(2) === 0;
  const inputTokens = 200 + draw(4000);
  const totalMs = 300 + draw(9000) / 10;
  const startedAtMs = createdAtMs + 1;
  const id = `chatcmpl-${createdAtMs.toString(16).padStart(12, "0")}7${hex(n)}`;
  const endpoint = `${provider}:eu:creator/model-${model}`;
  const plain = finishedRecord(id, {
    createdAtMs,
    workspaceId: workspaceName(key % WORKSPACES),
    keyId: `key_${hex(key)}`,
    memberId: key % 4 === 0 ? `mem_${hex(key)}` : null,
    environment: draw(10) === 0 ? "test" : "live",
    app: isOld ? `job ${draw(OLD_LABELS)}` : (["support-desk", "editor", "batch", null][key % 4] ?? null),
    modelRequested: draw(8) === 0 ? "auto" : `creator/model-${model}`,
    model: `creator/model-${model}`,
    provider,
    endpoint,
    surface: key % 3 === 0 ? "messages" : "chat",
    streaming,
    ttfbMs: 100 + draw(2000) / 10,
    totalMs,
  });
  const [attempt] = plain.attempts;
  const [candidate] = plain.decision?.candidates ?? [];
  const record: RequestRecord = {
    ...plain,
    usage: plain.usage && { ...plain.usage, inputTokens, outputTokens: 20 + draw(900), cachedTokens: 0 },
    charge: plain.charge && { ...plain.charge, nanos: String(1000 * inputTokens) },
    attempts: attempt === undefined ? [] : [{ ...attempt, endpoint, provider, startedAtMs, durationMs: totalMs }],
    decision:
      candidate === undefined
        ? null
        : { candidates: [{ ...candidate, endpoint, provider, model: `creator/model-${model}` }], order: [endpoint] },
  };
  return hasFailed ? { ...record, status: 502, errorCode: "upstream_error", charge: null, usage: null } : record;
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
