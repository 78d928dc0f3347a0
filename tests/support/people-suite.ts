import { getAuthTables } from "better-auth/db";
import { describe, expect, test } from "vitest";
import { type AccountLink, RESET_IDENTIFIER_PREFIX } from "../../src/domain/tenancy/person.ts";
import { AUTH_TABLES } from "../../src/io/store/sql/auth-adapter.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { epochTests } from "./people-epoch-suite.ts";
import { change, DAY_MS, libraryOn, NOW_MS, OPTIONS, person, session, valuesOf } from "./people-rows.ts";
import { withWorkspaces } from "./workspaces.ts";

const link = (id: string): AccountLink => ({
  id,
  kind: "sign_up",
  digest: sha256Hex(id),
  email: "a@example.eu",
  membership: null,
  issuedBy: "operator",
  createdAtMs: NOW_MS,
  expiresAtMs: NOW_MS + DAY_MS,
  usedAtMs: null,
  revokedAtMs: null,
});

/** What every engine must do for people. */
export function peopleTests(storeNow: () => Store): void {
  describe("people, as the sign-in library queries them", () => libraryTests(storeNow));
  describe("people", () => peopleStoreTests(storeNow));
  describe("credential reset", () => startOverTests(storeNow));
  describe("sign-in calls in flight", () => epochTests(storeNow));
  describe("pending items of people", () => forgettingTests(storeNow));
  describe("what began after a session", () => laterTests(storeNow));
  describe("erased people", () => erasingTests(storeNow));
  describe("one-time codes", () => codeTests(storeNow));
}

function libraryTests(storeNow: () => Store): void {
  test("PORTAL-01 the tables match the sign-in library: each of its fields can be written and read", async () => {
    const adapter = await libraryOn(storeNow());
    const tables = getAuthTables(OPTIONS);
    expect(Object.keys(tables).toSorted()).toEqual(Object.keys(AUTH_TABLES).toSorted());
    const user = await adapter.create({ model: "user", data: valuesOf(tables["user"]?.fields ?? {}, "") });
    for (const [model, { fields }] of Object.entries(tables)) {
      const values = model === "user" ? { name: "renamed" } : valuesOf(fields, user["id"]);
      const made =
        model === "user"
          ? await adapter.update<Record<string, unknown>>({
              model,
              where: [{ field: "id", value: user["id"] }],
              update: values,
            })
          : await adapter.create<Record<string, unknown>>({ model, data: values });
      expect(made, model).toMatchObject(values);
      const found = await adapter.findOne<Record<string, unknown>>({
        model,
        where: [{ field: "id", value: String(made?.["id"]) }],
      });
      const secret = { session: "token", deviceCode: "deviceCode" }[model] ?? "";
      for (const [field, value] of Object.entries(values))
        expect(found?.[field], `${model}.${field}`).toEqual(field === secret ? sha256Hex(String(value)) : value);
    }
  });

  test("PORTAL-11 a session is found by its token, which the store does not know", async () => {
    const adapter = await libraryOn(storeNow());
    await change(storeNow(), async (people) => {
      await people.addPerson(person("per_1"));
      await people.addSession({ ...session("ses_1", "per_1", NOW_MS + DAY_MS), tokenDigest: sha256Hex("the token") });
    });
    const where = [{ field: "token", value: "the token" }];
    const found = await adapter.findOne<Record<string, unknown>>({ model: "session", where });
    expect(found).toMatchObject({
      id: "ses_1",
      userId: "per_1",
      token: "the token",
      expiresAt: new Date(NOW_MS + DAY_MS),
    });
    expect((await storeNow().people.findSession(sha256Hex("the token")))?.person.email).toBe("per_1@example.eu");
    expect(await adapter.consumeOne({ model: "session", where })).toMatchObject({ id: "ses_1" });
    expect(await adapter.consumeOne({ model: "session", where })).toBeNull();
    expect(await storeNow().people.findSession(sha256Hex("the token"))).toBeUndefined();
  });

  test("the library's counts, lists and conditional updates are exact", async () => {
    const adapter = await libraryOn(storeNow());
    await change(storeNow(), (people) => people.addPerson(person("per_1")));
    const factor = { secret: "s", backupCodes: "b", userId: "per_1" };
    const { id } = await adapter.create<Record<string, unknown>, { id: string }>({
      model: "twoFactor",
      data: factor,
    });
    const own = { field: "id", value: id };
    const raised = await adapter.incrementOne<{ failedVerificationCount: number }>({
      model: "twoFactor",
      where: [own],
      increment: { failedVerificationCount: 2 },
    });
    expect(raised?.failedVerificationCount).toBe(2);
    const guarded = await adapter.incrementOne({
      model: "twoFactor",
      where: [own, { field: "failedVerificationCount", operator: "gte", value: 3 }],
      increment: { failedVerificationCount: 1 },
    });
    expect(guarded).toBeNull();
    expect(await adapter.count({ model: "twoFactor", where: [{ field: "lockedUntil", value: null }] })).toBe(1);
    expect(
      await adapter.findMany({ model: "twoFactor", where: [{ field: "id", operator: "in", value: [id, "x"] }] }),
    ).toHaveLength(1);
    expect(await adapter.deleteMany({ model: "twoFactor", where: [{ field: "userId", value: "per_1" }] })).toBe(1);
  });
}

function peopleStoreTests(storeNow: () => Store): void {
  test("PORTAL-01 people are listed newest first, paginated, with their sign-in methods", async () => {
    await change(storeNow(), async (people) => {
      for (const [index, id] of ["per_1", "per_2", "per_3"].entries())
        await people.addPerson(person(id, { operator: index === 0, createdAtMs: NOW_MS + index }));
      await people.setDisabled("per_3", true, NOW_MS);
      await people.addSession(session("ses_1", "per_2", NOW_MS + DAY_MS));
    });
    const { people } = storeNow();
    const first = await people.list(2, null);
    expect(first.rows.map(({ id, disabled, lastSeenAtMs }) => [id, disabled, lastSeenAtMs])).toEqual([
      ["per_3", true, null],
      ["per_2", false, NOW_MS],
    ]);
    const second = await people.list(2, first.next);
    expect([second.rows.map(({ id, hasPassword }) => [id, hasPassword]), second.next]).toEqual([
      [["per_1", true]],
      null,
    ]);
    expect(await people.countOperators()).toBe(1);
    await expect(
      change(storeNow(), (writer) => writer.addPerson(person("per_4", { email: "per_1@example.eu" }))),
    ).rejects.toMatchObject({ failure: "conflict" });
  });

  test("PORTAL-11 a link is used once, by the first; expired ones are removed", async () => {
    const store = storeNow();
    await change(store, async (people) => {
      await people.addPerson(person("per_1"));
      await people.addSession(session("ses_old", "per_1", NOW_MS - 1));
      await people.addSession(session("ses_new", "per_1", NOW_MS + DAY_MS));
      for (const id of ["lnk_1", "lnk_2", "lnk_3"]) await people.addLink(link(id));
    });
    expect(await change(store, (people) => people.consumeLink("lnk_1", NOW_MS))).toBe(true);
    expect(await change(store, (people) => people.consumeLink("lnk_1", NOW_MS))).toBe(false);
    expect(await change(store, (people) => people.consumeLink("lnk_2", NOW_MS + DAY_MS))).toBe(false);
    await change(store, (people) => people.revokeLinks("sign_up", "a@example.eu", null, NOW_MS));
    expect(await change(store, (people) => people.consumeLink("lnk_3", NOW_MS))).toBe(false);
    expect((await store.people.findLink(sha256Hex("lnk_1")))?.usedAtMs).toBe(NOW_MS);
    await store.people.sweep(NOW_MS);
    expect((await store.people.sessions("per_1", 0)).map(({ id }) => id)).toEqual(["ses_new"]);
    expect(await change(store, (people) => people.endOtherSessions("per_1", "ses_new"))).toBe(0);
    expect(await change(store, (people) => people.endSession("per_2", "ses_new"))).toBe(false);
  });
}

function startOverTests(storeNow: () => Store): void {
  test("PORTAL-11 a credential reset ends what others created in a person's name, and nothing else", async () => {
    const store = storeNow();
    const [theirs, others] = [person("per_1"), person("per_2")];
    const invitation = { kind: "invitation", email: theirs.email, usedAtMs: NOW_MS } as const;
    await change(store, async (people) => {
      for (const one of [theirs, others]) {
        await people.addPerson(one);
        await people.addSession(session(`ses_${one.id}`, one.id, NOW_MS + DAY_MS));
      }
      await people.markEmailUnverified("per_1", NOW_MS);
      await people.addLink({ ...link("lnk_accepted"), ...invitation });
      await people.addLink({ ...link("lnk_reset"), kind: "reset", email: theirs.email });
      await people.addLink({ ...link("lnk_made"), kind: "invitation", issuedBy: theirs.email });
      await people.addLink({ ...link("lnk_waiting"), ...invitation, usedAtMs: null });
      await people.addLink({ ...link("lnk_other"), ...invitation, email: others.email });
    });
    expect((await store.people.person("per_1"))?.emailVerified).toBe(false);
    await change(store, (people) => people.resetCredentials(theirs, NOW_MS + 1));
    expect(await store.people.summary("per_1")).toMatchObject({
      emailVerified: true,
      hasPassword: false,
      lastSeenAtMs: null,
    });
    expect(await store.people.summary("per_2")).toMatchObject({ hasPassword: true, lastSeenAtMs: NOW_MS });
    const ended = async (id: string) => (await store.people.findLink(sha256Hex(id)))?.revokedAtMs;
    for (const id of ["lnk_accepted", "lnk_reset", "lnk_made"]) expect(await ended(id), id).toBe(NOW_MS + 1);
    for (const id of ["lnk_waiting", "lnk_other"]) expect(await ended(id), id).toBe(null);
  });
}

function forgettingTests(storeNow: () => Store): void {
  test("PORTAL-11 pending devices and reset links end independently, for one person only", async () => {
    const adapter = await libraryOn(storeNow());
    const later = new Date(NOW_MS + DAY_MS);
    for (const userId of ["per_1", "per_2"]) {
      const code = { deviceCode: `device of ${userId}`, userCode: `code of ${userId}`, userId, status: "approved" };
      await adapter.create({ model: "deviceCode", data: { ...code, expiresAt: later } });
      for (const identifier of [`trusted ${userId}`, `${RESET_IDENTIFIER_PREFIX}${userId}`])
        await adapter.create({
          model: "verification",
          data: { identifier, value: userId, expiresAt: later, createdAt: later, updatedAt: later },
        });
    }
    const left = async (value: string) => [
      await adapter.count({ model: "deviceCode", where: [{ field: "userId", value }] }),
      (await adapter.findMany<{ identifier: string }>({ model: "verification", where: [{ field: "value", value }] }))
        .map(({ identifier }) => identifier)
        .toSorted(),
    ];
    await change(storeNow(), (writer) => writer.dropSecondFactor("per_1", NOW_MS));
    expect(await left("per_1")).toEqual([0, ["reset:per_1"]]);
    await change(storeNow(), (writer) => writer.setDisabled("per_1", true, NOW_MS));
    expect(await left("per_1")).toEqual([0, []]);
    expect(await left("per_2")).toEqual([1, ["reset:per_2", "trusted per_2"]]);
    await change(storeNow(), (writer) => writer.resetCredentials(person("per_2"), NOW_MS));
    expect(await left("per_2")).toEqual([0, []]);
  });
}

function laterTests(storeNow: () => Store): void {
  test("PORTAL-11 what began after a session: the person's later sessions and pending items", async () => {
    const store = storeNow();
    const at = (ms: number) => ({ createdAtMs: NOW_MS + ms });
    await change(store, async (people) => {
      for (const id of ["per_1", "per_2"]) await people.addPerson(person(id));
      const end = NOW_MS + DAY_MS;
      await people.addSession({ ...session("ses_old", "per_1", end), ...at(-1) });
      for (const id of ["ses_own", "ses_beside"]) await people.addSession(session(id, "per_1", end));
      await people.addSession({ ...session("ses_new", "per_1", end), ...at(1) });
      await people.addSession({ ...session("ses_over", "per_1", NOW_MS + 2), ...at(1) });
      await people.addSession({ ...session("ses_theirs", "per_2", end), ...at(1) });
      await people.addPasswordReset("aut_reset", "per_1", `${RESET_IDENTIFIER_PREFIX}one`, NOW_MS + 1, end);
    });
    const adapter = await libraryOn(store);
    const wait = async (id: string, ms: number, untilMs: number) => {
      const [time, expiresAt] = [new Date(NOW_MS + ms), new Date(NOW_MS + untilMs)];
      const data = { id, identifier: id, value: "per_1", expiresAt, createdAt: time, updatedAt: time };
      await adapter.create({ model: "verification", data, forceAllowId: true });
    };
    for (const ms of [-1, 0, 1]) await wait(`aut_${ms}`, ms, 600_000);
    await wait("aut_over", 1, 2);
    // No pending sign-in: a trusted device, which needs no code for a while.
    await wait("aut_trusted", 1, 30 * DAY_MS);
    const after = (id: string) => change(store, (people) => people.startedAfter("per_1", id, NOW_MS + 2));
    expect(await after("ses_own")).toEqual({ sessions: ["ses_new"], codes: ["aut_1"] });
    expect(await after("ses_new")).toEqual({ sessions: [], codes: [] });
  });
}

function erasingTests(storeNow: () => Store): void {
  test("PORTAL-11 erasure leaves the id and removes all sign-in data of one person only", async () => {
    const store = storeNow();
    const adapter = await libraryOn(store);
    const tables = Object.entries(getAuthTables(OPTIONS)).filter(([, { fields }]) => "userId" in fields);
    expect(tables).toHaveLength(5);
    for (const id of ["per_1", "per_2"]) {
      await change(store, (people) => people.addPerson(person(id, { operator: true })));
      for (const [model, { fields }] of tables) {
        const named = Object.entries(valuesOf(fields, id)).map(([name, value]) => [
          name,
          `${value}`.startsWith("a ") ? `${value} of ${id}` : value,
        ]);
        await adapter.create({ model, data: Object.fromEntries(named) });
      }
      await adapter.update({ model: "user", where: [{ field: "id", value: id }], update: { image: "a face" } });
      const toThem = { email: `${id}@example.eu`, issuedBy: "operator" };
      await change(store, (people) => people.addLink({ ...link(`lnk_to_${id}`), ...toThem }));
      await change(store, (people) => people.addLink({ ...link(`lnk_used_${id}`), ...toThem, usedAtMs: NOW_MS }));
      await change(store, (people) => people.addLink({ ...link(`lnk_by_${id}`), issuedBy: `${id}@example.eu` }));
    }
    const waysOf = (id: string) =>
      Promise.all(tables.map(([model]) => adapter.count({ model, where: [{ field: "userId", value: id }] })));
    const linksOf = async (id: string) =>
      (
        await Promise.all(["to", "used", "by"].map((kind) => store.people.findLink(sha256Hex(`lnk_${kind}_${id}`))))
      ).map((one) => [one?.email, one?.issuedBy, one?.usedAtMs, one?.revokedAtMs]);
    const others = [await store.people.summary("per_2"), await waysOf("per_2"), await linksOf("per_2")];

    const erase = async () => {
      const { email = "" } = (await store.people.person("per_1")) ?? {};
      await change(store, (people) => people.erase({ id: "per_1", email }, NOW_MS + DAY_MS));
    };
    await erase();
    const left = [await store.people.summary("per_1"), await waysOf("per_1"), await linksOf("per_1")];
    const erased = "erased-per_1@erased.invalid";
    expect(left).toEqual([
      {
        ...{
          id: "per_1",
          email: erased,
          name: "Erased",
          operator: false,
          disabled: true,
          emailVerified: false,
        },
        ...{ createdAtMs: NOW_MS, twoFactor: false, passkeys: 0, hasPassword: false, lastSeenAtMs: null },
      },
      tables.map(() => 0),
      [
        [erased, "operator", null, NOW_MS + DAY_MS],
        [erased, "operator", NOW_MS, null],
        ["a@example.eu", erased, null, null],
      ],
    ]);
    const row = await adapter.findOne<Record<string, unknown>>({
      model: "user",
      where: [{ field: "id", value: "per_1" }],
    });
    expect(row?.["image"]).toBeNull();
    expect([await store.people.summary("per_2"), await waysOf("per_2"), await linksOf("per_2")]).toEqual(others);
    await erase();
    expect([await store.people.summary("per_1"), await waysOf("per_1"), await linksOf("per_1")]).toEqual(left);
    await change(store, (people) => people.addPerson(person("per_3", { email: "per_1@example.eu" })));
  });

  test("PORTAL-11 nodes and provider keys no longer name an erased person, per workspace", async () => {
    const store = storeNow();
    const erasedPerson = { id: "per_1", email: "per_1@example.eu" };
    await withWorkspaces(store);
    const [erased, other] = ["erased-per_1@erased.invalid", "per_2@example.eu"];
    const times = { createdAtMs: NOW_MS, changedAtMs: NOW_MS };
    const kept = { ...times, kind: "key", hint: null, fingerprint: "4bf5122f" } as const;
    const made = { ...times, country: "DE", mapping: {}, surfaces: {}, attestations: [], lastSeenAtMs: null };
    const theirs = [
      ["ws_1", "mistral", erasedPerson.email],
      ["ws_2", "mistral", erasedPerson.email],
      ["ws_2", "openai", other],
    ] as const;
    for (const [at, [workspaceId, provider, by]] of theirs.entries()) {
      const own = { ...kept, workspaceId, provider, use: "first", result: "untried", testedAtMs: null } as const;
      await store.ownKeys.save({ ...own, changedBy: by }, Buffer.from([1]));
      const node = { ...made, id: `node_${at}`, workspaceId, name: `rack-${at}`, digest: sha256Hex(`${at}`) };
      await store.nodes.save({ ...node, createdBy: by });
    }
    await store.platformKeys.save({ ...kept, provider: "nebius", changedBy: erasedPerson.email }, Buffer.from([1]));
    const named = async () => [
      ...(await store.nodes.loadAll()).map(({ createdBy }) => createdBy),
      ...(await store.ownKeys.all()).map(({ key }) => key.changedBy),
      ...(await store.platformKeys.all()).map(({ key }) => key.changedBy),
    ];
    expect((await store.people.workspacesReferencing(erasedPerson.email)).toSorted()).toEqual(["ws_1", "ws_2"]);
    await change(store, (people) => people.eraseReferences("ws_1", erasedPerson));
    expect(await named()).toEqual([
      erased,
      erasedPerson.email,
      other,
      erased,
      erasedPerson.email,
      other,
      erasedPerson.email,
    ]);
    expect(await store.people.workspacesReferencing(erasedPerson.email)).toEqual(["ws_2"]);
    await change(store, (people) => people.eraseReferences("ws_2", erasedPerson));
    await change(store, (people) => people.erase(erasedPerson, NOW_MS));
    expect(await named()).toEqual([erased, erased, other, erased, erased, other, erased]);
  });
}

function codeTests(storeNow: () => Store): void {
  test("PORTAL-11 a code is valid once, also under concurrency, and separately per person", async () => {
    const { people } = storeNow();
    const use = (userId: string, code: string, atMs = NOW_MS) => people.consumeCode(userId, code, atMs, atMs + 1000);
    const tries = await Promise.all(Array.from({ length: 8 }, () => use("per_1", "123456")));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect([await use("per_2", "123456"), await use("per_1", "654321")]).toEqual([true, true]);
    await change(storeNow(), (writer) => writer.endSessions("per_1"));
    expect(await use("per_1", "123456", NOW_MS + 999)).toBe(false);
    expect(await use("per_1", "123456", NOW_MS + 1000)).toBe(true);
    expect(await use("per_1", "123456", NOW_MS + 1001)).toBe(false);
    await people.sweep(NOW_MS + DAY_MS);
    expect(await use("per_1", "123456", NOW_MS + 1002)).toBe(true);
  });
}
