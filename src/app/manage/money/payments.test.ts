import { expect, test } from "vitest";
import { unsignedMessageLog } from "./payments.ts";

test("BILL-01 unsigned payment messages write one log line per ten seconds, with the number of suppressed ones", () => {
  let nowMs = 0;
  const lines: object[] = [];
  const log = unsignedMessageLog({ monotonicMs: () => nowMs }, (detail) => lines.push(detail));
  for (; nowMs < 25_000; nowMs += 10) log({ clientAddress: "192.0.2.1" });
  const from = { clientAddress: "192.0.2.1" };
  expect(lines).toEqual([from, { ...from, suppressed: 999 }, { ...from, suppressed: 999 }]);
});
