import { expect, test } from "vitest";
import { ResponseMemory } from "./response-memory.ts";

const shortage = (setting: string, isTooLarge: boolean) => ({
  why: expect.stringContaining(`(${setting})`),
  isTooLarge,
});

test("SAFE-01 a workspace that uses up its share of the memory takes none from the others", () => {
  const memory = new ResponseMemory({ totalBytes: 100, workspaceBytes: 60 });
  const [one, other] = [memory.open("a"), memory.open("a")];
  expect(one.grow(50)).toBeUndefined();
  expect(other.grow(11)).toEqual(shortage("GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES", false));
  expect(one.grow(11)).toEqual(shortage("GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES", true));
  expect(memory.open("b").grow(50)).toBeUndefined();
  expect(memory.usedBytes).toBe(100);
});

test("SAFE-01 the responses of all workspaces together have a budget, and released memory is free again", () => {
  const memory = new ResponseMemory({ totalBytes: 100, workspaceBytes: 200 });
  const [a, b] = [memory.open("a"), memory.open("b")];
  expect(a.grow(70)).toBeUndefined();
  expect(b.grow(31)).toEqual(shortage("GATEWAY_ANSWERS_MEMORY_BYTES", false));
  expect(b.grow(101)).toEqual(shortage("GATEWAY_ANSWERS_MEMORY_BYTES", true));
  a.shrink(10);
  expect(b.grow(40)).toBeUndefined();
  a.keep(5);
  expect(memory.usedBytes).toBe(45);
  for (const lease of [a, b]) lease.release();
  expect([memory.usedBytes, memory.open("a").grow(100)]).toEqual([0, undefined]);
});
