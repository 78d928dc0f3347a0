import { expect, test } from "vitest";
import { listOmitted } from "./omitted-paths.ts";

test("PARAM-07 paths are unique, with indices as brackets and only plain characters", () => {
  const paths = ["messages.0.content.12.x-y", "messages.7.content.1.x-y", "tools.3", "a b\r\nc,d", "ä", ""];
  expect(listOmitted(paths)).toEqual(["messages[].content[].x_y", "tools[]", "a_b__c_d", "_"]);
});

test("PARAM-07 at most 20 paths are listed, and the rest is counted", () => {
  const paths = Array.from({ length: 25 }, (_, at) => `field${at}`);
  expect(listOmitted(paths)).toEqual([...paths.slice(0, 20), "+5"]);
  expect(listOmitted(paths.slice(0, 20))).toEqual(paths.slice(0, 20));
});

test("PARAM-07 the list is at most 1 kB, whatever the names are", () => {
  const long = Array.from({ length: 50_000 }, (_, at) => `${"n".repeat(300)}.${at}x`);
  const wide = Array.from({ length: 50_000 }, (_, at) => `n${at}x`.repeat(20));
  for (const paths of [long, wide]) {
    const value = listOmitted(paths).join(",");
    expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1024);
    expect(value).toMatch(/^[A-Za-z0-9_.[\],+]*$/);
  }
  expect(listOmitted(wide).at(-1)).toBe("+1000");
});
