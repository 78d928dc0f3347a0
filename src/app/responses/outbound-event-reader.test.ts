import { expect, test } from "vitest";
import { JsonInTurns } from "../../kit/json-in-turns.ts";
import { OutboundEventReader } from "./outbound-event-reader.ts";

const written = (name: string, text: string) => `event: ${name}\ndata: ${JSON.stringify({ text })}\n\n`;

test("SAFE-01 events are taken in the order they were written in, however long, and each as it was", async () => {
  const events = new OutboundEventReader(new JsonInTurns(), "w");
  const taken: [string | null, number, boolean][] = [];
  const push = (chunk: string | Buffer) =>
    events.push(chunk, (read) => {
      for (const { event, data, body } of read)
        taken.push([event, JSON.parse(data).text.length, body !== undefined && !("problem" in body)]);
    });
  push(written("first", "a"));
  expect([taken, events.reading]).toEqual([[["first", 1, false]], undefined]);
  // A surrogate pair at every offset, so that some piece would end inside one.
  push(written("long", "😀".repeat(50_000)) + written("behind", "b"));
  push(Buffer.from(written("bytes", "é".repeat(70_000))));
  push(written("last", "c"));
  expect(taken).toHaveLength(1);
  await events.reading;
  expect(taken.slice(1)).toEqual([
    ["long", 100_000, true],
    ["behind", 1, false],
    ["bytes", 70_000, true],
    ["last", 1, false],
  ]);
});
