import { JsonDocument } from "../src/kit/json-document.ts";
import { JSON_ANSWER } from "./payload.ts";

/** CPU time to read the ordinary response of this benchmark once. */
export type ReadingCost = {
  readonly bytes: number;
  /** With the limits of responses and the offsets of its members, as the gateway reads it. */
  readonly readMicros: number;
  /** By `JSON.parse` alone. */
  readonly parseMicros: number;
  /** Of a check of the limits alone. */
  readonly limitsMicros: number;
};

/** The fastest counts: other work of the machine only slows one down. */
const BATCHES = 10;

export function measureReading(rounds: number): ReadingCost {
  const bytes = Buffer.from(JSON_ANSWER);
  const batchMicros = (read: () => unknown) => {
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) read();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / rounds;
  };
  const micros = (read: () => unknown) => Math.min(...Array.from({ length: BATCHES }, () => batchMicros(read)));
  return {
    bytes: bytes.length,
    readMicros: micros(() => new JsonDocument(bytes).body),
    parseMicros: micros(() => JSON.parse(bytes.toString("utf8"))),
    limitsMicros: micros(() => new JsonDocument(JSON_ANSWER).exceeded),
  };
}
