import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { finishedRecord } from "../../../tests/support/records.ts";
import { IngestFieldsReader, parseIngestFields } from "./record-text.ts";

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const read = (value: unknown) => parseIngestFields(bytesOf(value));

describe("ingest fields", () => {
  test("BILL-02 equal those of the full record, whatever texts it contains", () => {
    const tricky = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(',"overheadMs":1', '"},"overheadMs":', '\\",\\"overheadMs\\":', "}"),
    );
    fc.assert(
      fc.property(tricky, tricky, tricky, fc.dictionary(tricky, tricky), (app, model, reason, price) => {
        const plain = finishedRecord("r1", { app, model, errorCode: reason });
        const record = { ...plain, charge: plain.charge && { ...plain.charge, price } };
        expect(JSON.parse(JSON.stringify(record))).toMatchObject(read(record));
      }),
    );
  });

  test("BILL-02 are found in a different field order, and beside a nested field of the same name", () => {
    const record = finishedRecord("r1");
    const { charge, ...others } = record;
    expect(read({ ...others, charge }).charge).toEqual(charge);
    expect(read(Object.fromEntries(Object.entries(record).toReversed()))).toEqual(record);
    const price = { currency: "EUR", overheadMs: 1 };
    const nested = { ...record, charge: charge && { ...charge, price } };
    expect(read(nested).charge?.price).toEqual(price);
  });

  test("BILL-02 reject a text that is not a record", () => {
    expect(() => parseIngestFields(Buffer.from('{"id":"r1","overheadMs":'))).toThrow(SyntaxError);
  });
});

/** Every field that is booked, in any order. */
const FIELDS = [
  ...["id", "createdAtMs", "ttfbMs", "totalMs", "usage", "charge", "idempotency", "workspaceId", "keyId", "memberId"],
  ...["environment", "app", "surface", "modelRequested", "model", "provider", "streaming", "status", "errorCode"],
];

describe("ingest fields of consecutive records", () => {
  const tricky = fc.oneof(
    fc.constantFrom("support-desk", "editor", ',"currency":', '"},"overheadMs":', '{"charge":{"nanos":"1"', "}"),
    fc.string({ unit: "grapheme" }),
  );
  const few = fc.constantFrom("a", "b");
  const price = fc.oneof(
    few.map((currency) => ({ currency })),
    fc.dictionary(fc.oneof(tricky, fc.constantFrom("currency", "overheadMs")), tricky),
  );
  const extras = fc.dictionary(fc.constantFrom("search", "currency", "overheadMs"), fc.nat(), { minKeys: 1 });
  const changes = fc.record({
    clientRequestId: fc.option(tricky),
    upstreamId: fc.option(tricky),
    app: fc.option(tricky),
    keyId: few,
    model: fc.option(few),
    status: fc.constantFrom(200, 502),
    totalMs: fc.constantFrom(0, 1.5, 123_456.7),
  });
  const charged = fc.record({ nanos: fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String), price });
  const parts = { changes, charged: fc.option(charged), margin: fc.option(few), extras: fc.option(extras) };
  /** Alike and unlike each other, and in the order in which the pipeline writes them. */
  const written = fc.record({ ...parts, untilMs: fc.option(fc.nat()) }).map((some) => {
    const plain = finishedRecord("r1", some.changes);
    const usage = { ...plain.usage, ...(some.extras === null ? {} : { extras: some.extras }) };
    const margin = some.margin === null ? {} : { margin: some.margin };
    const charge = some.charged && { ...plain.charge, ...some.charged, ...margin };
    const kept = some.untilMs === null ? [] : [["idempotency", { key: "k", body: "b", untilMs: some.untilMs }]];
    return Object.fromEntries([...kept, ...Object.entries({ ...plain, usage, charge })]);
  });
  const turned = written.map((record) => Object.fromEntries(Object.entries(record).toReversed()));

  test("BILL-02 equal those of each full record, whatever came before it", () => {
    const some = fc.array(fc.oneof({ arbitrary: written, weight: 5 }, { arbitrary: turned, weight: 1 }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(some, (records) => {
        const reader = new IngestFieldsReader();
        for (const record of records) {
          const fields = Object.entries(reader.read(bytesOf(record))).filter(([name]) => FIELDS.includes(name));
          const expected = Object.entries(record).filter(([name]) => FIELDS.includes(name));
          expect(Object.fromEntries(fields)).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(expected))));
        }
      }),
    );
  });

  test("BILL-02 are found without a charge, and a truncated text is rejected", () => {
    const reader = new IngestFieldsReader();
    const charged = finishedRecord("r1");
    expect(reader.read(bytesOf(charged)).charge).toEqual(charged.charge);
    expect(reader.read(bytesOf({ ...charged, charge: null })).charge).toBeNull();
    expect(() => reader.read(bytesOf(charged).subarray(0, 400))).toThrow(SyntaxError);
  });

  test("BILL-02 are found in similar texts with a different field order", () => {
    const { id, createdAtMs, ttfbMs, totalMs, usage, charge, ...rest } = finishedRecord("r1");
    const start = { id, createdAtMs, ttfbMs, totalMs, usage };
    const idempotency = { key: "k", body: "b", untilMs: 1 };
    expect(new IngestFieldsReader().read(bytesOf({ ...start, charge, idempotency, ...rest }))).toMatchObject({
      idempotency,
    });
    const { nanos, currency, ...terms } = charge ?? {};
    const turnedCharge = { currency, nanos, ...terms };
    const other = { amount: 1, currency: "USD", ...terms };
    const mistakable = { ...start, charge: turnedCharge, other, ...rest };
    expect(new IngestFieldsReader().read(bytesOf(mistakable)).charge).toEqual(charge);
  });

  test("BILL-02 are correct when no record shares a template, and templates are used again later", () => {
    const reader = new IngestFieldsReader();
    for (let n = 0; n < 4000; n += 1)
      expect(reader.read(bytesOf(finishedRecord(`r${n}`, { app: `job ${n}` })))).toMatchObject({
        id: `r${n}`,
        app: `job ${n}`,
      });
    const alike = bytesOf(finishedRecord("alike"));
    expect(reader.read(alike).charge?.price).not.toBe(reader.read(alike).charge?.price);
    for (let n = 0; n < 30_000; n += 1) reader.read(alike);
    expect(reader.read(alike).charge?.price).toBe(reader.read(alike).charge?.price);
  });
});
