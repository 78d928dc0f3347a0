import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import type { Json } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { sound, transcribe } from "../support/transcriptions.ts";

/** Scaleway serves it for 0.003 per minute. */
const MODEL = "openai/whisper-large-v3";
const EXPENSIVE = { currency: "EUR", input_per_1m_tokens: 100, output_per_1m_tokens: 500 };

let folder: string;
let scene: Scene;
beforeAll(async () => {
  folder = changedCatalogue({
    groq(facts: Json) {
      for (const endpoint of facts.endpoints) if (endpoint.model === MODEL) endpoint.prices = [EXPENSIVE];
    },
  });
  scene = await openScene(["groq", "scaleway"], { GATEWAY_CATALOGUE_DIR: folder });
});
afterAll(async () => {
  await scene.close();
  rmSync(folder, { recursive: true });
});

test("ROUTE-08 an endpoint billed by tokens is not free: the cheaper endpoint is first", async () => {
  const { key } = await scene.gateway.tenant();
  for (const provider of ["groq", "scaleway"] as const) scene.at(provider).next({ status: 503, json: {} });
  const answer = await transcribe(scene.gateway, key, [["model", MODEL]], { name: "minute.wav", bytes: sound(60) });
  const { attempts, decision } = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
  expect(attempts.map(({ provider }: Json) => provider)).toEqual(["scaleway", "groq"]);
  const costs = decision.candidates.map(({ scores }: Json) => scores?.expected_cost_nanos ?? null);
  // 600 input tokens and 225 output tokens.
  expect(costs).toEqual([3_000_000, 172_500_000]);
});
