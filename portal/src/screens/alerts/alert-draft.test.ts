import { expect, test } from "vitest";
import { type AlertRules, alertRulesBody, draftOf } from "./alert-draft.ts";

const rules: AlertRules = {
  ...{ workspace: "research", enabled: true, low_balance: "10.00", currency: "EUR", limit_percents: [80, 100] },
  ...{
    credential_refused: true,
    data_classes: [],
    mail_to: ["a@example.eu", "b@example.eu"],
    recipients: [],
    mail_ready: true,
  },
  webhook: { url: "https://hooks.example.eu/x", secret_changed_at: "2026-11-15T09:30:00.000Z" },
  changed_at: null,
};

test("PORTAL-05 rules saved without a change stay the same", () => {
  expect(alertRulesBody(draftOf(rules))).toEqual({
    ...{ low_balance: "10.00", limit_percents: [80, 100], credential_refused: true },
    ...{ mail_to: ["a@example.eu", "b@example.eu"], webhook_url: "https://hooks.example.eu/x" },
  });
  expect(
    alertRulesBody(draftOf({ ...rules, mail_to: null, webhook: null, low_balance: null, limit_percents: [] })),
  ).toEqual({
    ...{ low_balance: null, limit_percents: [], credential_refused: true, mail_to: null, webhook_url: null },
  });
  expect(alertRulesBody(draftOf({ ...rules, mail_to: [] })).mail_to).toEqual([]);
  expect(alertRulesBody({ ...draftOf(rules), percents: "50 %; 90,100" }).limit_percents).toEqual([50, 90, 100]);
});
