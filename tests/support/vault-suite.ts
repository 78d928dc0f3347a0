import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { checkMasterKeys, openVault } from "../../src/io/vault.ts";
import { masterKeyTests } from "./master-key-suite.ts";
import { MASTER_KEY, runOf, storedResponse } from "./response-suite.ts";

/** A store, and ways around it. */
export type VaultFixture = {
  readonly store: Store;
  /** Runs statements on the tables while the store is closed, and opens it again. */
  change(...statements: string[]): Promise<Store>;
  /** Everything the engine has on the disk. */
  bytes(): Promise<{ readonly file: string; readonly bytes: Buffer }[]>;
};

const CANARY = "the canary sings in the mine";
const SECRET = storedResponse("resp_1", {
  response: { output: [{ type: "message", id: "msg_1", content: CANARY }] },
  input: [{ role: "user", content: CANARY }],
});

/** Sealed content stays sealed, on every engine. */
export function vaultSuite(name: string, enter: () => Promise<VaultFixture>): void {
  describe(name, () => {
    let fixture: VaultFixture;
    let store: Store;
    beforeEach(async () => {
      fixture = await enter();
      store = fixture.store;
    });
    afterEach(() => store.close());
    const open = (key = MASTER_KEY) => store.responses(openVault(new MasterKeys(key), store.dataKeys));
    const change = async (...statements: string[]) => {
      store = await fixture.change(...statements);
    };

    masterKeyTests(() => store, change);

    test("RESP-05 neither stored content nor the master key is in the bytes of the store", async () => {
      const responses = open();
      await responses.add({ ...SECRET, status: "queued" }, { body: CANARY, headers: {}, clientAddress: "::1" });
      expect(await responses.appendEvents(runOf("resp_1"), [{ sequence: 0, text: CANARY }])).toBe("stored");
      expect((await responses.find("ws_1", "resp_1", 2000))?.input).toEqual(SECRET.input);
      const files = await fixture.bytes();
      // The id of the response is not sealed: it shows that these are the right files.
      expect(files.some(({ bytes }) => bytes.includes("resp_1"))).toBe(true);
      for (const { file, bytes } of files) {
        expect(bytes.includes("canary"), file).toBe(false);
        expect(bytes.includes(MASTER_KEY), file).toBe(false);
      }
    });

    test("RESP-05 a row moved to another workspace does not open there", async () => {
      await open().add(SECRET);
      await open().add(storedResponse("resp_2", { workspaceId: "ws_2" }));
      await change("update stored_responses set workspace_id = 'ws_2' where id = 'resp_1'");
      await expect(open().find("ws_2", "resp_1", 2000)).rejects.toThrow("cannot be decrypted");
    });

    test("RESP-05 content moved to another column or row, or changed by a bit, does not open", async () => {
      await open().add(SECRET);
      await open().add(storedResponse("resp_2"));
      await change(
        "update stored_responses set response = input where id = 'resp_1'",
        "update stored_responses set input = (select input from stored_responses where id = 'resp_1')",
      );
      await expect(open().find("ws_1", "resp_1", 2000)).rejects.toThrow("response of resp_1 cannot be decrypted");
      await expect(open().find("ws_1", "resp_2", 2000)).rejects.toThrow("input of resp_2 cannot be decrypted");
    });

    test("RESP-05 a data key of another workspace does not open it", async () => {
      await open().add(SECRET);
      await open().add(storedResponse("resp_2", { workspaceId: "ws_2" }));
      await change("update data_keys set wrapped = (select wrapped from data_keys where workspace_id = 'ws_1')");
      await expect(open().find("ws_2", "resp_2", 2000)).rejects.toThrow(
        "data key of workspace ws_2 cannot be decrypted",
      );
    });

    test("RESP-05 a wrong master key is reported at once and returns no garbage", async () => {
      const wrong = Buffer.alloc(32, 4);
      await checkMasterKeys(new MasterKeys(wrong), store.dataKeys);
      await open().add(SECRET);
      await checkMasterKeys(new MasterKeys(MASTER_KEY), store.dataKeys);
      await expect(checkMasterKeys(new MasterKeys(wrong), store.dataKeys)).rejects.toThrow("Set GATEWAY_MASTER_KEY");
      await expect(open(wrong).find("ws_1", "resp_1", 2000)).rejects.toThrow("Set GATEWAY_MASTER_KEY");
    });

    test("RESP-05 two concurrent first uses of a workspace get the same key", async () => {
      const [one, other] = [MASTER_KEY, MASTER_KEY].map((key) => openVault(new MasterKeys(key), store.dataKeys));
      if (one === undefined || other === undefined) throw new Error("two vaults are needed");
      const slot = { workspaceId: "ws_1", column: "c", row: "r" };
      const [a, b] = await Promise.all([one.seal(slot, "a"), other.seal(slot, "b")]);
      expect(await Promise.all([other.open(slot, a), one.open(slot, b)])).toEqual(["a", "b"]);
    });
  });
}
