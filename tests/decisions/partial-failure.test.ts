import { afterAll, beforeAll, expect, test } from "vitest";
import { chatWithLogprobs, type DecisionScene, LABELS, openDecisions, QUESTIONS, STATE } from "../support/decisions.ts";

let scene: DecisionScene;
beforeAll(async () => {
  scene = await openDecisions();
});
afterAll(() => scene.close());

const CONCURRENCY = 8;
const OTHERS = ["alpha", "beta", "gamma"];

test("HDR-03 LOG-01 DEC-07 an endpoint that had some questions is named with its country, even if the failed one was not sent", async () => {
  const { gateway, at } = scene;
  const tenant = await gateway.tenant();
  const block = (...blocked_providers: string[]) =>
    gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers });
  await block(...OTHERS);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  at("delta").always({ json: chatWithLogprobs(LABELS.yesNo), gate });
  const before = at("delta").requests.length;
  const questions = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`lit_${index}`, QUESTIONS.lit]));
  const call = scene.decide(tenant.key, { model: "lab/judge", state: STATE, questions });
  await at("delta").arrived(before + CONCURRENCY);
  await block(...OTHERS, "delta");
  open();
  const answer = await call;
  expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "epsilon"]);
  expect(at("delta").requests).toHaveLength(before + CONCURRENCY);
  expect(answer.headers.get("x-svc-compute-countries")).toBe("NL,FR");
  const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
  expect(row.countries).toEqual(["NL", "FR"]);
  expect(row.attempts).toMatchObject([
    { provider: "delta", outcome: "next", maybe_accepted: true },
    { provider: "epsilon", outcome: "served", maybe_accepted: false },
  ]);
});
