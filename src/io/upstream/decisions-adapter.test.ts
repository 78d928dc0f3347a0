import { describe, expect, test } from "vitest";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import type { DecisionCall } from "../../language/decisions/call.ts";
import { decodeImage } from "../../language/decisions/image.ts";
import { decisionRenderer } from "../../language/decisions/render.ts";
import { catalogueFiles } from "../catalogue-files.ts";
import { decisionsAdapter } from "./decisions-adapter.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";

const PIXEL = decodeImage(
  `data:image/png;base64,${Buffer.from("89504e470d0a1a0a0000000d4948445200000001000000010802000000", "hex").toString("base64")}`,
);
const loaded = await loadCatalogue(
  [new URL("../../../catalogue", import.meta.url).pathname],
  Date.parse("2026-11-15T12:00:00Z"),
  catalogueFiles,
);
if ("problems" in loaded) throw new Error("the catalogue does not load");
const { snapshot } = loaded;

function asking(endpoint: Endpoint): DecisionCall {
  if ("problem" in PIXEL) throw new Error(PIXEL.problem);
  return {
    model: endpoint.model,
    state: { door: "open" },
    images: endpoint.decisions?.images == null ? [] : [PIXEL],
    questions: [
      { key: "q", id: "q", type: "noul", instructions: "Is it open?" },
      { key: "r", id: "r", type: "score", instructions: "How open?", levels: ["shut", "ajar", "wide"] },
    ],
  };
}

function laneTo(id: string): UpstreamAdapter {
  const endpoint = snapshot.endpoints.get(id);
  const model: Model | undefined = snapshot.models.get(endpoint?.model ?? "");
  if (endpoint === undefined || model === undefined) throw new Error(`${id} is not in the catalogue`);
  return decisionsAdapter(asking(endpoint), { endpoint, model, client: decisionRenderer("EUR") });
}

const bodiesOf = (lane: UpstreamAdapter) =>
  (lane.subRequests?.adapters ?? [lane]).map((one) => {
    const body = one.encode();
    return typeof body === "string" ? JSON.parse(body) : undefined;
  });

test("DEC-07 per-question requests are encoded lazily, one at a time", () => {
  const endpoint = snapshot.endpoints.get("openai:global:openai/gpt-4.1");
  const model = snapshot.models.get(endpoint?.model ?? "");
  if (endpoint === undefined || model === undefined) throw new Error("the endpoint is not in the catalogue");
  let written = 0;
  const state = {
    toJSON() {
      written += 1;
      return { door: "open" };
    },
  };
  const ids = Array.from({ length: 32 }, (_, at) => `q${at}`);
  const questions = ids.map((id) => ({ key: id, id, type: "noul" as const, instructions: "Is it open?" }));
  const ask: DecisionCall = { model: endpoint.model, state, images: [], questions };
  const { subRequests } = decisionsAdapter(ask, { endpoint, model, client: decisionRenderer("EUR") });
  expect([subRequests?.adapters.length, written]).toEqual([32, 0]);
  subRequests?.adapters[0]?.encode();
  expect(written).toBe(1);
});

describe("the shipped catalogue", () => {
  const deciding = [...snapshot.endpoints.values()].filter(({ surfaces }) => surfaces.includes("decisions"));

  test("DEC-07 every decision endpoint has an interface, except those whose reasoning cannot be disabled", () => {
    expect(deciding.length).toBeGreaterThan(60);
    const without = deciding.filter(({ decisionsInterface }) => decisionsInterface === null).map(({ id }) => id);
    expect(without).toEqual([
      "google-ai-studio:global:google/gemini-2.5-pro",
      "google-vertex:eu:google/gemini-2.5-pro",
    ]);
  });

  test("DEC-07 every endpoint has a request that can be encoded", () => {
    for (const { id, decisionsInterface } of deciding) {
      if (decisionsInterface === null) continue;
      const lane = laneTo(id);
      expect(lane.path, id).toMatch(/^\/[\w@/.:%-]+$/);
      expect(bodiesOf(lane).length, id).toBe(decisionsInterface === "logprobs" ? 2 : 1);
    }
  });

  test.each([
    ["typesafe:global:typesafe/jev-1.13.0", "/systemone", { model: "jev-1.13.0", state: { door: "open" } }],
    [
      "perplexity:global:perplexity/pplx-decider-v1.2",
      "/decisions",
      { state: [{ door: "open" }, { type: "image_url" }] },
    ],
    ["cloudflare:global:cloudflare/clef", "/run/@cf/cloudflare/clef", { model: "clef", images: [expect.any(String)] }],
    ["openai:global:openai/gpt-6-luna-decisions", "/decisions", { model: "gpt-6-luna", input: [{ role: "user" }] }],
    [
      "openai:global:openai/gpt-5.4",
      "/chat/completions",
      { max_completion_tokens: 1, logprobs: true, top_logprobs: 20, reasoning_effort: "none" },
    ],
    ["openai:global:openai/gpt-4.1", "/chat/completions", { max_completion_tokens: 1, top_logprobs: 20 }],
    [
      "fireworks:us:deepseek/deepseek-v4-pro",
      "/chat/completions",
      { max_tokens: 1, logprobs: true, top_logprobs: 5, reasoning_effort: "none" },
    ],
    ["together:global:deepseek/deepseek-v4-pro", "/chat/completions", { max_tokens: 1, logprobs: 20 }],
    [
      "google-vertex:eu:google/gemini-2.5-flash",
      "/models/gemini-2.5-flash:generateContent",
      {
        generationConfig: {
          thinkingConfig: { thinkingBudget: 0 },
          responseLogprobs: true,
          logprobs: 20,
          maxOutputTokens: 1,
        },
      },
    ],
  ])("DEC-07 %s is called at %s as its catalogue entry says", (id, path, expected) => {
    const lane = laneTo(id);
    expect(lane.path).toBe(path);
    expect(bodiesOf(lane)[0]).toMatchObject(expected);
  });

  test("DEC-07 a model without reasoning gets no parameter to disable it", () => {
    expect(bodiesOf(laneTo("openai:global:openai/gpt-4.1"))[0]).not.toHaveProperty("reasoning_effort");
  });
});
