import { expect, test } from "vitest";
import { spentBy } from "./member.ts";

test("PORTAL-08 a member's spend is summed exactly", () => {
  const costs = ["0.1", "0.2", "90071992547409.93", "0.000000001"];
  const usage = [...costs.map((cost) => ({ name: "usr_a", cost })), { name: "usr_b", cost: "5.00" }];
  expect(spentBy("usr_a", usage)).toBe("90071992547410.230000001");
  expect(spentBy("usr_c", usage)).toBe("0.00");
});
