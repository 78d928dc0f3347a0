import { describe, expect, test } from "vitest";
import { endpointOf, modelOf } from "../../../tests/support/routing.ts";
import { canonicalModelId, findModelIds, modelNamesOf } from "./model-names.ts";

const MODELS = [
  modelOf("openai/gpt-4o"),
  modelOf("openai/tiny", { aliases: ["small-one"] }),
  modelOf("anthropic/claude-opus-5", { releaseDate: "2026-06-01" }),
  modelOf("anthropic/claude-opus-5-5"),
  modelOf("mistral/large-2512", { releaseDate: "2025-12-01" }),
  modelOf("mistral/large-4-0", { releaseDate: "2026-09" }),
  modelOf("mistral/tts-2603"),
  modelOf("mistral/tts-3-0"),
  modelOf("acme/common"),
  modelOf("zeta/common"),
  modelOf("sandbox/chat", { sandbox: true }),
];
const upstream = (model: string, upstreamModel: string) =>
  endpointOf({ provider: `at-${upstreamModel}`, model, more: { upstreamModel } });
const ENDPOINTS = [
  upstream("openai/gpt-4o", "Hosts/GPT-4o"),
  upstream("acme/common", "shared-name"),
  upstream("openai/tiny", "shared-name"),
  // The name of another model: the id without its creator wins.
  upstream("openai/tiny", "gpt-4o"),
  endpointOf({
    provider: "simulated",
    model: "sandbox/chat",
    more: { upstreamModel: "simulated-name", sandbox: true },
  }),
];
const CATALOGUE = {
  models: new Map(MODELS.map((model) => [model.id, model])),
  modelNames: new Map(modelNamesOf(MODELS, ENDPOINTS)),
};
const idsOf = (name: string) => findModelIds(name, CATALOGUE);

describe("MOD-20 a name of a model", () => {
  test.each([
    ["openai/gpt-4o", "openai/gpt-4o"],
    ["gpt-4o", "openai/gpt-4o"],
    ["gpt-4o-2024-08-06", "openai/gpt-4o"],
    ["gpt-4o-20240806", "openai/gpt-4o"],
    ["gpt-4o@20240806", "openai/gpt-4o"],
    ["gpt-4o-latest", "openai/gpt-4o"],
    ["openai/gpt-4o-2024-08-06", "openai/gpt-4o"],
    ["small-one", "openai/tiny"],
    ["small-one-latest", "openai/tiny"],
    ["Hosts/GPT-4o", "openai/gpt-4o"],
    // By date; without dates by version.
    ["large-latest", "mistral/large-4-0"],
    ["claude-opus-latest", "anthropic/claude-opus-5-5"],
  ])("%s is %s", (name, id) => expect(idsOf(name)).toEqual([id]));

  test.each([
    ["common", ["acme/common", "zeta/common"]],
    ["common-latest", ["acme/common", "zeta/common"]],
    ["shared-name", ["acme/common", "openai/tiny"]],
    // A month does not compare with a version.
    ["tts-latest", ["mistral/tts-2603", "mistral/tts-3-0"]],
  ])("%s is ambiguous", (name, ids) => {
    expect(idsOf(name)).toEqual(ids);
    expect(canonicalModelId(name, CATALOGUE)).toBe(name);
  });

  test.each([
    "chat",
    "simulated-name",
    "sandbox/chat-latest",
    "node/rack/gpt-4o",
    "gpt-4",
    "gpt-4o-2024-13-06",
    "",
    "GPT-4o",
  ])("%s names none", (name) => expect(idsOf(name)).toEqual([]));

  test("the id of a simulated model stays its own", () => expect(idsOf("sandbox/chat")).toEqual(["sandbox/chat"]));
});
