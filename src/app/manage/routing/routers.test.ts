import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { EffortName, RouterPut } from "../../../contract/schemas/manage-routing.ts";
import { EFFORTS } from "../../../language/canon/call.ts";

let room: ManageFixture;

beforeAll(async () => {
  room = await openManageFixture();
  await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
  await room.ask("manageCreateWorkspace", { body: { slug: "other" } });
});
afterAll(() => room.close());
beforeEach(() => room.wait(1000));

const at = (router: string, workspace = "lab") => ({ params: { workspace, router } });
const put = (router: string, body: unknown) => room.ask("managePutRouter", { ...at(router), body });
const history = (router: string, query = "") => room.ask("manageListRouterVersions", { ...at(router), query });
const rowsOf = ({ data }: Record<string, unknown>): unknown[] => (Array.isArray(data) ? data : []);

const WHOLE = {
  weights: { quality: 1, cost: 2.5, latency: 0 },
  floor: "L2",
  quality_floor: 0.4,
  countries: ["DE", "FR"],
  models: ["sandbox/chat"],
  fallback: ["openai/gpt-oss-120b"],
  reasoning_effort: "low",
  nodes: "fallback",
};
const OPEN = {
  weights: { quality: 1, cost: 1, latency: 1 },
  floor: null,
  quality_floor: null,
  countries: [],
  models: [],
  fallback: [],
  reasoning_effort: null,
  nodes: null,
};

test("contract and canon have the same reasoning efforts", () => {
  expect(EffortName.options).toEqual(EFFORTS);
});

describe("putting", () => {
  test("ROUTE-01 a router is returned as stored, with slug, version, time and model name", async () => {
    const made = await put("whole", WHOLE);
    expect(made).toEqual({
      slug: "whole",
      name: "@lab/whole",
      version: 1,
      created_at: new Date(room.nowMs()).toISOString(),
      ...WHOLE,
    });
    expect(await room.ask("manageShowRouter", at("whole"))).toEqual(made);
    const { slug: _, name: __, version: ___, created_at: ____, ...spec } = made;
    expect(RouterPut.safeParse(spec).success).toBe(true);
    expect((await room.store.tenancy.loadAll()).routers).toContainEqual(
      room.directory.router(room.directory.workspace("lab")?.id ?? "", "whole"),
    );
  });

  test("missing fields, null and empty lists are unrestricted, and missing weights are equal", async () => {
    expect(await put("open", {})).toMatchObject(OPEN);
    const nothing = { weights: null, floor: null, quality_floor: null, countries: null, models: null };
    expect(await put("open", { ...nothing, fallback: null, reasoning_effort: null })).toMatchObject(OPEN);
    const empty = { floor: "none", countries: [], models: [], fallback: [] };
    expect(await put("open", empty)).toMatchObject({ ...OPEN, version: 1 });
  });

  test("a missing weight is zero", async () => {
    expect(await put("part", { weights: { cost: 3 } })).toMatchObject({ weights: { quality: 0, cost: 3, latency: 0 } });
  });

  test("countries are normalized to ISO codes, and duplicates are removed", async () => {
    const made = await put("tidy", { countries: ["de", "DE", "fr"], models: ["sandbox/chat", "sandbox/chat"] });
    expect(made).toMatchObject({ countries: ["DE", "FR"], models: ["sandbox/chat"] });
  });

  test.each([
    [{ weights: { quality: -1 } }, "weights.quality"],
    [{ weights: { latency: 1_000_001 } }, "weights.latency"],
    [{ weights: { cost: "1" } }, "weights.cost"],
    [{ weights: { quality: 0, cost: 0, latency: 0 } }, "weights"],
    [{ weights: {} }, "weights"],
    [{ weights: 1 }, "weights"],
    [{ floor: "L5" }, "floor"],
    [{ quality_floor: 1.01 }, "quality_floor"],
    [{ quality_floor: -0.1 }, "quality_floor"],
    [{ countries: ["UK"] }, "countries"],
    [{ countries: ["Germany"] }, "countries.0"],
    [{ models: ["acme/none"] }, "models"],
    [{ models: ["auto"] }, "models"],
    [{ fallback: ["acme/none"] }, "fallback"],
    [{ fallback: "sandbox/chat" }, "fallback"],
    [{ reasoning_effort: "much" }, "reasoning_effort"],
    [{ nodes: "always" }, "nodes"],
  ])("%j is refused with the field's name", async (body, param) => {
    const refused = await room.refusal("managePutRouter", { ...at("bad"), body });
    expect([refused.status, refused.code, refused.param]).toEqual([400, "invalid_value", param]);
    expect(room.directory.router(room.directory.workspace("lab")?.id ?? "", "bad")).toBeUndefined();
  });

  test.each([
    { weights: { quality: 1_000_000 } },
    { weights: { cost: 0.000_001 } },
    { quality_floor: 0 },
    { quality_floor: 1 },
  ])("ROUTE-01 %j is the most or the least that may be written", async (body) => {
    expect(await put("edge", body)).toMatchObject(body);
  });

  test.each([
    [{ weight: {} }, "weight"],
    [{ weights: { speed: 1 } }, "weights.speed"],
    [{ slug: "x" }, "slug"],
  ])("%j has a field that is not known", async (body, param) => {
    const refused = await room.refusal("managePutRouter", { ...at("bad"), body });
    expect([refused.code, refused.param]).toEqual(["unsupported_parameter", param]);
  });

  test.each(["", "Big", "a_b", "a b", "a/b", "ä", "x".repeat(65)])("the slug %j is refused", async (slug) => {
    const refused = await room.refusal("managePutRouter", { ...at(slug), body: {} });
    expect([refused.status, refused.code, refused.param]).toEqual([400, "invalid_value", "router"]);
  });

  test("ROUTE-01 a slug has 64 characters at most, and a workspace a thousand routers", async () => {
    await room.ask("manageCreateWorkspace", { body: { slug: "many" } });
    const { id = "" } = room.directory.workspace("many") ?? {};
    const like = room.directory.router(room.directory.workspace("lab")?.id ?? "", "edge");
    if (like === undefined) throw new Error("there is no router to take as a pattern");
    for (let at = 0; at < 999; at += 1) room.directory.putRouter({ ...like, workspaceId: id, slug: `r-${at}` });
    const [last, more] = ["x".repeat(64), "one-more"].map((slug) => ({ ...at(slug, "many"), body: {} }));
    expect(await room.ask("managePutRouter", last)).toMatchObject({ version: 1 });
    expect((await room.refusal("managePutRouter", more)).code).toBe("conflict");
    // One that is there can still be changed.
    expect(await room.ask("managePutRouter", { ...last, body: { floor: "L1" } })).toMatchObject({ version: 2 });
  });

  test("the router `auto` is called by that name", async () => {
    expect(await put("auto", {})).toMatchObject({ slug: "auto", name: "auto" });
  });
});

describe("versions", () => {
  test("ROUTE-01 every change adds a version, and all versions are listed newest first", async () => {
    await put("v", { floor: "L1" });
    room.wait(1);
    await put("v", { floor: "L2" });
    // Put as it is: nothing changes.
    expect(await put("v", { floor: "L2" })).toMatchObject({ version: 2 });
    const { data, next } = await history("v");
    expect([data, next]).toMatchObject([
      [
        { version: 2, slug: "v", name: "@lab/v", spec: { floor: "L2" } },
        { version: 1, spec: { floor: "L1" } },
      ],
      null,
    ]);
    const first = await history("v", "limit=1");
    expect(first).toMatchObject({ data: [{ version: 2 }], next: expect.any(String) });
    expect(await history("v", `cursor=${first["next"]}`)).toMatchObject({ data: [{ version: 1 }], next: null });
  });

  test("a removal is a version; the history stays, and the router can be restored", async () => {
    await put("gone", { floor: "L3" });
    expect(await room.ask("manageRemoveRouter", at("gone"))).toEqual({ slug: "gone", version: 2, removed: true });
    expect((await room.refusal("manageShowRouter", at("gone"))).code).toBe("not_found");
    expect((await room.refusal("manageRemoveRouter", at("gone"))).code).toBe("not_found");
    expect((await room.store.tenancy.loadAll()).routers.map(({ slug }) => slug)).not.toContain("gone");
    expect(rowsOf(await history("gone"))).toMatchObject([{ version: 2, spec: null }, { version: 1 }]);
    const restore = (version: unknown) => ({ ...at("gone"), body: { version } });
    expect((await room.refusal("manageRestoreRouter", restore(2))).param).toBe("version");
    expect((await room.refusal("manageRestoreRouter", restore(3))).param).toBe("version");
    expect((await room.refusal("manageRestoreRouter", restore("1"))).param).toBe("version");
    expect(await room.ask("manageRestoreRouter", restore(1))).toMatchObject({ version: 3, floor: "L3" });
    expect(await room.ask("manageShowRouter", at("gone"))).toMatchObject({ version: 3, floor: "L3" });
    expect(await put("gone", {})).toMatchObject({ version: 4 });
  });

  test("ROUTE-01 a version with a model that left the catalogue cannot be restored", async () => {
    const { spec } = room.directory.router(room.directory.workspace("lab")?.id ?? "", "v") ?? {};
    if (spec === undefined) throw new Error("there is no router to take as a pattern");
    const workspaceId = room.directory.workspace("lab")?.id ?? "";
    const kept = [
      { ...spec, models: ["acme/gone"] },
      { ...spec, fallback: ["acme/gone"] },
      { ...spec, models: ["sandbox/chat"] },
    ];
    await room.store.change(async ({ tenancy }) => {
      for (const [at, one] of kept.entries())
        await tenancy.saveRouterVersion({
          ...{ workspaceId, slug: "old", version: at + 1, createdAtMs: room.nowMs(), spec: one },
        });
      return { result: null, audit: null };
    });
    const restore = (version: number) => ({ ...at("old"), body: { version } });
    for (const version of [1, 2]) {
      const refused = await room.refusal("manageRestoreRouter", restore(version));
      expect([refused.param, refused.message]).toEqual(["version", expect.stringContaining("acme/gone")]);
    }
    expect(await room.ask("manageRestoreRouter", restore(3))).toMatchObject({ version: 4, models: ["sandbox/chat"] });
  });

  test("concurrent changes are all applied", async () => {
    await Promise.all(["L0", "L1", "L2", "L3", "L4"].map((floor) => put("busy", { floor })));
    const rows = rowsOf(await history("busy"));
    expect(rows).toHaveLength(5);
    expect(await room.ask("manageShowRouter", at("busy"))).toMatchObject({ version: 5 });
  });
});

describe("finding", () => {
  test("a workspace sees its own routers only, newest first", async () => {
    await room.ask("managePutRouter", { ...at("mine", "other"), body: {} });
    room.wait(1);
    await room.ask("managePutRouter", { ...at("later", "other"), body: {} });
    const listed = await room.ask("manageListRouters", { params: { workspace: "other" } });
    expect(listed).toMatchObject({ data: [{ slug: "later" }, { name: "@other/mine" }], next: null });
    for (const id of ["manageShowRouter", "manageRemoveRouter", "manageListRouterVersions"]) {
      const refused = await room.refusal(id, at("mine"));
      expect([refused.status, refused.code]).toEqual([404, "not_found"]);
      expect(refused.message).toContain("mine");
    }
    expect((await room.refusal("manageRestoreRouter", { ...at("mine"), body: { version: 1 } })).code).toBe("not_found");
  });

  test("changes are in the audit log with before and after", async () => {
    await put("audited", { floor: "L1" });
    room.wait(1);
    await put("audited", { floor: "L2" });
    room.wait(1);
    await room.ask("manageRemoveRouter", at("audited"));
    const { data } = await room.ask("manageListAudit", { query: "limit=3&workspace=lab" });
    expect(data).toMatchObject([
      { action: "router.remove", target: "audited", detail: { version: 3, before: { floor: "L2" } } },
      { action: "router.change", detail: { version: 2, before: { floor: "L1" }, after: { floor: "L2" } } },
      { action: "router.create", detail: { version: 1, before: null, after: { floor: "L1" } } },
    ]);
  });
});
