import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { MANAGE_ROUTES } from "../../../contract/routes/manage.ts";
import { KeyView, PolicyView } from "../../../contract/schemas/manage-tenancy.ts";
import { ENVIRONMENTS, KEY_STATES, SCOPES } from "../../../domain/tenancy/key.ts";
import { LEVELS } from "../../../domain/tenancy/policy.ts";

let room: ManageFixture;

beforeAll(async () => {
  room = await openManageFixture();
});
afterAll(() => room.close());

test("every management route has a handler, and every handler a route", () => {
  expect(Object.keys(room.handlers).toSorted()).toEqual(MANAGE_ROUTES.map((route) => route.id).toSorted());
});

test("contract and domain have the same names", () => {
  const { scopes, environment, state } = KeyView.shape;
  expect(scopes.unwrap().element.options).toEqual(SCOPES);
  expect(environment.options).toEqual(ENVIRONMENTS);
  expect(state.options.filter((name) => name !== "expired").toSorted()).toEqual(KEY_STATES.toSorted());
  expect(PolicyView.shape.floor.unwrap().options).toEqual(LEVELS);
});

describe("workspaces", () => {
  test("a workspace is created once, found by slug and id, and stored", async () => {
    const made = await room.ask("manageCreateWorkspace", { body: { slug: "a-1", name: "First", currency: "USD" } });
    expect(made).toMatchObject({ slug: "a-1", name: "First", currency: "USD", created_at: "2026-11-15T12:00:00.000Z" });
    for (const workspace of ["a-1", String(made["id"])])
      expect(await room.ask("manageShowWorkspace", { params: { workspace } })).toEqual(made);
    expect((await room.store.tenancy.loadAll()).workspaces.map((one) => one.slug)).toContain("a-1");
    const again = await room.refusal("manageCreateWorkspace", { body: { slug: "a-1" } });
    expect([again.status, again.code, again.param]).toEqual([409, "conflict", "slug"]);
  });

  test("of two concurrent creations with one slug, one is rejected", async () => {
    const both = await Promise.allSettled(
      [1, 2].map(() => room.ask("manageCreateWorkspace", { body: { slug: "twin" } })),
    );
    expect(both.map((one) => one.status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  test.each(["", "-a", "a-", "Ab", "a_b", "a b", "ä", "a".repeat(64), "../x"])(
    "the slug %j is refused",
    async (slug) => {
      const refused = await room.refusal("manageCreateWorkspace", { body: { slug } });
      expect([refused.code, refused.param]).toEqual(["invalid_value", "slug"]);
    },
  );

  test("name and currency have defaults; a currency must be in the catalogue", async () => {
    expect(await room.ask("manageCreateWorkspace", { body: { slug: "plain" } })).toMatchObject({
      name: "plain",
      currency: "EUR",
    });
    for (const currency of ["XXX", "eur"])
      expect((await room.refusal("manageCreateWorkspace", { body: { slug: "x", currency } })).param).toBe("currency");
  });

  test("a rename changes memory and store and keeps the slug", async () => {
    await room.ask("manageCreateWorkspace", { body: { slug: "renamed", name: "Before" } });
    const params = { workspace: "renamed" };
    const after = await room.ask("manageChangeWorkspace", { params, body: { name: "  After  " } });
    expect(after).toMatchObject({ slug: "renamed", name: "After" });
    expect(await room.ask("manageShowWorkspace", { params })).toEqual(after);
    const kept = (await room.store.tenancy.loadAll()).workspaces.find(({ slug }) => slug === "renamed");
    expect(kept?.name).toBe("After");
    const lines = (query: string) => room.ask("manageListAudit", { query: `workspace=renamed&${query}` });
    await room.ask("manageChangeWorkspace", { params, body: { name: "After" } });
    expect((await lines("action=workspace.rename"))["data"]).toMatchObject([
      { detail: { before: "Before", after: "After" } },
    ]);
    for (const name of ["", " ", "a\u0007b", "x".repeat(101)])
      expect((await room.refusal("manageChangeWorkspace", { params, body: { name } })).param).toBe("name");
  });

  test("an unknown name is 404 and quoted", async () => {
    for (const id of ["manageShowWorkspace", "manageListKeys", "manageShowWallet", "manageShowPolicy"]) {
      const refused = await room.refusal(id, { params: { workspace: "nowhere" } });
      expect([refused.status, refused.code]).toEqual([404, "not_found"]);
      expect(refused.message).toContain("nowhere");
    }
    expect((await room.refusal("manageShowKey", { params: { id: "key_none" } })).code).toBe("not_found");
  });

  test("lists are newest first and paginated", async () => {
    room.wait(1);
    await room.ask("manageCreateWorkspace", { body: { slug: "newest" } });
    const first = await room.ask("manageListWorkspaces", { query: "limit=1" });
    expect(first).toMatchObject({ data: [{ slug: "newest" }] });
    const second = await room.ask("manageListWorkspaces", { query: `limit=100&cursor=${first["next"]}` });
    expect(JSON.stringify(second)).not.toContain('"newest"');
    expect(second["next"]).toBeNull();
    expect((await room.refusal("manageListWorkspaces", { query: "limit=1001" })).param).toBe("limit");
    expect((await room.refusal("manageListWorkspaces", { query: "page=2" })).code).toBe("unsupported_parameter");
  });
});

describe("members", () => {
  const params = { workspace: "a-1" };

  test("an address is a member once, case-insensitively", async () => {
    const made = await room.ask("manageAddMember", { params, body: { email: "Cy@Example.eu", role: "owner" } });
    expect(made).toMatchObject({ email: "cy@example.eu", role: "owner" });
    expect((await room.refusal("manageAddMember", { params, body: { email: "cy@example.EU" } })).code).toBe("conflict");
    expect((await room.ask("manageListMembers", { params }))["data"]).toMatchObject([made]);
  });

  test("invalid addresses and roles are rejected, and only members can be removed", async () => {
    expect((await room.refusal("manageAddMember", { params, body: { email: "cy" } })).param).toBe("email");
    const bad = { email: "dee@example.eu", role: "king" };
    expect((await room.refusal("manageAddMember", { params, body: bad })).param).toBe("role");
    expect((await room.refusal("manageRemoveMember", { params: { ...params, email: "x@example.eu" } })).code).toBe(
      "not_found",
    );
  });

  test("a key policy patch changes only the given fields", async () => {
    expect(await room.ask("manageChangeKeyPolicy", { params, body: { approval: true } })).toEqual({
      personal_keys: false,
      approval: true,
      ip_allowlist: null,
    });
    expect(await room.ask("manageShowKeyPolicy", { params })).toEqual({
      personal_keys: false,
      approval: true,
      ip_allowlist: null,
    });
  });
});

describe("policy", () => {
  const params = { workspace: "a-1" };
  const set = (body: unknown) => room.ask("manageChangePolicy", { params, body });

  test("a policy patch changes only the given fields, for the next request", async () => {
    const provider = [...room.snapshot.providers.keys()][0] ?? "";
    await set({ floor: "L2", countries: ["de", "FR", "DE"], blocked_providers: [provider] });
    const changed = await set({ no_training: true });
    expect(changed).toEqual({
      floor: "L2",
      countries: ["DE", "FR"],
      zero_data_retention: false,
      no_training: true,
      blocked_providers: [provider],
      allowed_models: null,
      own_nodes: "subject",
      test_keys: "any",
      parameters: null,
    });
    expect(await room.ask("manageShowPolicy", { params })).toEqual(changed);
    expect(room.directory.workspace("a-1")?.policy).toMatchObject({ floor: "L2", noTraining: true });
    const stored = (await room.store.tenancy.loadAll()).workspaces.find((one) => one.slug === "a-1");
    expect(stored?.policy).toEqual(room.directory.workspace("a-1")?.policy);
  });

  test("none, null and the empty list lift a rule", async () => {
    await set({ floor: "L4", countries: ["DE"], allowed_models: ["sandbox/chat"] });
    const cleared = await set({ floor: "none", countries: [], allowed_models: [], blocked_providers: null });
    expect(cleared).toMatchObject({ floor: null, countries: null, allowed_models: null, blocked_providers: [] });
    await set({ floor: "L0" });
    expect(await set({ floor: null })).toMatchObject({ floor: null });
  });

  test.each([
    [{ floor: "L5" }, "floor", "L4"],
    [{ countries: ["Germany"] }, "countries.0", "two-letter"],
    [{ countries: ["DE", "XX"] }, "countries", "XX"],
    [{ countries: ["UK"] }, "countries", "UK"],
    [{ blocked_providers: ["no-such-one"] }, "blocked_providers", "no-such-one"],
    [{ allowed_models: ["sandbox/chat", "no/such"] }, "allowed_models", "no/such"],
    [{ zero_data_retention: "on" }, "zero_data_retention", "boolean"],
  ])("%j is refused and changes nothing", async (body, param, named) => {
    const before = await room.ask("manageShowPolicy", { params });
    const refused = await room.refusal("manageChangePolicy", { params, body });
    expect([refused.code, refused.param]).toEqual(["invalid_value", param]);
    expect(refused.message).toContain(named);
    expect(await room.ask("manageShowPolicy", { params })).toEqual(before);
  });

  test("concurrent changes are all applied", async () => {
    await Promise.all([set({ floor: "L1" }), set({ no_training: false }), set({ zero_data_retention: true })]);
    expect(await room.ask("manageShowPolicy", { params })).toMatchObject({
      floor: "L1",
      no_training: false,
      zero_data_retention: true,
    });
  });
});

test("every change is in the audit log, newest first, with before and after", async () => {
  room.wait(1);
  await room.ask("manageChangePolicy", { params: { workspace: "a-1" }, body: { floor: "L3" } });
  const { data } = await room.ask("manageListAudit", { query: "workspace=a-1&limit=1" });
  expect(data).toMatchObject([
    {
      actor: "operator",
      action: "policy.change",
      workspace: "a-1",
      detail: { before: { floor: "L1" }, after: { floor: "L3" } },
    },
  ]);
  const actions = JSON.stringify(await room.ask("manageListAudit"));
  for (const action of ["workspace.create", "member.add", "key_policy.change"]) expect(actions).toContain(action);
});
