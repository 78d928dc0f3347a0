import { expect, test } from "vitest";
import { capabilityName, distinctCapabilities } from "./capabilities.ts";

test("synonyms are shown once, and nothing else is dropped", () => {
  expect(distinctCapabilities(["image_input", "tools", "vision", "tools"])).toEqual(["tools", "vision"]);
  expect(distinctCapabilities(["image_input", "json_mode"])).toEqual(["image_input", "json_mode"]);
  expect(distinctCapabilities(["json_mode", "json_schema"])).toEqual(["json_schema"]);
});

test("image input is called Vision, other names come from the catalogue", () => {
  const names = new Map([
    ["image_input", "Image input (vision)"],
    ["tools", "Tool calling"],
  ]);
  expect(["image_input", "tools", "new"].map((slug) => capabilityName(slug, names))).toEqual([
    "Vision",
    "Tool calling",
    "new",
  ]);
});
