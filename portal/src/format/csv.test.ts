import { expect, test } from "vitest";
import { csvText } from "./csv.ts";

test("PORTAL-04 CSV cells are quoted and formulas are escaped", () => {
  expect(
    csvText(
      ["name", "cost"],
      [
        ['a "b", c', "-0.5"],
        ["=SUM(A1)", 3],
        [null, "x\ny"],
      ],
    ),
  ).toBe('name,cost\r\n"a ""b"", c",-0.5\r\n\'=SUM(A1),3\r\n,"x\ny"\r\n');
});
