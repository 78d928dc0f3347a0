import { expect, test } from "vitest";
import { EEA } from "./levels.ts";

/** By their names, so that a slip in a code shows. */
const UNION =
  "Austria, Belgium, Bulgaria, Croatia, Cyprus, Czechia, Denmark, Estonia, Finland, France, Germany, Greece, Hungary, " +
  "Ireland, Italy, Latvia, Lithuania, Luxembourg, Malta, Netherlands, Poland, Portugal, Romania, Slovakia, Slovenia, " +
  "Spain, Sweden";
const BESIDE = "Iceland, Liechtenstein, Norway";

test("POL-01 the EEA is the EU with Iceland, Liechtenstein and Norway only", () => {
  const names = new Intl.DisplayNames(["en"], { type: "region" });
  const said = [...EEA].map((code) => names.of(code));
  expect(said.toSorted()).toEqual([...UNION.split(", "), ...BESIDE.split(", ")].toSorted());
});
