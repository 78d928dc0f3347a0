import { expect, test } from "vitest";
import { exchangeOf, principalWith } from "../../../tests/support/catalogue-handlers.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { fault } from "../../contract/faults.ts";
import { ROUTES } from "../../contract/routes.ts";
import { IngestFieldsReader } from "../../domain/record/record-text.ts";
import { systemClock } from "../../kit/clock.ts";
import { RequestTrace } from "./record.ts";

test("LOG-03 labels and ids of callers and providers are truncated in the record", () => {
  const [route] = ROUTES;
  if (route === undefined) throw new Error("there is no route");
  const long = "x".repeat(5000);
  const headers = { "x-title": long, "x-client-request-id": long };
  const trace = new RequestTrace(exchangeOf(route, { headers }), principalWith(), "embeddings", systemClock);
  trace.modelRequested = long;
  trace.upstreamId = long;
  const record = trace.refusedRecord(fault("model_not_found", { message: long }));
  expect(record).toMatchObject({
    app: "x".repeat(128),
    clientRequestId: "x".repeat(128),
    modelRequested: "x".repeat(256),
    upstreamId: "x".repeat(256),
  });
  expect(JSON.stringify(record).length).toBeLessThan(2000);
});

test("BILL-02 record fields are ordered so that the ledger reader can cache the common part", () => {
  const [route] = ROUTES;
  if (route === undefined) throw new Error("there is no route");
  const reader = new IngestFieldsReader();
  const { usage, charge } = finishedRecord("any");
  const booked = ["1", "2000"].map((nanos) => {
    const trace = new RequestTrace(exchangeOf(route), principalWith(), "chat", systemClock);
    trace.idempotencyClaim = { key: "k", body: nanos, ttlMs: 1000 };
    const record = trace.finishedRecord({
      status: 200,
      errorCode: null,
      usage,
      charge: charge && { ...charge, nanos },
    });
    return reader.read(Buffer.from(JSON.stringify(record)));
  });
  expect(booked.map(({ charge }) => charge?.nanos)).toEqual(["1", "2000"]);
  expect(booked.map(({ idempotency }) => idempotency?.body)).toEqual(["1", "2000"]);
  expect(booked[1]?.charge?.price).toBe(booked[0]?.charge?.price);
});
