import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

type Read = {
  readonly name: string;
  readonly end: string;
  readonly chars: number;
  readonly values: number;
  readonly turns: number;
  readonly rssMb: number;
  readonly heldBytes: number;
};

let reads: readonly Read[] = [];
beforeAll(async () => {
  const child = path.join(import.meta.dirname, "hostile-heap-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--max-old-space-size=512", child]);
  reads = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Read);
}, 60_000);

test("SAFE-01 hostile responses are rejected at their limits, and long valid ones are read, in a heap of 512 MB", () => {
  expect(Object.fromEntries(reads.map(({ name, end }) => [name, end]))).toEqual({
    "15 MB of small members": "more than 400000 members and items",
    "54 MB of small members": "more than 400000 members and items",
    "members up to the limit": "read",
    "many keys of one object": "read",
    "deep nesting": "nested deeper than 128 levels",
    "long containers in each other": "read",
    "a string of escapes": "read",
    "a string beyond the limit": "a string longer than 33554432 characters",
    "log-probabilities": "read",
    vectors: "read",
    "one giant vector": "read",
    "white space": "read",
    "much white space": "read",
    "a stream event": "more than 400000 members and items",
    "a model list": "rejected",
    "a discovery document": "rejected",
    "a webhook": "rejected",
  });
});

test("SAFE-01 no event-loop turn reads more than 1 MB or 32,000 members of a hostile response", () => {
  for (const { name, chars, values } of reads)
    expect([name, chars <= 1024 * 1024, values <= 32_000]).toEqual([name, true, true]);
  expect(reads.filter(({ turns }) => turns > 1).length).toBeGreaterThan(5);
});

test("SAFE-01 the memory of a response is released, and its peak stays within the budget", () => {
  for (const { name, heldBytes } of reads) expect([name, heldBytes]).toEqual([name, 0]);
  expect(reads.at(-1)?.rssMb).toBeLessThan(700);
});
