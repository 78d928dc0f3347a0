import { afterAll, beforeAll, expect, test } from "vitest";
import { asked, type DecisionScene, openDecisions, QUESTIONS } from "../support/decisions.ts";

let scene: DecisionScene;
beforeAll(async () => {
  scene = await openDecisions();
});
afterAll(() => scene.close());

test("DEC-08 BILL-09 a declined call that is sent again is told as declined, not as cut short by its caller", async () => {
  const tenant = await scene.gateway.tenant();
  scene.at("beta").next({
    json: { answers: [{ type: "refusal", name: "lit" }], usage: { input_tokens: 10, output_tokens: 0 } },
  });
  const body = asked({ model: "lab/beta", questions: { lit: QUESTIONS.lit } });
  const send = () =>
    scene.gateway.call(tenant.key, "/v1/decisions", { body, headers: { "idempotency-key": "declined" } });
  expect((await send()).status).toBe(422);
  const again = await send();
  expect([again.status, again.body.error.code]).toEqual([409, "idempotent_replay"]);
  expect(again.body.error.message).toContain("was declined by the provider");
});
