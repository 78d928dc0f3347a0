import { expect, test } from "vitest";
import { unsignedMessages } from "./unsigned.ts";

test("BILL-01 however many unsigned payment messages come, the log gets a line in ten seconds, with their number", () => {
  let nowMs = 0;
  const lines: object[] = [];
  const told = unsignedMessages({ monotonicMs: () => nowMs }, (detail) => lines.push(detail));
  for (; nowMs < 25_000; nowMs += 10) told({ clientAddress: "192.0.2.1" });
  const from = { clientAddress: "192.0.2.1" };
  expect(lines).toEqual([from, { ...from, unsaid: 999 }, { ...from, unsaid: 999 }]);
});
