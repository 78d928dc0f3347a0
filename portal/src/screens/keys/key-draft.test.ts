import { expect, test } from "vitest";
import type { Key } from "./key.ts";
import { changeBody, createBody, draftOf, NEW_KEY } from "./key-draft.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);

const KEY: Key = {
  id: "key_1",
  workspace: "demo",
  name: "backend",
  prefix: "sk_svc_live_",
  kind: "workspace",
  purpose: "api",
  member: null,
  environment: "live",
  state: "active",
  scopes: ["inference:chat"],
  ip_allowlist: ["203.0.113.0/24"],
  expires_at: "2027-01-31T12:00:00.000Z",
  grace_until: null,
  rpm: 600,
  policy: null,
  created_at: "2026-11-01T00:00:00.000Z",
  rotated_from: null,
  last_used_at: null,
  requests_month: 0,
  spent_month: "0.00",
  currency: "EUR",
};

test("a create request only contains changed settings", () => {
  expect(createBody({ ...NEW_KEY, name: " backend " }, true, NOW_MS)).toEqual({ name: "backend", environment: "live" });
  const draft = {
    ...NEW_KEY,
    environment: "test",
    expiry: "30",
    addresses: "10.0.0.1, 10.0.0.2\n",
    rpm: "60",
  } as const;
  expect(createBody(draft, true, NOW_MS)).toEqual({
    environment: "test",
    expires_at: "2026-12-15T12:00:00.000Z",
    ip_allowlist: ["10.0.0.1", "10.0.0.2"],
    rpm: 60,
  });
});

test("a member's form sends neither limits nor policy", () => {
  const draft = {
    ...NEW_KEY,
    member: "ada@example.eu",
    rpm: "60",
    spendLimits: { day: "5", month: "" },
    policy: { ...NEW_KEY.policy, noTraining: true },
  };
  expect(createBody(draft, false, NOW_MS)).toEqual({ environment: "live", member: "ada@example.eu" });
});

test("an unchanged form changes nothing", () => {
  expect(changeBody(draftOf(KEY), draftOf(KEY), true, NOW_MS)).toEqual({});
});

test("an emptied field removes the restriction, and a date is the key's last full day", () => {
  const draft = { ...draftOf(KEY), scopes: [], addresses: "", rpm: "", expiry: "date", lastDay: "2026-12-24" };
  expect(changeBody(draftOf(KEY), draft, true, NOW_MS)).toEqual({
    scopes: null,
    ip_allowlist: null,
    rpm: null,
    expires_at: new Date(2026, 11, 25).toISOString(),
  });
  const never = { ...draftOf(KEY), expiry: "never" };
  expect(changeBody(draftOf(KEY), never, true, NOW_MS)).toEqual({ expires_at: null });
});

test("PARAM-08 a key states how it handles parameters, or follows its workspace", () => {
  const draft = { ...NEW_KEY, policy: { ...NEW_KEY.policy, parameters: "lenient" } };
  expect(createBody(draft, true, NOW_MS)).toMatchObject({ policy: { parameters: "lenient" } });
  const other = { ...NEW_KEY, policy: { ...NEW_KEY.policy, noTraining: true } };
  expect(createBody(other, true, NOW_MS)).toMatchObject({ policy: { parameters: null } });
});

test("PORTAL-02 spend limits are part of the create request, and a change names only the changed period", () => {
  const draft = { ...NEW_KEY, name: "capped", spendLimits: { day: "2,50", month: "" } };
  expect(createBody(draft, true, NOW_MS)).toEqual({
    name: "capped",
    environment: "live",
    spend_limits: { day: "2.50" },
  });
  const before = { ...draftOf(KEY), spendLimits: { day: "2.50", month: "40.00" } };
  const after = { ...before, spendLimits: { day: "2.50", month: "" } };
  expect(changeBody(before, after, true, NOW_MS)).toEqual({ spend_limits: { month: null } });
});
