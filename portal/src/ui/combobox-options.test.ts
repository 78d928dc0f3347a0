import { describe, expect, test } from "vitest";
import { groupOptions, matchOptions, optionsOf } from "./combobox-options.ts";

const OPTIONS = [
  { value: "acme/large", label: "Acme Large", description: "L3 · France", group: "Acme" },
  { value: "other/large", label: "Large by Other", description: "L1 · Germany", group: "Other", searchTerms: "vision" },
  { value: "acme/small", label: "Acme Small", group: "Acme" },
];
const valuesOf = (query: string) => matchOptions(OPTIONS, query).map(({ value }) => value);

describe("the options of a picker", () => {
  test("match when every word occurs in label, value, description, group or search terms", () => {
    expect(valuesOf("")).toHaveLength(3);
    expect(valuesOf("acme france")).toEqual(["acme/large"]);
    expect(valuesOf("other/ vision")).toEqual(["other/large"]);
    expect(valuesOf("acme vision")).toEqual([]);
  });

  test("whose label starts with the query come first", () => {
    expect(valuesOf("large")).toEqual(["other/large", "acme/large"]);
  });

  test("are grouped in the order of their first option", () => {
    expect(groupOptions(OPTIONS).map(({ value, items }) => [value, items.length])).toEqual([
      ["Acme", 2],
      ["Other", 1],
    ]);
  });

  test("keep a selected value that is no longer offered", () => {
    expect(optionsOf(OPTIONS, ["acme/small", "gone"]).map(({ label }) => label)).toEqual(["Acme Small", "gone"]);
  });
});
