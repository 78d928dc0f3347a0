import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { finishedRecord } from "../../../tests/support/records.ts";
import { COLUMNS_MIN, packColumns, storedCandidates, toColumns } from "./candidate-columns.ts";
import { expandRecord } from "./expand-record.ts";
import type { AttemptRecord, CandidateRecord, DecisionRecord, RequestRecord, UsageRecord } from "./record.ts";
import { parseRecord } from "./record-schema.ts";
import { encodeCompact, IngestFieldsReader, parseIngestFields } from "./record-text.ts";
import { DailyRollup } from "./rollup.ts";

const few = fc.constantFrom("a", "b");
const figure = fc.constantFrom(0, 7);
/** Whole, with decimals that steps have, and others. */
const score = fc.constantFrom(0, 7, 0.1234, 0.9, -2.5, 1 / 3, 12_345_678_901);
const level = fc.constantFrom("L0" as const, "L3" as const);

const usage: fc.Arbitrary<UsageRecord> = fc.record(
  {
    ...{ inputTokens: figure, cachedTokens: figure, cacheWriteTokens: figure, cacheWrite1hTokens: figure },
    ...{ outputTokens: figure, reasoningTokens: figure, audioInputTokens: figure, audioOutputTokens: figure },
    ...{ characters: fc.option(figure), seconds: fc.option(fc.constantFrom(0, 1.5)), estimated: fc.boolean() },
  },
  {
    requiredKeys: [
      ...(["inputTokens", "cachedTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"] as const),
      ...(["audioInputTokens", "audioOutputTokens", "characters", "seconds", "estimated"] as const),
    ],
  },
);

const attempt: fc.Arbitrary<AttemptRecord> = fc.record({
  ...{ endpoint: few, provider: few, startedAtMs: figure, durationMs: figure, maybeAccepted: fc.boolean() },
  outcome: fc.constantFrom("served" as const, "next" as const),
  upstreamStatus: fc.option(figure),
  reason: few,
});

const candidate: fc.Arbitrary<CandidateRecord> = fc.record({
  ...{ endpoint: few, model: few, provider: few, level, reason: few },
  outcome: fc.constantFrom("planned" as const, "excluded" as const),
  scores: fc.option(fc.dictionary(few, figure)),
});

const decision: fc.Arbitrary<DecisionRecord> = fc
  .record({ candidates: fc.array(candidate, { maxLength: 4 }), other: fc.option(fc.array(few, { maxLength: 3 })) })
  .map(({ candidates, other }) => ({
    candidates,
    order: other ?? candidates.filter(({ outcome }) => outcome === "planned").map(({ endpoint }) => endpoint),
  }));

/** As a router plans them: ids and reasons follow from the other values, except for some. */
const manyCandidates: fc.Arbitrary<DecisionRecord> = fc
  .array(
    fc.record({
      ...{ provider: few, model: few, level, region: few, isOdd: fc.boolean(), isExcluded: fc.boolean() },
      ...{ attested: fc.boolean(), scores: fc.option(fc.dictionary(few, score)) },
    }),
    { minLength: COLUMNS_MIN, maxLength: 3 * COLUMNS_MIN },
  )
  .map((rows) => {
    const candidates = rows.map(
      ({ provider, model, level: own, region, isOdd, isExcluded, attested, scores }, index): CandidateRecord => ({
        ...{ endpoint: isOdd ? `${provider}:${model}` : `${provider}:${region}:${model}`, model, provider, level: own },
        ...(attested ? { attested } : {}),
        outcome: isExcluded ? "excluded" : "planned",
        reason: isOdd ? "~1 choice" : `rank ${index + 1}, fallback`,
        scores,
      }),
    );
    return { candidates, order: candidates.slice(0, 3).map(({ endpoint }) => endpoint) };
  });

const records: fc.Arbitrary<RequestRecord> = fc
  .record({
    ...{ endpoint: fc.option(few), model: fc.option(few), provider: fc.option(few), level: fc.option(level) },
    ...{ clientRequestId: fc.option(few), router: fc.option(few), app: fc.option(fc.string({ unit: "grapheme" })) },
    ...{ usage: fc.option(usage), attempts: fc.array(attempt, { maxLength: 3 }), decision: fc.option(decision) },
  })
  .map((changes) => finishedRecord("r1", changes));

const sumsOf = (record: Parameters<DailyRollup["add"]>[0]) => {
  const fold = new DailyRollup();
  fold.add(record, 0n);
  return [...fold.rows()];
};

describe("the compact text of a record", () => {
  test("LOG-01 decodes to the record it was encoded from", () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(parseRecord(encodeCompact(record))).toEqual(record);
        expect(expandRecord(JSON.parse(encodeCompact(record)))).toEqual(record);
      }),
    );
  });

  test("SCALE-23 many candidates become columns, compressed or not, and are read in full", () => {
    fc.assert(
      fc.property(records, manyCandidates, (record, routed) => {
        const whole = { ...record, decision: routed };
        const text = encodeCompact(whole);
        expect(text).toContain('"columns"');
        expect(parseRecord(text)).toEqual(whole);
        const packed = packColumns(Buffer.from(text)).toString();
        expect(parseRecord(packed)).toEqual(whole);
        expect(expandRecord(JSON.parse(packed))).toEqual(whole);
      }),
    );
  });

  test("SCALE-23 a decision over hundreds of endpoints takes a tenth of its full text", () => {
    const candidates = Array.from({ length: 340 }, (_, n): CandidateRecord => {
      const [provider, model] = [`provider-${n % 20}`, `creator/model-${(n * 7) % 90}`];
      const isExcluded = n >= 100;
      const reason = isExcluded ? `sovereignty_floor_not_met: level L${n % 2} is below the floor L2` : `rank ${n + 1}`;
      const share = (salt: number) => ((n * salt) % 10_000) / 10_000;
      const scores = {
        quality: share(7919),
        cost: share(104_729),
        total: 1 - n / 340,
        expected_cost_nanos: n * 15_485,
      };
      return {
        ...{ endpoint: `${provider}:eu-${n % 3}:${model}`, model, provider, level: "L2", reason },
        outcome: isExcluded ? "excluded" : "planned",
        scores: isExcluded ? null : scores,
      };
    });
    const routed = { candidates, order: candidates.slice(0, 16).map(({ endpoint }) => endpoint) };
    const record = finishedRecord("r1", { decision: routed });
    const packed = packColumns(Buffer.from(encodeCompact(record)));
    expect(packed.length).toBeLessThan(0.1 * JSON.stringify(record).length);
    expect(parseRecord(packed.toString())).toEqual(record);
    const plain = Buffer.from(encodeCompact(finishedRecord("r2")));
    expect(packColumns(plain)).toBe(plain);
  });

  test("LOG-01 columns of earlier records keep their reasons and scores", () => {
    const one = {
      model: "acme/m",
      provider: "p",
      endpoint: "p:eu:acme/m",
      level: "L2",
      outcome: "planned",
      scores: {},
    } as const;
    const candidates = Array.from({ length: 8 }, (_, n) => ({ ...one, reason: `choice ${n + 1}` }) as const);
    const columns = {
      ...toColumns(candidates),
      texts: ["acme/m", "p", "L2", ":eu", "#"],
      reason: candidates.map(() => 4),
    };
    expect(storedCandidates({ columns })).toEqual(candidates);
    // Their scores were plain numbers.
    const scores = { total: candidates.map((_, n) => 1 - n / 8) };
    const scored = candidates.map((candidate, n) => ({ ...candidate, scores: { total: 1 - n / 8 } }));
    expect(storedCandidates({ columns: { ...columns, scores } })).toEqual(scored);
  });

  test("BILL-02 gives the same roll-ups as the full text", () => {
    const reader = new IngestFieldsReader();
    fc.assert(
      fc.property(records, (record) => {
        const [short, whole] = [Buffer.from(encodeCompact(record)), Buffer.from(JSON.stringify(record))];
        expect(sumsOf(parseIngestFields(short))).toEqual(sumsOf(parseIngestFields(whole)));
        expect(sumsOf(reader.read(short))).toEqual(sumsOf(record));
      }),
    );
  });

  test("LOG-01 omits repeated values, and keeps those the request itself does not have", () => {
    const record = finishedRecord("r1");
    expect(encodeCompact(record).length).toBeLessThan(0.75 * JSON.stringify(record).length);
    const text = encodeCompact({ ...record, endpoint: null, provider: null, model: null, level: null });
    expect(JSON.parse(text).attempts[0]).toMatchObject({ endpoint: record.endpoint, provider: record.provider });
  });

  test("LOG-01 is distinguished from a full text, in which a missing field is an error", () => {
    const record = finishedRecord("r1", { app: '"short":true' });
    expect(expandRecord(record)).toBe(record);
    const { clientRequestId: _, ...lacking } = record;
    expect(() => parseRecord(JSON.stringify(lacking))).toThrow("clientRequestId");
  });

  test("LOG-01 keeps unknown fields of a later version when it is expanded", () => {
    const later = { ...JSON.parse(encodeCompact(finishedRecord("r1"))), later: { is: "kept" } };
    expect(expandRecord(later)).toMatchObject({ later: { is: "kept" } });
  });

  test("LOG-01 is refused when it is marked as compact and is not a record", () => {
    for (const text of ['{"short":true}', '{"short":true,"usage":7,"attempts":[],"decision":null}'])
      expect(() => parseRecord(text)).toThrow();
  });
});
