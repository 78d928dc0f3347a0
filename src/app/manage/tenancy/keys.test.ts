import { hash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { keyValidityOf } from "../../../domain/tenancy/directory-reader.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import { DAY_MS } from "../../../kit/time.ts";

let room: ManageFixture;

beforeAll(async () => {
  room = await openManageFixture();
  await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
  await room.ask("manageAddMember", { params: { workspace: "lab" }, body: { email: "Ada@Example.eu" } });
});
afterAll(() => room.close());

const create = (body: JsonObject = {}) => room.ask("manageCreateKey", { params: { workspace: "lab" }, body });
const show = (id: unknown) => room.ask("manageShowKey", { params: { id: String(id) } });
const rotate = (id: unknown, body: JsonObject = {}) =>
  room.ask("manageRotateKey", { params: { id: String(id) }, body });

/** What the request path thinks of a secret at this moment. */
function standing(secret: unknown): string {
  const principal = room.directory.principalByDigest(sha256Hex(String(secret)));
  return principal === undefined ? "unknown" : keyValidityOf(principal.key, room.nowMs());
}

describe("creating", () => {
  test("KEY-01 the prefix encodes kind and environment", async () => {
    await room.ask("manageChangeKeyPolicy", { params: { workspace: "lab" }, body: { personal_keys: true } });
    const prefixes = [
      [{}, "sk_svc_live_"],
      [{ environment: "test" }, "sk_svc_test_"],
      [{ member: "ada@example.eu" }, "sk_svc_user_live_"],
      [{ member: "ADA@example.eu", environment: "test" }, "sk_svc_user_test_"],
    ] as const;
    for (const [body, prefix] of prefixes) {
      const issued = await create(body);
      expect(issued["prefix"]).toBe(prefix);
      expect(String(issued["key"])).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`));
    }
  });

  test("KEY-02 AUTH-11 only the SHA-256 of a key is stored, and no later response contains the key", async () => {
    const issued = await create({ name: "once" });
    expect(Object.keys(issued)).toEqual(["id", "key", "prefix", "name", "environment", "expires_at"]);
    const secret = String(issued["key"]);
    const { keys } = await room.store.tenancy.loadAll();
    expect(keys.find((key) => key.id === issued["id"])?.digest).toBe(hash("sha256", secret, "hex"));
    const later = [
      await show(issued["id"]),
      await room.ask("manageListKeys", { params: { workspace: "lab" } }),
      await room.ask("manageListAudit"),
      keys,
    ];
    expect(JSON.stringify(later)).not.toContain(secret.slice("sk_svc_live_".length));
  });

  test("KEY-06 settings are stored as given, and null or an empty list lifts a restriction", async () => {
    const issued = await create({
      scopes: ["inference:chat", "inference:chat"],
      ip_allowlist: ["10.0.0.0/8", "2001:DB8::/32"],
      expires_at: "2020-01-01",
      rpm: 1_000_000,
    });
    expect(await show(issued["id"])).toMatchObject({
      scopes: ["inference:chat"],
      ip_allowlist: ["10.0.0.0/8", "2001:db8::/32"],
      expires_at: "2020-01-01T00:00:00.000Z",
      rpm: 1_000_000,
      state: "expired",
    });
    const lifted = await room.ask("manageChangeKey", {
      params: { id: String(issued["id"]) },
      body: { scopes: [], ip_allowlist: null, expires_at: null, rpm: null },
    });
    expect(lifted).toMatchObject({ scopes: null, ip_allowlist: null, expires_at: null, rpm: null, state: "active" });
    const stored = (await room.store.tenancy.loadAll()).keys.find((key) => key.id === issued["id"]);
    expect(stored).toEqual(room.directory.key(String(issued["id"])));
    expect(stored?.version).toBe(2);
  });

  test("POL-01 a key's policy is patched: missing fields stay, null and empty lists lift", async () => {
    const issued = await create({ policy: { floor: "L3", countries: ["de"], no_training: true } });
    const params = { id: String(issued["id"]) };
    const shown = {
      floor: "L3",
      countries: ["DE"],
      zero_data_retention: false,
      no_training: true,
      blocked_providers: [],
      allowed_models: null,
      own_nodes: "subject",
      test_keys: "any",
      parameters: null,
    };
    expect((await show(issued["id"]))["policy"]).toEqual(shown);
    const change = (policy: unknown) => room.ask("manageChangeKey", { params, body: { policy } });
    const changed = await change({ countries: [], zero_data_retention: true, blocked_providers: ["sandbox-us"] });
    expect(changed["policy"]).toEqual({
      ...shown,
      countries: null,
      zero_data_retention: true,
      blocked_providers: ["sandbox-us"],
    });
    const stored = (await room.store.tenancy.loadAll()).keys.find((key) => key.id === issued["id"]);
    expect(stored).toEqual(room.directory.key(String(issued["id"])));
    // Nothing of it stays behind, so that a key without demands costs the request path nothing.
    const off = { floor: "none", zero_data_retention: false, no_training: false, blocked_providers: null };
    expect((await change(off))["policy"]).toBeNull();
    expect(room.directory.key(String(issued["id"]))?.policy).toBeNull();
    await change({ floor: "L1" });
    room.wait(1);
    expect((await change(null))["policy"]).toBeNull();
    const { data } = await room.ask("manageListAudit", { query: "limit=1" });
    expect(data).toMatchObject([
      { action: "key.change", detail: { before: { policy: { floor: "L1" } }, after: { policy: null } } },
    ]);
  });

  test("LOG-05 the audit log has every key setting by its API name, at creation and before and after a change", async () => {
    const settings = {
      name: "loader",
      scopes: ["inference:embeddings"],
      ip_allowlist: ["10.0.0.0/8"],
      expires_at: "2030-01-01T00:00:00.000Z",
      rpm: 5,
    };
    const issued = await create({ ...settings, environment: "test" });
    const lines = async () => (await room.ask("manageListAudit", { query: `target=${String(issued["id"])}` }))["data"];
    expect(await lines()).toMatchObject([
      {
        action: "key.create",
        detail: { ...settings, policy: null, environment: "test", member: null, state: "active" },
      },
    ]);
    room.wait(1);
    const said = { name: "reader", ip_allowlist: null, rpm: 7 };
    await room.ask("manageChangeKey", { params: { id: String(issued["id"]) }, body: said });
    expect(await lines()).toMatchObject([
      { action: "key.change", detail: { before: settings, after: { ...settings, ...said } } },
      { action: "key.create" },
    ]);
  });

  test("KEY-06 a key is created with spend limits, in the directory, the store and the audit log at once", async () => {
    const issued = await create({ name: "capped", spend_limits: { day: "2.50", month: "40" } });
    const id = String(issued["id"]);
    const stored = async () => (await room.store.limits.loadAll()).find(({ spenderId }) => spenderId === id);
    expect(await stored()).toMatchObject({ of: "key", dayNanos: 2_500_000_000n, monthNanos: 40_000_000_000n });
    expect(room.directory.limits.of(id)).toEqual(await stored());
    const lines = async () => (await room.ask("manageListAudit", { query: `target=${id}` }))["data"];
    expect(await lines()).toMatchObject([
      { action: "key.create", detail: { spend_limits: { day: "2.50", month: "40.00" } } },
    ]);
    room.wait(1);
    // A successor shares the limits of its rotation root; a period that is not named stays.
    const next = await rotate(id);
    const change = (spend_limits: JsonObject) =>
      room.ask("manageChangeKey", { params: { id: String(next["id"]) }, body: { spend_limits } });
    room.wait(1);
    await change({ day: null });
    expect(room.directory.limits.of(id)).toMatchObject({ dayNanos: null, monthNanos: 40_000_000_000n });
    expect((await room.ask("manageListAudit", { query: "limit=1" }))["data"]).toMatchObject([
      {
        action: "key.change",
        detail: {
          before: { spend_limits: { day: "2.50", month: "40.00" } },
          after: { spend_limits: { day: null, month: "40.00" } },
        },
      },
    ]);
    await change({ month: null });
    expect(await stored()).toBeUndefined();
  });

  test("changing other settings keeps a key's policy", async () => {
    const issued = await create({ policy: { floor: "L1" } });
    const changed = await room.ask("manageChangeKey", { params: { id: String(issued["id"]) }, body: { rpm: 5 } });
    expect(changed).toMatchObject({ rpm: 5, policy: { floor: "L1" } });
  });

  test.each([
    [{ rpm: 0 }, "rpm"],
    [{ rpm: 1_000_001 }, "rpm"],
    [{ rpm: 1.5 }, "rpm"],
    [{ environment: "prod" }, "environment"],
    [{ scopes: ["inference:everything"] }, "scopes.0"],
    [{ ip_allowlist: ["10.0.0.0/33"] }, "ip_allowlist"],
    [{ ip_allowlist: ["fe80::1%eth0"] }, "ip_allowlist"],
    [{ ip_allowlist: ["example.eu"] }, "ip_allowlist"],
    [{ expires_at: "2027-02-30" }, "expires_at"],
    [{ expires_at: 5 }, "expires_at"],
    [{ name: "" }, "name"],
    [{ name: "a\u001b[31m" }, "name"],
    [{ policy: { floor: "L5" } }, "policy.floor"],
    [{ policy: { countries: ["UK"] } }, "policy.countries"],
    [{ policy: { blocked_providers: ["nobody"] } }, "policy.blocked_providers"],
    [{ policy: { allowed_models: ["acme/none"] } }, "policy.allowed_models"],
    [{ spend_limits: { day: "2,50" } }, "spend_limits.day"],
    [{ spend_limits: { month: "1000000001" } }, "spend_limits.month"],
  ])("a bad value %j is refused with its name", async (body, param) => {
    const refused = await room.refusal("manageCreateKey", { params: { workspace: "lab" }, body });
    expect([refused.status, refused.code, refused.param]).toEqual([400, "invalid_value", param]);
  });

  test("an unknown field is rejected by name", async () => {
    const refused = await room.refusal("manageCreateKey", { params: { workspace: "lab" }, body: { secret: "mine" } });
    expect([refused.code, refused.param]).toEqual(["unsupported_parameter", "secret"]);
  });
});

describe("rotating", () => {
  test("KEY-03 the new key inherits all settings; the old one is valid for the grace period and then expired", async () => {
    const expires_at = new Date(room.nowMs() + 365 * DAY_MS).toISOString();
    const old = await create({
      name: "worker",
      environment: "test",
      member: "ada@example.eu",
      scopes: ["inference:chat"],
      ip_allowlist: ["10.1.0.0/16"],
      rpm: 77,
      expires_at,
      policy: { floor: "L2" },
    });
    const issued = await rotate(old["id"]);
    expect(issued["key"]).not.toBe(old["key"]);
    expect(issued).toMatchObject({ prefix: "sk_svc_user_test_", name: "worker", environment: "test", expires_at });
    expect(await show(issued["id"])).toMatchObject({
      member: "ada@example.eu",
      kind: "personal",
      state: "active",
      scopes: ["inference:chat"],
      ip_allowlist: ["10.1.0.0/16"],
      rpm: 77,
      policy: { floor: "L2", countries: null },
      expires_at,
      rotated_from: old["id"],
    });
    expect((await show(old["id"]))["state"]).toBe("deprecated");
    room.wait(7 * DAY_MS - 1);
    expect([standing(old["key"]), standing(issued["key"])]).toEqual(["valid", "valid"]);
    room.wait(1);
    expect([standing(old["key"]), standing(issued["key"])]).toEqual(["expired", "valid"]);
    expect((await show(old["id"]))["state"]).toBe("expired");
  });

  test("KEY-03 AUTH-05 the grace period is configurable, and zero ends the old key at once", async () => {
    const first = await create();
    const second = await rotate(first["id"], { grace: "2s" });
    room.wait(1_999);
    expect(standing(first["key"])).toBe("valid");
    room.wait(1);
    expect(standing(first["key"])).toBe("expired");
    await rotate(second["id"], { grace: "0s" });
    expect(standing(second["key"])).toBe("expired");
  });

  test("both keys of a rotation are equal in store and memory", async () => {
    const old = await create();
    const issued = await rotate(old["id"]);
    const { keys } = await room.store.tenancy.loadAll();
    for (const id of [old["id"], issued["id"]])
      expect(keys.find((key) => key.id === id)).toEqual(room.directory.key(String(id)));
  });

  test("only an active key can be rotated, and the refusal names its state", async () => {
    const deprecated = await create();
    await rotate(deprecated["id"]);
    const revoked = await create();
    await room.ask("manageRevokeKey", { params: { id: String(revoked["id"]) } });
    const expired = await create({ expires_at: "2020-01-01" });
    for (const [{ id }, word] of [
      [deprecated, "deprecated"],
      [revoked, "revoked"],
      [expired, "expired"],
    ] as const) {
      const refused = await room.refusal("manageRotateKey", { params: { id: String(id) } });
      expect([refused.status, refused.code]).toEqual([409, "conflict"]);
      expect(refused.message).toContain(word);
    }
  });

  test("an invalid grace period, or one over ten years, is rejected", async () => {
    const { id } = await create();
    for (const grace of ["soon", "1w", "3651d", ""]) {
      const refused = await room.refusal("manageRotateKey", { params: { id: String(id) }, body: { grace } });
      expect([refused.code, refused.param]).toEqual(["invalid_value", "grace"]);
    }
    const longest = { params: { id: String(id) }, body: { grace: "3650d" } };
    expect(await room.ask("manageRotateKey", longest)).toHaveProperty("key");
  });
});

describe("revoking and expiry", () => {
  test("KEY-04 an active or deprecated key that is revoked is unknown to the next request", async () => {
    const active = await create();
    await room.ask("manageRevokeKey", { params: { id: String(active["id"]) } });
    expect(standing(active["key"])).toBe("invalid");
    const old = await create();
    await rotate(old["id"]);
    await room.ask("manageRevokeKey", { params: { id: String(old["id"]) } });
    expect(standing(old["key"])).toBe("invalid");
    expect((await show(old["id"]))["state"]).toBe("revoked");
  });

  test("revoking twice changes nothing; a revoked key cannot be changed", async () => {
    const { id } = await create();
    const params = { id: String(id) };
    await room.ask("manageRevokeKey", { params });
    const version = room.directory.key(params.id)?.version;
    expect((await room.ask("manageRevokeKey", { params }))["state"]).toBe("revoked");
    expect(room.directory.key(params.id)?.version).toBe(version);
    expect((await room.refusal("manageChangeKey", { params, body: { rpm: 5 } })).code).toBe("conflict");
  });

  test("KEY-05 AUTH-05 a key is invalid from its expiry on", async () => {
    const issued = await create({ expires_at: new Date(room.nowMs() + 5_000).toISOString() });
    room.wait(4_999);
    expect(standing(issued["key"])).toBe("valid");
    room.wait(1);
    expect(standing(issued["key"])).toBe("expired");
    expect((await show(issued["id"]))["state"]).toBe("expired");
  });
});

describe("personal keys", () => {
  const policy = (body: JsonObject) => room.ask("manageChangeKeyPolicy", { params: { workspace: "lab" }, body });
  const ada = { member: "ada@example.eu" };

  test("KEY-07 they are rejected with advice unless the key policy enables them", async () => {
    await policy({ personal_keys: false });
    const refused = await room.refusal("manageCreateKey", { params: { workspace: "lab" }, body: ada });
    expect([refused.status, refused.code]).toEqual([403, "not_allowed"]);
    expect(refused.message).toContain("member policy lab --personal-keys on");
  });

  test("KEY-07 existing ones are invalid while they are switched off", async () => {
    await policy({ personal_keys: true, approval: false });
    const issued = await create(ada);
    expect(standing(issued["key"])).toBe("valid");
    await policy({ personal_keys: false });
    expect(standing(issued["key"])).toBe("unknown");
    expect((await room.refusal("manageRotateKey", { params: { id: String(issued["id"]) } })).code).toBe("not_allowed");
    await policy({ personal_keys: true });
    expect(standing(issued["key"])).toBe("valid");
  });

  test("KEY-07 with approval required they are pending until approved", async () => {
    await policy({ personal_keys: true, approval: true });
    const issued = await create(ada);
    expect((await show(issued["id"]))["state"]).toBe("pending");
    expect(standing(issued["key"])).toBe("invalid");
    const params = { id: String(issued["id"]) };
    await policy({ personal_keys: false });
    expect((await room.refusal("manageApproveKey", { params })).code).toBe("not_allowed");
    await policy({ personal_keys: true });
    expect((await room.ask("manageApproveKey", { params }))["state"]).toBe("active");
    expect(standing(issued["key"])).toBe("valid");
    expect((await room.refusal("manageApproveKey", { params })).code).toBe("conflict");
    await policy({ approval: false });
  });

  test("they need a member", async () => {
    const refused = await room.refusal("manageCreateKey", {
      params: { workspace: "lab" },
      body: { member: "nobody@example.eu" },
    });
    expect([refused.status, refused.code]).toEqual([403, "not_allowed"]);
    expect(refused.message).toContain("member add");
  });

  test("KEY-08 a member's keys end with the membership, in the store too", async () => {
    await room.ask("manageAddMember", { params: { workspace: "lab" }, body: { email: "bo@example.eu" } });
    const hers = await create({ member: "bo@example.eu" });
    const ours = await create();
    const removed = await room.ask("manageRemoveMember", { params: { workspace: "lab", email: "Bo@example.eu" } });
    expect(removed["revoked_keys"]).toEqual([hers["id"]]);
    expect([standing(hers["key"]), standing(ours["key"])]).toEqual(["unknown", "valid"]);
    const { keys, members } = await room.store.tenancy.loadAll();
    expect(keys.find((key) => key.id === hers["id"])?.state).toBe("revoked");
    expect(members.map((member) => member.email)).toEqual(["ada@example.eu"]);
    await room.ask("manageAddMember", { params: { workspace: "lab" }, body: { email: "bo@example.eu" } });
    expect(standing(hers["key"])).not.toBe("valid");
  });
});
