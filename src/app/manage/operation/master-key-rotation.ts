import type { AuditEntry } from "../../../domain/record/audit.ts";
import type { DataKeyRewrap, DataKeyStore, WrappedKey, WrappedKeyCount } from "../../../domain/tenancy/vault.ts";
import type { MasterKeyFile } from "../../../io/master-key-file.ts";
import { type MasterKeys, masterKeyOf } from "../../../io/master-keys.ts";
import type { SharedMasterKeys } from "../../../io/shared-master-keys.ts";
import type { Store } from "../../../io/store/sql/store.ts";
import type { OpenVault } from "../../../io/vault.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { IdGenerator } from "../../../kit/id-generator.ts";
import type { Log } from "../../../kit/log.ts";
import type { Timers } from "../../../kit/timers.ts";

/** Data keys per transaction; concurrent writers wait for one batch at most. */
const BATCH_KEYS = 100;

/** Pause between transactions, for other users of the store. */
const PAUSE_MS = 10;

const NAMED_MAX = 5;

export type RotationDeps = {
  readonly keys: MasterKeys;
  /** Null: the master key is a setting, and the operator provides new ones. */
  readonly file: Pick<MasterKeyFile, "stageNext" | "discardNext" | "promoteNext"> | null;
  /** The previous key in the file, if an earlier rotation did not complete. */
  readonly retiringKeyId: string | undefined;
  /** Present if other processes use the same file. */
  readonly shared?: SharedMasterKeys | undefined;
  readonly store: { readonly dataKeys: DataKeyStore; change: Store["change"] };
  readonly vault: Pick<OpenVault, "pendingKeysStored">;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly timers: Timers;
  readonly warn: Log["warn"];
};

/** The state of the last run. */
export type RotationState = {
  readonly state: "idle" | "running" | "failed";
  readonly rewrapped: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly problem: string | null;
};

export type MasterKeyUsage = {
  /** Null: wrapped before ids were stored. */
  readonly id: string | null;
  readonly role: "current" | "previous" | "missing" | "unknown";
  readonly dataKeys: number;
};

/** Rewraps all data keys with the current master key in batches; the vault can decrypt throughout. */
export class MasterKeyRotation {
  readonly #deps: RotationDeps;
  #state: RotationState = { state: "idle", rewrapped: 0, startedAtMs: null, endedAtMs: null, problem: null };
  #last: Promise<void> = Promise.resolve();
  #rotating: Promise<void> | undefined;
  #stopped = false;
  #retiringKeyId: string | undefined;

  constructor(deps: RotationDeps) {
    this.#deps = deps;
    this.#retiringKeyId = deps.retiringKeyId;
  }

  get source(): "file" | "setting" {
    return this.#deps.file === null ? "setting" : "file";
  }

  get state(): RotationState {
    return this.#state;
  }

  async usage(): Promise<MasterKeyUsage[]> {
    const { keys, store, shared } = this.#deps;
    await shared?.reload();
    const counts = await store.dataKeys.counts();
    const countOf = (id: string) => counts.find(({ masterKey }) => masterKey === id)?.dataKeys ?? 0;
    const own: MasterKeyUsage[] = [keys.current, ...keys.previous].map(({ id }) => ({
      id,
      role: id === keys.current.id ? "current" : "previous",
      dataKeys: countOf(id),
    }));
    return [
      ...own,
      ...counts.filter(({ masterKey }) => masterKey === null || !keys.find(masterKey)).map(unknownKeyUsage),
    ];
  }

  /** Creates a new key if the gateway manages it, then rewraps all data keys. Concurrent calls share one run. */
  rotate(): Promise<void> {
    this.#rotating ??= this.#enqueue("operator", () =>
      this.#step(async () => {
        // An incomplete rotation is completed before the next one starts.
        if (this.#deps.file !== null && this.#retiringKeyId === undefined) await this.#begin(this.#deps.file);
      }),
    ).finally(() => {
      this.#rotating = undefined;
    });
    return this.#rotating;
  }

  /** Completes the rotation of an earlier process or of a changed setting. */
  finish(): Promise<void> {
    return this.#enqueue("gateway", async () => undefined);
  }

  /** Runs again after a failure. */
  async retry(): Promise<void> {
    if (this.#state.state === "failed") await this.finish();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#last;
  }

  #enqueue(actor: string, prepare: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => (this.#stopped ? undefined : this.#run(actor, prepare)));
    return this.#last;
  }

  async #run(actor: string, prepare: () => Promise<void>): Promise<void> {
    const { clock, warn } = this.#deps;
    this.#state = { state: "running", rewrapped: 0, startedAtMs: clock.nowMs(), endedAtMs: null, problem: null };
    try {
      await prepare();
      await this.#rewrapAll(actor);
      if (!this.#stopped) await this.#step(() => this.#retire());
      this.#state = { ...this.#state, state: "idle", endedAtMs: clock.nowMs() };
    } catch (error) {
      const problem = error instanceof Error ? error.message : "it failed";
      this.#state = { ...this.#state, state: "failed", endedAtMs: clock.nowMs(), problem };
      warn({ err: error }, "master-key: rewrap incomplete, will be retried");
    }
  }

  /** Other processes may have started or completed a rotation since the previous step. */
  #step<T>(work: () => Promise<T>): Promise<T> {
    const { shared } = this.#deps;
    if (shared === undefined) return work();
    return shared.withCurrentKeys((leaving) => {
      this.#retiringKeyId = leaving;
      return work();
    });
  }

  async #begin(file: NonNullable<RotationDeps["file"]>): Promise<void> {
    const { keys, store } = this.#deps;
    const next = masterKeyOf(await file.stageNext());
    const from = keys.current.id;
    try {
      const audit = this.#auditEntry("operator", "master_key.rotate", next.id, { from, to: next.id });
      await store.change(async () => ({ result: null, audit }));
    } catch (error) {
      await file.discardNext();
      throw error;
    }
    keys.promote(next);
    this.#retiringKeyId = from;
  }

  async #rewrapAll(actor: string): Promise<void> {
    const { vault, timers } = this.#deps;
    // Waits for data keys that are being created with the previous master key.
    await vault.pendingKeysStored();
    const broken: string[] = [];
    for (let after = ""; !this.#stopped; ) {
      const last = await this.#step(() => this.#rewrapSome(actor, after, broken));
      if (last === undefined) break;
      after = last;
      await new Promise<void>((resolve) => {
        timers.after(PAUSE_MS, resolve);
      });
    }
    if (broken.length > 0)
      throw new Error(`data keys that cannot be decrypted: ${broken.length}, such as ${broken[0]}`);
  }

  /** Returns the last workspace of the batch; undefined: none is left. */
  async #rewrapSome(actor: string, after: string, broken: string[]): Promise<string | undefined> {
    const { keys, store } = this.#deps;
    const batch = await store.dataKeys.listNotWrappedBy(keys.current.id, after, BATCH_KEYS);
    if (batch.length > 0) await this.#rewrap(actor, batch, broken);
    return batch.at(-1)?.workspaceId;
  }

  async #rewrap(actor: string, batch: readonly WrappedKey[], broken: string[]): Promise<void> {
    const { keys, store } = this.#deps;
    const rewrapped = batch.flatMap((before): DataKeyRewrap[] => {
      try {
        return [{ before, after: keys.wrap(before.workspaceId, keys.unwrap(before)) }];
      } catch (error) {
        // One broken data key does not block the others.
        broken.push(error instanceof Error ? error.message : before.workspaceId);
        return [];
      }
    });
    if (rewrapped.length === 0) return;
    const from = [...new Set(rewrapped.map(({ before }) => before.masterKey ?? "unknown"))].slice(0, NAMED_MAX);
    const changed = await store.change(async ({ dataKeys }) => {
      const count = await dataKeys.rewrap(rewrapped);
      const detail = { from, to: keys.current.id, data_keys: count };
      const audit = count === 0 ? null : this.#auditEntry(actor, "master_key.rewrap", keys.current.id, detail);
      return { result: count, audit };
    });
    this.#state = { ...this.#state, rewrapped: this.#state.rewrapped + changed };
  }

  /** Deletes the old key from the file once no data key needs it. */
  async #retire(): Promise<void> {
    const { file, keys, store } = this.#deps;
    const leaving = this.#retiringKeyId;
    if (file === null || leaving === undefined) return;
    const needed = (await store.dataKeys.counts()).filter(
      ({ masterKey }) => masterKey === null || masterKey === leaving,
    );
    if (needed.length > 0) throw new Error(`the old master key ${leaving} is still needed`);
    await file.promoteNext();
    keys.remove(leaving);
    this.#retiringKeyId = undefined;
  }

  #auditEntry(actor: string, action: string, target: string, detail: AuditEntry["detail"]): AuditEntry {
    const { ids, clock } = this.#deps;
    return { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: null, target, detail };
  }
}

export type MasterKeyDeps = { readonly rotation: MasterKeyRotation; readonly timers: Timers };

function unknownKeyUsage({ masterKey, dataKeys }: WrappedKeyCount): MasterKeyUsage {
  return { id: masterKey, role: masterKey === null ? "unknown" : "missing", dataKeys };
}
