import { getAuthTables } from "better-auth/db";
import { expect, test } from "vitest";
import { type PeopleWriter, RESET_IDENTIFIER_PREFIX } from "../../src/domain/tenancy/person.ts";
import type { RequiredCredential } from "../../src/io/store/sql/auth-adapter.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { change, DAY_MS, libraryOn, NOW_MS, OPTIONS, person, session, valuesOf } from "./people-rows.ts";

/** Actions that revoke a sign-in credential. */
const ENDINGS: readonly [string, (people: PeopleWriter) => Promise<unknown>][] = [
  ["starts over", (people) => people.resetCredentials(person("per_1"), NOW_MS)],
  ["is disabled", (people) => people.setDisabled("per_1", true, NOW_MS)],
  ["loses the second factor", (people) => people.dropSecondFactor("per_1", NOW_MS)],
  ["loses all sessions", (people) => people.endSessions("per_1")],
  ["loses all sessions but one", (people) => people.endOtherSessions("per_1", "ses_other")],
  ["loses one session", (people) => people.endSession("per_1", "ses_1")],
  ["changes the password", (people) => people.changePassword("per_1", "$new", 0, NOW_MS)],
  ["sets a password by a link", (people) => people.resetPassword("per_1", "reset:none", "$new", NOW_MS)],
  ["is erased", (people) => people.erase(person("per_1"), NOW_MS)],
];

/** Account writes in flight while a sign-in credential is revoked. */
export function epochTests(storeNow: () => Store): void {
  const models = Object.entries(getAuthTables(OPTIONS)).filter(
    ([model, { fields }]) => "userId" in fields || model === "verification",
  );
  const rowOf = (model: string, id: string) => {
    const values = valuesOf(getAuthTables(OPTIONS)[model]?.fields ?? {}, id);
    const named = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" && value.startsWith("a ") ? `${value} of ${id}` : value,
    ]);
    return { ...Object.fromEntries(named), ...(model === "verification" ? { value: id } : {}) };
  };
  const some = async () => {
    const store = storeNow();
    await change(store, async (people) => {
      for (const id of ["per_1", "per_2"]) await people.addPerson({ ...person(id), passwordHash: null });
      await people.addSession(session("ses_1", "per_1", NOW_MS + DAY_MS));
    });
    return store;
  };

  test.each(ENDINGS)("PORTAL-11 write nothing for a person who %s meanwhile, and do for all others", async (_, end) => {
    const store = await some();
    expect(await store.people.epoch()).toBe(0);
    const adapter = await libraryOn(store, 0);
    await change(store, end);
    expect(await store.people.epoch()).toBe(1);
    const later = await libraryOn(store, 1);
    for (const [model] of models) {
      await expect(adapter.create({ model, data: rowOf(model, "per_1") }), model).rejects.toThrow("too late");
      await adapter.create({ model, data: rowOf(model, "per_2") });
      await later.create({ model, data: rowOf(model, "per_1") });
      const field = model === "verification" ? "value" : "userId";
      const where = [{ field, value: "per_1" }];
      const there = await later.count({ model, where });
      const update = model === "verification" ? { identifier: "other" } : { userId: "per_1" };
      await expect(adapter.update({ model, where, update }), model).rejects.toThrow("too late");
      await expect(adapter.updateMany({ model, where, update }), model).rejects.toThrow("too late");
      // A row of another person is not reassigned either.
      const theirs = [{ field, value: "per_2" }];
      await expect(adapter.update({ model, where: theirs, update: { [field]: "per_1" } })).rejects.toThrow("too late");
      expect(await adapter.updateMany({ model, where: theirs, update: { [field]: "per_2" } })).toBe(1);
      if (model !== "verification") await expect(adapter.deleteMany({ model, where })).rejects.toThrow("too late");
      expect(await adapter.deleteMany({ model, where: theirs })).toBe(1);
      expect(await later.count({ model, where }), model).toBe(there);
    }
    // A session can be ended at any time.
    await adapter.delete({ model: "session", where: [{ field: "userId", value: "per_1" }] });
    expect(await store.people.sessions("per_1", 0)).toEqual([]);
    const own = [{ field: "id", value: "per_1" }];
    const update = { twoFactorEnabled: true };
    await expect(adapter.update({ model: "user", where: own, update })).rejects.toThrow("too late");
    const where = [{ field: "userId", value: "per_1" }];
    const increment = { failedVerificationCount: 1 };
    await expect(adapter.incrementOne({ model: "twoFactor", where, increment })).rejects.toThrow("too late");
    expect(await later.update({ model: "user", where: own, update })).toMatchObject(update);
    expect(await later.update({ model: "session", where: [{ field: "id", value: "none" }], update: {} })).toBeNull();
  });

  test("PORTAL-11 wait for an epoch about to begin, and a new epoch removes what they have written", async () => {
    const store = await some();
    const adapter = await libraryOn(store, 0);
    const begin = (id: string) => adapter.create({ model: "session", data: rowOf("session", id) });
    const pending: Promise<unknown>[] = [];
    await store.change(async ({ people }) => {
      await people.endSessions("per_1");
      pending.push(...[begin("per_1"), begin("per_2")].map((one) => one.catch((error: Error) => error.message)));
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { result: null, audit: null };
    });
    expect(await Promise.all(pending)).toEqual(["too late", expect.objectContaining({ userId: "per_2" })]);
    const ends = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) => [
        adapter.create({ model: "session", data: { ...rowOf("session", "per_2"), token: `token ${at}` } }),
        change(store, (people) => people.endSessions("per_2")),
      ]).flat(),
    );
    expect(ends.filter(({ status }, at) => at % 2 === 1 && status === "fulfilled")).toHaveLength(10);
    expect(await store.people.sessions("per_2", 0)).toEqual([]);
    // An epoch's number is unique over all people.
    const others = Array.from({ length: 10 }, (_, at) => `per_other_${at}`);
    await change(store, async (people) => {
      for (const id of others) await people.addPerson(person(id));
    });
    await Promise.all(others.map((id) => change(store, (people) => people.endSessions(id))));
    expect(await store.people.epoch()).toBe(1 + 10 + others.length);
  });

  test("PORTAL-11 write as usual where nothing is revoked", async () => {
    const store = await some();
    const adapter = await libraryOn(store, 0);
    const others = () => change(store, (people) => people.endOtherSessions("per_1", "ses_1"));
    expect([await others(), await change(store, (people) => people.endSession("per_1", "ses_none"))]).toEqual([
      0,
      false,
    ]);
    const held = (userId: string) => change(store, (people) => people.lockSession(userId, "ses_1"));
    expect([await held("per_1"), await held("per_2"), await store.people.epoch()]).toEqual([true, false, 0]);
    const [ended] = await Promise.all([
      others(),
      adapter.create({ model: "session", data: rowOf("session", "per_1") }).catch(() => undefined),
    ]);
    // Before or after it: what ends begins an epoch, and the rest stays.
    expect(await store.people.epoch()).toBe(ended);
    expect(await store.people.sessions("per_1", 0)).toHaveLength(2 - ended);
    const later = await libraryOn(store, ended);
    await later.create({ model: "deviceCode", data: rowOf("deviceCode", "per_1") });
    expect([await others(), await store.people.epoch()]).toEqual([1 - ended, ended + 1]);
    await (await libraryOn(store, 2)).create({ model: "deviceCode", data: rowOf("deviceCode", "per_1") });
    expect(await change(store, (people) => people.endSession("per_1", "ses_1"))).toBe(true);
    expect(await later.count({ model: "deviceCode" })).toBe(0);
  });

  test("PORTAL-11 create a session by passkey, and a passkey by session, only while that exists, after waiting for its removal", async () => {
    const store = await some();
    const library = await libraryOn(store);
    const { id } = await library.create({ model: "passkey", data: rowOf("passkey", "per_1") });
    const passkey = { model: "passkey", field: "id", value: id, writes: "session" } as const;
    const session = { model: "session", field: "id", value: "ses_1", writes: "passkey" } as const;
    let number = 0;
    const made = async (by: RequiredCredential, model = by.writes) => {
      number += 1;
      const secret = { passkey: "credentialID", session: "token" }[model] ?? "deviceCode";
      const data = { ...rowOf(model, "per_1"), [secret]: `number ${number}` };
      const making = (await libraryOn(store, 0, by)).create({ model, data });
      return making.then(
        () => "made",
        (error: Error) => error.message,
      );
    };
    expect([await made(passkey), await made(session)]).toEqual(["made", "made"]);
    const sessions = await store.people.sessions("per_1", 0);
    await library.delete({ model: "passkey", where: [{ field: "id", value: id }] });
    expect(await made(passkey)).toBe("too late");
    // Nothing else that it creates depends on it.
    expect(await made(passkey, "deviceCode")).toBe("made");
    expect(await store.people.sessions("per_1", 0)).toEqual(sessions);
    const allowed = async () => {
      const where = [{ field: "userId", value: "per_1" }];
      const allowing = await libraryOn(store, 0, { ...session, writes: "deviceCode" });
      return allowing.update({ model: "deviceCode", where, update: { status: "approved" } }).then(
        () => "allowed",
        (error: Error) => error.message,
      );
    };
    expect(await allowed()).toBe("allowed");
    const end = () => library.delete({ model: "session", where: [{ field: "id", value: "ses_1" }] });
    const moment = () => new Promise<"not yet">((resolve) => setTimeout(() => resolve("not yet"), 100));
    // A write that waits for its person sees what ended meanwhile, if possible.
    const pending: Promise<unknown>[] = [];
    const ended = await store.change(async ({ people }) => {
      await people.lockSession("per_1", "ses_1");
      pending.push(made(session));
      await moment();
      pending.push(end());
      return { result: await Promise.race([pending[1], moment()]), audit: null };
    });
    const [outcome] = await Promise.all(pending);
    if (ended !== "not yet") expect(outcome).toBe("too late");
    expect([await made(session), await allowed()]).toEqual(["too late", "too late"]);
  });

  test("PORTAL-11 a second factor is switched atomically, by an existing session, in the newest epoch", async () => {
    const store = await some();
    const library = await libraryOn(store);
    const where = [{ field: "userId", value: "per_1" }];
    const add = (secret: string) =>
      library.create({ model: "twoFactor", data: { ...rowOf("twoFactor", "per_1"), secret, verified: false } });
    const factor = () => library.findOne({ model: "twoFactor", where });
    const isOn = async () => (await store.people.person("per_1"))?.twoFactor;
    // Of two that are added concurrently one exists.
    await Promise.all([add("one"), add("another")]);
    await add("the last");
    expect([await library.count({ model: "twoFactor", where }), await factor()]).toMatchObject([
      1,
      { secret: "the last", verified: false },
    ]);
    const confirm = (secret: string) => change(store, (people) => people.confirmSecondFactor("per_1", secret, NOW_MS));
    expect([await confirm("one"), await isOn()]).toEqual([undefined, false]);
    expect(await confirm("the last")).toBe(1);
    await expect(add("one too many")).rejects.toThrow("too late");
    expect([await isOn(), await factor()]).toMatchObject([true, { secret: "the last", verified: true }]);
    expect(await change(store, (people) => people.dropSecondFactor("per_1", NOW_MS))).toBe(2);
    expect([await isOn(), await factor()]).toEqual([false, null]);
    const held = (asOf: number) => change(store, (people) => people.lockSession("per_1", "ses_1", asOf));
    expect([await held(0), await held(2)]).toEqual([false, true]);
  });

  test("PORTAL-11 change no password after another was set, and a used link sets none", async () => {
    const store = await some();
    const set = (asOf: number) => change(store, (people) => people.changePassword("per_1", `$${asOf}`, asOf, NOW_MS));
    expect([await set(0), await set(0), await set(1)]).toEqual([1, undefined, 2]);
    const kept = `${RESET_IDENTIFIER_PREFIX}one`;
    await change(store, (people) => people.addPasswordReset("aut_1", "per_2", kept, NOW_MS, NOW_MS + DAY_MS));
    expect([
      await store.people.findPendingUser(kept, NOW_MS),
      await store.people.findPendingUser(kept, NOW_MS + DAY_MS),
    ]).toEqual(["per_2", undefined]);
    const reset = (id: string, nowMs = NOW_MS) =>
      store.change(async ({ people }) => {
        if (!(await people.resetPassword(id, kept, "$by link", nowMs))) throw new Error("undone");
        return { result: "set", audit: null };
      });
    await expect(reset("per_1")).rejects.toThrow("undone");
    await expect(reset("per_2", NOW_MS + DAY_MS)).rejects.toThrow("undone");
    expect(await reset("per_2")).toBe("set");
    await expect(reset("per_2")).rejects.toThrow("undone");
    const adapter = await libraryOn(store);
    const passwords = await adapter.findMany<{ password: string }>({ model: "account" });
    expect(passwords.map(({ password }) => password).toSorted()).toEqual(["$1", "$by link"]);
  });
}
