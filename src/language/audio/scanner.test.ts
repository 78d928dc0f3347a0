import { expect, test } from "vitest";
import { Scanner } from "./scanner.ts";

test("a step that always needs more bytes advances once the window is full", () => {
  const scanner = new Scanner(() => undefined);
  scanner.push(Buffer.alloc(100_000));
  expect(scanner.unread.length).toBeLessThan(20_000);
});

test("a step that returns zero advances by one byte", () => {
  let steps = 0;
  const scanner = new Scanner(() => {
    steps++;
    return 0;
  });
  scanner.push(Buffer.alloc(1_000));
  expect(steps).toBe(1_000);
});

test("a skip beyond the buffer applies to later chunks", () => {
  const seen: number[] = [];
  const scanner = new Scanner((bytes, at) => {
    seen.push(bytes.readUInt8(at));
    return 10;
  });
  for (let i = 0; i < 25; i++) scanner.push(Buffer.from([i]));
  expect(seen).toEqual([0, 10, 20]);
  expect(scanner.missingBytes).toBe(5);
});
