import type { RequestRecord } from "../../src/domain/record/record.ts";

/** A finished, charged request as the pipeline records it. */
export function finishedRecord(id: string, changes: Partial<RequestRecord> = {}): RequestRecord {
  const endpoint = "example:eu:example/model-large";
  const createdAtMs = changes.createdAtMs ?? Date.UTC(2027, 0, 15, 12);
  return {
    id,
    createdAtMs,
    clientRequestId: null,
    upstreamId: "cmpl-77",
    ttfbMs: 12.5,
    totalMs: 15.25,
    usage: {
      inputTokens: 1200,
      cachedTokens: 200,
      cacheWriteTokens: 100,
      outputTokens: 300,
      reasoningTokens: 50,
      audioInputTokens: 0,
      audioOutputTokens: 0,
      characters: null,
      seconds: null,
      estimated: false,
    },
    charge: {
      nanos: "1500000",
      currency: "EUR",
      price: { currency: "USD", inputPer1mTokens: "2", outputPer1mTokens: "6" },
      rate: { from: "USD", to: "EUR", perEurFrom: "1.146322", perEurTo: "1" },
    },
    workspaceId: "ws_1",
    keyId: "key_1",
    memberId: null,
    environment: "live",
    app: "support-desk",
    surface: "chat",
    modelRequested: "example/model-large",
    model: "example/model-large",
    provider: "example",
    endpoint,
    level: "L2",
    countries: ["FR"],
    router: null,
    streaming: false,
    status: 200,
    errorCode: null,
    overheadMs: 0.41,
    attempts: [
      {
        endpoint,
        provider: "example",
        startedAtMs: createdAtMs,
        durationMs: 14.1,
        outcome: "served",
        upstreamStatus: 200,
        reason: "answered",
        maybeAccepted: false,
      },
    ],
    decision: {
      candidates: [
        {
          endpoint,
          model: "example/model-large",
          provider: "example",
          level: "L2",
          outcome: "planned",
          reason: "first in order",
          scores: null,
        },
      ],
      order: [endpoint],
    },
    ...changes,
  };
}

/** The same with another amount. */
export function chargedRecord(id: string, nanos: bigint, changes: Partial<RequestRecord> = {}): RequestRecord {
  const record = finishedRecord(id, changes);
  return { ...record, charge: record.charge && { ...record.charge, nanos: nanos.toString() } };
}
