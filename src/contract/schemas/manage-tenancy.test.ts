import { describe } from "vitest";
import {
  chars,
  closed,
  expectShapes,
  list,
  maybeList,
  maybeOneOf,
  maybeWord,
  NOT_SENT,
} from "../../../tests/support/request-shapes.ts";
import { KeyCreate, PolicyPatch } from "./manage-tenancy.ts";

describe("a key that is made", () => {
  const body = { name: "a", ip_allowlist: ["::1"], policy: { floor: "L1" } };
  expectShapes(KeyCreate, body, [
    maybeOneOf("environment", "live", "test"),
    maybeWord("member", 254),
    maybeList("scopes", "inference:chat", 0, 16),
    maybeList("ip_allowlist", "::1", 0, 1000),
    ["ip_allowlist.0", ["a", chars(64)], ["", chars(65), 7]],
    ["rpm", [...NOT_SENT, 1, 1_000_000], [0, 1_000_001, 1.5, "1"]],
    closed("policy"),
  ]);
});

describe("a policy that is changed", () => {
  const body = { countries: ["DE"], blocked_providers: ["a"], allowed_models: ["a/b"] };
  expectShapes(PolicyPatch, body, [
    maybeOneOf("floor", "none", "L0", "L1", "L2", "L3", "L4"),
    maybeList("countries", "DE", 0, 300),
    ["countries.0", ["de", "DE"], ["D", "DEU", "D1", 7]],
    ["zero_data_retention", [undefined, true, false], [null, "true"]],
    ["no_training", [undefined, true, false], [null, "true"]],
    maybeList("blocked_providers", "a", 0, 1000),
    ["blocked_providers.0", ["a", chars(200)], ["", chars(201), 7]],
    list("allowed_models", "a/b", 0, 5000),
    ["allowed_models.0", ["a", chars(200)], ["", chars(201), 7]],
  ]);
});
