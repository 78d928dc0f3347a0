import { describe, expect, test } from "vitest";
import { type OwnKey, ownKeyEncryptionContext } from "../../src/domain/tenancy/own-key.ts";
import { platformKeyEncryptionContext } from "../../src/domain/tenancy/platform-key.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";
import { cachedReplyTests } from "./cached-reply-suite.ts";
import { customClassTests } from "./custom-class-suite.ts";
import { withWorkspaces } from "./workspaces.ts";

const KEY: OwnKey = {
  workspaceId: "ws_1",
  provider: "mistral",
  kind: "key",
  use: "first",
  hint: "9fQ2",
  fingerprint: "4bf5122f",
  createdAtMs: 1,
  changedAtMs: 1,
  changedBy: "operator",
  result: "accepted",
  testedAtMs: 1,
};

/** What workspaces keep sealed: provider keys, one per provider, and data classes. */
export function ownKeyTests(store: () => Store, reopen: () => Promise<Store>): void {
  cachedReplyTests(store, reopen);
  customClassTests(store, reopen);
  describe("own provider keys", () => {
    test("BILL-08 keys are stored, replaced and removed, each for its workspace and provider", async () => {
      await withWorkspaces(store());
      const sealed = Buffer.from([0, 1, 255]);
      const others: OwnKey = { ...KEY, workspaceId: "ws_2", hint: null, testedAtMs: null, result: "untried" };
      await store().ownKeys.save(KEY, sealed);
      await store().ownKeys.save(others, sealed);
      const changed: OwnKey = { ...KEY, use: "only", fingerprint: "00000000", changedAtMs: 2, createdAtMs: 99 };
      await store().ownKeys.save(changed, Buffer.from([7]));
      // A test of the previous key does not count for this one.
      await store().ownKeys.saveTestResult({ ...KEY, result: "refused", testedAtMs: 3 });
      await store().ownKeys.saveTestResult({ ...others, result: "refused", testedAtMs: 3 });
      const kept = (await (await reopen()).ownKeys.all()).map((row) => ({ ...row, sealed: [...row.sealed] }));
      expect(kept).toEqual([
        { key: { ...changed, createdAtMs: 1 }, sealed: [7] },
        { key: { ...others, result: "refused", testedAtMs: 3 }, sealed: [0, 1, 255] },
      ]);
      await store().ownKeys.saveUse({ ...others, use: "fallback", changedAtMs: 4, changedBy: "ada" });
      await store().ownKeys.saveUse({ ...KEY, use: "fallback", changedAtMs: 4, changedBy: "ada" });
      expect((await store().ownKeys.all()).map(({ key }) => [key.use, key.changedBy, key.result])).toEqual([
        ["only", "operator", "accepted"],
        ["fallback", "ada", "refused"],
      ]);
      await store().ownKeys.remove("ws_1", "mistral");
      await store().ownKeys.remove("ws_1", "unknown");
      expect((await store().ownKeys.all()).map(({ key }) => key.workspaceId)).toEqual(["ws_2"]);
    });

    test("PORTAL-10 the platform's own credentials are stored, replaced and removed, one per provider", async () => {
      const { workspaceId, use, result, testedAtMs, ...key } = KEY;
      await store().platformKeys.save(key, Buffer.from([0, 1, 255]));
      await store().platformKeys.save({ ...key, provider: "openai", hint: null, kind: "aws" }, Buffer.from([7]));
      const changed = { ...key, fingerprint: "00000000", changedAtMs: 2, changedBy: "ada" };
      await store().platformKeys.save({ ...changed, createdAtMs: 99 }, Buffer.from([9]));
      const kept = (await (await reopen()).platformKeys.all()).map((row) => ({ ...row, sealed: [...row.sealed] }));
      expect(kept).toEqual([
        { key: changed, sealed: [9] },
        { key: { ...key, provider: "openai", hint: null, kind: "aws" }, sealed: [7] },
      ]);
      await store().platformKeys.remove("mistral");
      await store().platformKeys.remove("unknown");
      expect((await store().platformKeys.all()).map((row) => row.key.provider)).toEqual(["openai"]);
      const vault = openVault(new MasterKeys(Buffer.alloc(32, 7)), store().dataKeys);
      const sealed = await vault.seal(platformKeyEncryptionContext("openai"), "sk-canary");
      await expect(vault.open(platformKeyEncryptionContext("mistral"), sealed)).rejects.toThrow("cannot be decrypted");
    });

    test("BILL-08 a key moved to another workspace or provider does not open", async () => {
      await withWorkspaces(store());
      const vault = openVault(new MasterKeys(Buffer.alloc(32, 7)), store().dataKeys);
      const sealed = await vault.seal(ownKeyEncryptionContext(KEY), "sk-canary");
      expect(await vault.open(ownKeyEncryptionContext(KEY), sealed)).toBe("sk-canary");
      await expect(vault.open(ownKeyEncryptionContext({ ...KEY, workspaceId: "ws_2" }), sealed)).rejects.toThrow(
        "cannot be decrypted",
      );
      await expect(vault.open(ownKeyEncryptionContext({ ...KEY, provider: "openai" }), sealed)).rejects.toThrow(
        "cannot be decrypted",
      );
    });
  });
}
