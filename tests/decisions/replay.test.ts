import { afterAll, beforeAll, expect, test } from "vitest";
import { type DecisionScene, decisionBody, openDecisions, QUESTIONS } from "../support/decisions.ts";

let scene: DecisionScene;
beforeAll(async () => {
  scene = await openDecisions();
});
afterAll(() => scene.close());

test("DEC-08 BILL-09 a declined call sent again has the status and id of the first, and is reported as declined", async () => {
  const tenant = await scene.gateway.tenant();
  scene.at("beta").next({
    json: { answers: [{ type: "refusal", name: "lit" }], usage: { input_tokens: 10, output_tokens: 0 } },
  });
  const body = decisionBody({ model: "lab/beta", questions: { lit: QUESTIONS.lit } });
  const send = () =>
    scene.gateway.call(tenant.key, "/v1/decisions", { body, headers: { "idempotency-key": "declined" } });
  const first = await send();
  expect(first.status).toBe(422);
  const again = await send();
  expect([again.status, again.body.error.code]).toEqual([422, "idempotent_replay"]);
  const id = first.headers.get("x-svc-request-id");
  expect([again.headers.get("x-svc-request-id"), again.body.error.request_id]).toEqual([id, id]);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.body.error.message).toContain("was declined by the provider");
});
