import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DECIDER_ANSWERS } from "../support/decision-answers.ts";
import { type Decider, type DecisionScene, openDecisions, RED } from "../support/decisions.ts";
import type { Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
const FORMATS = ["alpha", "beta", "gamma", "kappa"] as const satisfies readonly Decider[];
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
  for (const slug of FORMATS) {
    const answer = DECIDER_ANSWERS[slug];
    if (answer !== undefined) scene.at(slug).always(answer);
  }
});
afterAll(() => scene.close());

const JANE = "jane.doe@mail.example.eu";
const JOHN = "john.roe@mail.example.eu";
const IBAN = "DE89370400440532013000";
const QUESTIONS = {
  [IBAN]: { type: "noul", instructions: `Is ${IBAN} hers?` },
  whose: { type: "choice", instructions: "Whose is it?", criteria: { [JANE]: `not ${JOHN}`, [JOHN]: null } },
};
const setRules = (rules: object) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: rules });
const ask = (provider: Decider, more: object = {}) =>
  scene.decide(tenant.key, {
    model: `lab/${provider}`,
    state: { text: `${JANE} pays from ${IBAN}` },
    questions: QUESTIONS,
    ...more,
  });

describe("decisions about data of a class", () => {
  test.each(
    FORMATS.flatMap((provider) => (["redact", "pseudonymise"] as const).map((action) => [provider, action] as const)),
  )(
    "CLASS-03 CLASS-04 DEC-07 over %s names of questions and options are kept from the provider: %s",
    async (provider, action) => {
      await setRules({ personal: { action } });
      const { status, body, headers } = await ask(provider);
      expect([status, body]).toMatchObject([200, { answers: { [IBAN]: { noul: 1 }, whose: { choice: JANE } } }]);
      expect(Object.keys(body.answers)).toEqual(Object.keys(QUESTIONS));
      const { detail } = await scene.row(headers.get("x-svc-request-id") ?? "");
      expect(detail).toMatchObject({ data_action: action === "redact" ? "redacted" : "pseudonymised" });
      const sent = scene.at(provider).requests.at(-1)?.raw.toString() ?? "";
      for (const original of [JANE, JOHN, IBAN]) expect(sent).not.toContain(original);
      // Redacted names are different ones, and names that every provider takes.
      if (action === "redact") expect(new Set(sent.match(/EMAIL_[a-z0-9]{6}/g)).size).toBe(2);
    },
  );

  test("CLASS-02 images that no detector reads can be refused", async () => {
    await setRules({ uninspected: { action: "block" } });
    const refused = await ask("alpha", { images: [RED] });
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      403,
      "data_class_not_permitted",
      "images[0]",
    ]);
    expect((await ask("alpha")).status).toBe(200);
  });

  test("CLASS-02 rules of a request hold for decisions", async () => {
    await setRules({});
    const refused = await ask("alpha", { data_classes: { personal: { action: "block" } } });
    expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    await ask("alpha", { data_classes: { personal: { action: "redact" } } });
    expect(scene.at("alpha").requests.at(-1)?.raw.toString()).not.toContain(JANE);
    expect(scene.at("alpha").requests.at(-1)?.json).not.toHaveProperty("data_classes");
  });
});
