import { expect, test } from "vitest";
import { shortText } from "../../format/time.ts";
import { type Key, keyLabels } from "./key.ts";

const key = (id: string, own: Partial<Key>): Key => ({
  ...{ id, workspace: "demo", name: "backend", prefix: "sk_svc_live_", kind: "workspace", member: null },
  ...{ environment: "live", state: "active", scopes: null, ip_allowlist: null, expires_at: null, grace_until: null },
  ...{ rpm: null, policy: null, created_at: "2026-11-15T12:00:00.000Z", rotated_from: null, purpose: "api" },
  ...{ last_used_at: null, requests_month: 0, spent_month: "0.00", currency: "EUR" },
  ...own,
});

test("PORTAL-03 labels of keys with the same name add environment, state and creation time", () => {
  const at = shortText(Date.UTC(2026, 10, 15, 12));
  const labels = keyLabels([
    key("a", {}),
    key("b", { environment: "test" }),
    key("c", { state: "deprecated" }),
    key("d", { name: "nightly" }),
  ]);
  expect([...labels.values()]).toEqual([
    `backend (live, ${at})`,
    `backend (test, ${at})`,
    `backend (live, Rotated, ${at})`,
    "nightly",
  ]);
});
