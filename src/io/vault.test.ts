import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MASTER_KEY, storedResponse } from "../../tests/support/response-suite.ts";
import { systemClock } from "../kit/clock.ts";
import { DATABASE_FILE, openSqlite } from "./store/sql/sqlite/open.ts";
import type { Store } from "./store/sql/store.ts";
import { checkMasterKey, openVault } from "./vault.ts";

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "gateway-vault-"));
  store = await openSqlite(folder, systemClock);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const CANARY = "the canary sings in the mine";
const SECRET = storedResponse("resp_1", {
  response: { output: [{ type: "message", id: "msg_1", content: CANARY }] },
  input: [{ role: "user", content: CANARY }],
});
const open = (key = MASTER_KEY) => store.responses(openVault(key, store.dataKeys));

async function changeFile(change: (db: DatabaseSync) => void): Promise<void> {
  await store.close();
  const db = new DatabaseSync(path.join(folder, DATABASE_FILE));
  change(db);
  db.close();
  store = await openSqlite(folder, systemClock);
}

test("RESP-05 nothing of what is stored is found in the bytes of the store, nor the master key", async () => {
  const responses = open();
  await responses.add(SECRET, { body: CANARY, headers: {}, clientAddress: "::1" });
  await responses.appendEvents("ws_1", "resp_1", [{ sequence: 0, text: CANARY }]);
  expect((await responses.find("ws_1", "resp_1", 2000))?.input).toEqual(SECRET.input);
  const files = readdirSync(folder).filter((name) => name.startsWith(DATABASE_FILE));
  expect(files).toContain(DATABASE_FILE);
  for (const file of files) {
    const bytes = readFileSync(path.join(folder, file));
    expect(bytes.includes("canary"), file).toBe(false);
    expect(bytes.includes(MASTER_KEY), file).toBe(false);
  }
});

test("RESP-05 a row that is moved to another workspace does not open there", async () => {
  await open().add(SECRET);
  await open().add(storedResponse("resp_2", { workspaceId: "ws_2" }));
  await changeFile((db) => db.exec("update stored_responses set workspace_id = 'ws_2' where id = 'resp_1'"));
  await expect(open().find("ws_2", "resp_1", 2000)).rejects.toThrow("does not open");
});

test("RESP-05 a content that is moved to another column or row, or changed by a bit, does not open", async () => {
  await open().add(SECRET);
  await open().add(storedResponse("resp_2"));
  await changeFile((db) => {
    db.exec("update stored_responses set response = input where id = 'resp_1'");
    db.exec("update stored_responses set input = (select input from stored_responses where id = 'resp_1')");
  });
  await expect(open().find("ws_1", "resp_1", 2000)).rejects.toThrow("response of resp_1 does not open");
  await expect(open().find("ws_1", "resp_2", 2000)).rejects.toThrow("input of resp_2 does not open");
});

test("RESP-05 a data key of another workspace is no key", async () => {
  await open().add(SECRET);
  await open().add(storedResponse("resp_2", { workspaceId: "ws_2" }));
  await changeFile((db) =>
    db.exec("update data_keys set wrapped = (select wrapped from data_keys where workspace_id = 'ws_1')"),
  );
  await expect(open().find("ws_2", "resp_2", 2000)).rejects.toThrow("data key of workspace ws_2 does not open");
});

test("RESP-05 a wrong master key is said at once and gives no garbage", async () => {
  const wrong = Buffer.alloc(32, 4);
  await checkMasterKey(wrong, store.dataKeys);
  await open().add(SECRET);
  await checkMasterKey(MASTER_KEY, store.dataKeys);
  await expect(checkMasterKey(wrong, store.dataKeys)).rejects.toThrow("set GATEWAY_MASTER_KEY");
  await expect(open(wrong).find("ws_1", "resp_1", 2000)).rejects.toThrow("set GATEWAY_MASTER_KEY");
});

test("RESP-05 two that need the first key of a workspace at once get the same one", async () => {
  const [one, other] = [openVault(MASTER_KEY, store.dataKeys), openVault(MASTER_KEY, store.dataKeys)];
  const slot = { workspaceId: "ws_1", column: "c", row: "r" };
  const [a, b] = await Promise.all([one.seal(slot, "a"), other.seal(slot, "b")]);
  expect(await Promise.all([other.open(slot, a), one.open(slot, b)])).toEqual(["a", "b"]);
});
