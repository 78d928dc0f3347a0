import { expect, test } from "vitest";
import { MasterKeyRotation, type RotationDeps } from "../../src/app/manage/operation/master-key-rotation.ts";
import type { DataKeyStore } from "../../src/domain/tenancy/vault.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { checkMasterKeys, openVault } from "../../src/io/vault.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { systemTimers } from "../../src/kit/timers.ts";

const OLD = Buffer.alloc(32, 5);
const NEW = Buffer.alloc(32, 6);
const idOf = (key: Buffer) => new MasterKeys(key).current.id;

const slotOf = (workspace: number) => ({ workspaceId: `ws_${workspace}`, column: "c", row: "r" });

/** Opens and seals with these keys; a rotation that works on the same store. */
export function openVaultFixture(
  store: Pick<Store, "dataKeys" | "change">,
  keys: MasterKeys,
  more: Partial<RotationDeps> = {},
) {
  const vault = openVault(keys, store.dataKeys);
  const rotation = new MasterKeyRotation({
    ...{ keys, file: null, retiringKeyId: undefined, store, vault, warn: () => undefined, clock: systemClock },
    ...{ ids: createIdGenerator(() => systemClock.nowMs()), timers: systemTimers },
    ...more,
  });
  return { vault, rotation };
}

async function sealedBy(store: Store, keys: MasterKeys, workspaces: number): Promise<Uint8Array[]> {
  const { vault } = openVaultFixture(store, keys);
  const all = Array.from({ length: workspaces }, (_, at) => vault.seal(slotOf(at), `secret ${at}`));
  return Promise.all(all);
}

async function opensAll(store: Store, keys: MasterKeys, sealed: readonly Uint8Array[]): Promise<void> {
  const { vault } = openVaultFixture(store, keys);
  const texts = await Promise.all(sealed.map((bytes, at) => vault.open(slotOf(at), bytes)));
  expect(texts).toEqual(sealed.map((_, at) => `secret ${at}`));
}

async function rewrapLines(store: Store) {
  const { rows } = await store.audit.list({ action: "master_key.rewrap" }, 1000, null);
  return rows.map(({ actor, detail, target, workspaceId }) => ({ actor, detail, target, workspaceId }));
}

/** A master key rotation, on every engine. */
export function masterKeyTests(store: () => Store, change: (...statements: string[]) => Promise<void>): void {
  test("LOG-03 a new master key rewraps all data keys under concurrent use, and then suffices alone", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 230);
    // Another gateway that has not rotated yet, and can read what the new key wraps.
    const other = openVaultFixture(store(), new MasterKeys(OLD, [NEW]));
    const { rotation } = openVaultFixture(store(), new MasterKeys(NEW, [OLD]));
    let done = false;
    const finished = rotation.finish().then(() => {
      done = true;
    });
    for (let at = 0; !done; at += 1) {
      const fresh = openVaultFixture(
        store(),
        at % 2 === 0 ? new MasterKeys(OLD, [NEW]) : new MasterKeys(NEW, [OLD]),
      ).vault;
      const workspace = at % sealed.length;
      expect(await fresh.open(slotOf(workspace), sealed[workspace] ?? new Uint8Array())).toBe(`secret ${workspace}`);
    }
    await finished;
    const late = await other.vault.seal(slotOf(1000), "late");
    expect(rotation.state).toMatchObject({ state: "idle", rewrapped: 230 });
    expect(await rotation.usage()).toEqual([
      { id: idOf(NEW), role: "current", dataKeys: 230 },
      { id: idOf(OLD), role: "previous", dataKeys: 1 },
    ]);
    await rotation.finish();
    expect(await store().dataKeys.counts()).toEqual([{ masterKey: idOf(NEW), dataKeys: 231 }]);
    await opensAll(store(), new MasterKeys(NEW), sealed);
    expect(await openVaultFixture(store(), new MasterKeys(NEW)).vault.open(slotOf(1000), late)).toBe("late");
    const line = (dataKeys: number) => ({
      actor: "gateway",
      detail: { from: [idOf(OLD)], to: idOf(NEW), data_keys: dataKeys },
      target: idOf(NEW),
      workspaceId: null,
    });
    expect(await rewrapLines(store())).toEqual([line(1), line(30), line(100), line(100)]);
  });

  test("LOG-03 a gateway with the old master key alone names the missing one, at start and at each secret", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 2);
    await openVaultFixture(store(), new MasterKeys(NEW, [OLD])).rotation.finish();
    const behind = openVaultFixture(store(), new MasterKeys(OLD));
    const says = `cannot be decrypted with the master keys of this gateway (${idOf(OLD)}): it is wrapped by ${idOf(NEW)}`;
    await expect(checkMasterKeys(new MasterKeys(OLD), store().dataKeys)).rejects.toThrow(says);
    await expect(behind.vault.open(slotOf(1), sealed[1] ?? new Uint8Array())).rejects.toThrow(says);
    expect(await behind.rotation.usage()).toEqual([
      { id: idOf(OLD), role: "current", dataKeys: 0 },
      { id: idOf(NEW), role: "missing", dataKeys: 2 },
    ]);
    await behind.rotation.finish();
    expect(behind.rotation.state).toMatchObject({ state: "failed", rewrapped: 0 });
    await opensAll(store(), new MasterKeys(NEW), sealed);
  });

  test("LOG-03 data keys without a stored key id open with any of the keys, and get their id", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 3);
    await change("update data_keys set master_key = null");
    await checkMasterKeys(new MasterKeys(NEW, [OLD]), store().dataKeys);
    await expect(checkMasterKeys(new MasterKeys(NEW), store().dataKeys)).rejects.toThrow("GATEWAY_MASTER_KEY");
    await opensAll(store(), new MasterKeys(NEW, [OLD]), sealed);
    const { rotation } = openVaultFixture(store(), new MasterKeys(NEW, [OLD]));
    expect((await rotation.usage()).at(-1)).toEqual({ id: null, role: "unknown", dataKeys: 3 });
    await rotation.finish();
    expect(await store().dataKeys.counts()).toEqual([{ masterKey: idOf(NEW), dataKeys: 3 }]);
    await opensAll(store(), new MasterKeys(NEW), sealed);
  });

  test("LOG-03 two concurrent rotations wrap each data key once", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 150);
    const both = [1, 2].map(() => openVaultFixture(store(), new MasterKeys(NEW, [OLD])).rotation);
    await Promise.all(both.map((one) => one.finish()));
    expect(both.map(({ state }) => state.state)).toEqual(["idle", "idle"]);
    expect(both.reduce((sum, { state }) => sum + state.rewrapped, 0)).toBe(150);
    await opensAll(store(), new MasterKeys(NEW), sealed);
  });
  ownFileTests(store, change);
}

/** The gateway keeps the master key in a file itself. */
function ownFileTests(store: () => Store, change: (...statements: string[]) => Promise<void>): void {
  test("LOG-03 a data key that cannot be opened stops no other, and keeps the old master key on disk", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 3);
    await change("update data_keys set workspace_id = 'ws_moved' where workspace_id = 'ws_1'");
    const keys = new MasterKeys(OLD);
    const done: string[] = [];
    const file = {
      stageNext: async () => NEW,
      discardNext: async () => void done.push("abandon"),
      promoteNext: async () => void done.push("finish"),
    };
    const { rotation } = openVaultFixture(store(), keys, { file });
    await rotation.rotate();
    expect(rotation.state).toMatchObject({ state: "failed", rewrapped: 2 });
    expect(rotation.state.problem).toContain(
      "data keys that cannot be decrypted: 1, such as the data key of workspace ws_moved",
    );
    expect(done).toEqual([]);
    expect(keys.current.id).toBe(idOf(NEW));
    expect(await openVaultFixture(store(), keys).vault.open(slotOf(2), sealed[2] ?? new Uint8Array())).toBe("secret 2");
    // No third key: the rotation that was begun finishes first.
    const before = await store().dataKeys.find("ws_moved");
    if (before === undefined) throw new Error("the data key has gone");
    const after = new MasterKeys(OLD).wrap("ws_moved", Buffer.alloc(32));
    await store().change(async ({ dataKeys }) => ({ result: await dataKeys.rewrap([{ before, after }]), audit: null }));
    const again = openVaultFixture(store(), keys, { file, retiringKeyId: idOf(OLD) }).rotation;
    await again.rotate();
    expect([keys.current.id, keys.previous, done]).toEqual([idOf(NEW), [], ["finish"]]);
  });

  test("LOG-03 waits for a data key in flight with the old master key", async () => {
    const keys = new MasterKeys(OLD);
    const way = Promise.withResolvers<void>();
    const real = store();
    const slow: DataKeyStore = {
      ...real.dataKeys,
      async add(key) {
        await way.promise;
        return real.dataKeys.add(key);
      },
    };
    const vault = openVault(keys, slow);
    const sealing = vault.seal(slotOf(0), "secret 0");
    await real.dataKeys.find("ws_0");
    const file = { stageNext: async () => NEW, discardNext: async () => undefined, promoteNext: async () => undefined };
    const { rotation } = openVaultFixture(real, keys, { file, vault });
    const rotated = rotation.rotate();
    while (keys.current.id === idOf(OLD)) await real.ping();
    way.resolve();
    await rotated;
    expect(await real.dataKeys.counts()).toEqual([{ masterKey: idOf(NEW), dataKeys: 1 }]);
    await opensAll(real, new MasterKeys(NEW), [await sealing]);
  });

  test("LOG-03 a rotation whose audit line cannot be written changes nothing", async () => {
    const sealed = await sealedBy(store(), new MasterKeys(OLD), 1);
    const keys = new MasterKeys(OLD);
    const done: string[] = [];
    const file = {
      stageNext: async () => NEW,
      discardNext: async () => void done.push("abandon"),
      promoteNext: async () => void done.push("finish"),
    };
    const away = { dataKeys: store().dataKeys, change: () => Promise.reject(new Error("the store is away")) };
    const { rotation } = openVaultFixture(away, keys, { file });
    await rotation.rotate();
    expect(rotation.state).toMatchObject({ state: "failed", problem: "the store is away" });
    expect([keys.current.id, done]).toEqual([idOf(OLD), ["abandon"]]);
    await opensAll(store(), new MasterKeys(OLD), sealed);
  });
}
