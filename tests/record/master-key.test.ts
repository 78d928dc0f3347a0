import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { MasterKeyFile } from "../../src/io/master-key-file.ts";
import { MasterKeys, masterKeyOf } from "../../src/io/master-keys.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { checkMasterKeys } from "../../src/io/vault.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { openVaultFixture } from "../support/master-key-suite.ts";
import { COMPILED } from "../support/program.ts";
import { callerWith } from "../support/response-callers.ts";
import { rounds } from "../support/rounds.ts";

const CHILD = path.join(import.meta.dirname, "master-key-child.ts");
const A = Buffer.alloc(32, 1).toString("base64");
const B = Buffer.alloc(32, 2).toString("hex");
const [ID_A = "", ID_B = ""] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => masterKeyOf(key).id);

afterAll(cleanUp);

function folderForTest(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-master-key-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const keyFiles = (dataDir: string) => readdirSync(dataDir).filter((name) => name.startsWith("master-key"));
const WORKSPACES = 130;
const slotOf = (workspace: number) => ({ workspaceId: `ws_${workspace}`, column: "c", row: "r" });

/** A folder with a generated key and secrets of many workspaces. */
async function filled(dataDir: string): Promise<Uint8Array[]> {
  const store = await openSqlite(dataDir, systemClock);
  const { vault } = openVaultFixture(store, new MasterKeys((await new MasterKeyFile(dataDir).open()).current));
  const sealed = await Promise.all(
    Array.from({ length: WORKSPACES }, (_, at) => vault.seal(slotOf(at), `secret ${at}`)),
  );
  await store.close();
  return sealed;
}

/** Opens everything in the folder as the next start does, and finishes the rotation. */
async function takenUp(dataDir: string, sealed: readonly Uint8Array[]): Promise<string> {
  const store = await openSqlite(dataDir, systemClock);
  try {
    const file = new MasterKeyFile(dataDir);
    const kept = await file.open();
    const keys = new MasterKeys(kept.current, kept.previous);
    await checkMasterKeys(keys, store.dataKeys);
    const [retiringKeyId] = kept.previous.map((bytes) => masterKeyOf(bytes).id);
    const { vault, rotation } = openVaultFixture(store, keys, { file, retiringKeyId });
    const opened = () => Promise.all(sealed.map((bytes, at) => vault.open(slotOf(at), bytes)));
    expect(await opened()).toEqual(sealed.map((_, at) => `secret ${at}`));
    await rotation.finish();
    expect(rotation.state.state).toBe("idle");
    expect(keyFiles(dataDir)).toEqual(["master-key"]);
    const alone = new MasterKeys((await file.open()).current);
    const fresh = openVaultFixture(store, alone).vault;
    expect(await Promise.all(sealed.map((bytes, at) => fresh.open(slotOf(at), bytes)))).toEqual(await opened());
    expect(await store.dataKeys.counts()).toEqual([{ masterKey: alone.current.id, dataKeys: sealed.length }]);
    return alone.current.id;
  } finally {
    await store.close();
  }
}

test("LOG-03 a rotation killed at any step leaves a readable folder and is resumed", async () => {
  const dataDir = folderForTest();
  const sealed = await filled(dataDir);
  const ids = new Set<string>();
  let steps = 0;
  for (let killAt = 1; ; killAt += 1) {
    const child = spawn(process.execPath, [CHILD, dataDir, String(killAt)], {
      env: COMPILED,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code, signal] = await once(child, "exit");
    ids.add(await takenUp(dataDir, sealed));
    if (signal === "SIGKILL") {
      steps += 1;
      continue;
    }
    expect(code).toBe(0);
    break;
  }
  // Two of the file, nine of three transactions (the audit line, two batches), the last of the file.
  expect(steps).toBe(12);
  expect(ids.size).toBeGreaterThan(steps / 2);
}, 120_000);

async function sealedParts(gateway: TestGateway) {
  const tenant = await gateway.tenant();
  const caller = callerWith(gateway, tenant.key);
  const first = await caller.post({ model: "sandbox/chat", input: "My name is Ada." });
  expect(first.status).toBe(200);
  return { tenant, caller, first: first.body };
}

const continues = (caller: ReturnType<typeof callerWith>, id: string) =>
  caller.post({ model: "sandbox/chat", input: "Go on.", previous_response_id: id });

test("LOG-03 one command rotates the generated key under traffic and writes an audit line", async () => {
  const dataDir = folderForTest();
  const gateway = await startGateway({ dataDir });
  const before = readFileSync(path.join(dataDir, "master-key"), "utf8");
  const parts = await Promise.all([1, 2, 3].map(() => sealedParts(gateway)));
  let stop = false;
  const traffic = parts.map(async ({ caller, first }) => {
    let { id } = first;
    let turns = 0;
    while (!stop) {
      const next = await continues(caller, id);
      expect(next.status).toBe(200);
      id = next.body.id;
      turns += 1;
    }
    return turns;
  });
  const rotated = await gateway.cli("master-key", "rotate", "--json");
  const again = await gateway.manage("POST", "/master-key/rotate");
  stop = true;
  for (const turns of await Promise.all(traffic)) expect(turns).toBeGreaterThan(0);
  expect(rotated.code).toBe(0);
  expect(rotated.json).toMatchObject({ source: "file", state: "idle", rewrapped: 3, remaining: 0, problem: null });
  expect(again.keys).toEqual([{ id: expect.any(String), role: "current", data_keys: 3 }]);
  expect(keyFiles(dataDir)).toEqual(["master-key"]);
  expect(readFileSync(path.join(dataDir, "master-key"), "utf8")).not.toBe(before);
  expect(statSync(path.join(dataDir, "master-key")).mode & 0o777).toBe(0o600);
  const audit: Json[] = (await gateway.manage("GET", "/audit?action=master_key")).data;
  expect(audit.map(({ action, actor }) => [action, actor])).toEqual([
    ["master_key.rewrap", "operator"],
    ["master_key.rotate", "operator"],
    ["master_key.rewrap", "operator"],
    ["master_key.rotate", "operator"],
  ]);
  expect(audit[0]?.detail).toEqual({ from: [audit[2]?.target], to: audit[0]?.target, data_keys: 3 });
  expect(JSON.stringify(audit)).not.toContain(before.trim());
  await gateway.close();

  const next = await gatewayForTest({ dataDir });
  for (const { tenant, first } of parts)
    expect((await continues(callerWith(next, tenant.key), first.id)).status).toBe(200);
  expect((await next.manage("GET", "/master-key")).remaining).toBe(0);
});

test("LOG-03 a new key in the settings with the old one as previous rewraps at start, and then suffices", async () => {
  const dataDir = folderForTest();
  const first = await startGateway({ dataDir, env: { GATEWAY_MASTER_KEY: A } });
  const { tenant, first: responses } = await sealedParts(first);
  const refused = await first.cli("master-key", "rotate");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("GATEWAY_MASTER_KEY_PREVIOUS")]);
  await first.close();

  // The old key alone, while the new one is only for reading: nothing changes yet.
  const prepared = await startGateway({ dataDir, env: { GATEWAY_MASTER_KEY: A, GATEWAY_MASTER_KEY_PREVIOUS: B } });
  expect((await prepared.manage("GET", "/master-key")).keys).toEqual([
    { id: ID_A, role: "current", data_keys: 1 },
    { id: ID_B, role: "previous", data_keys: 0 },
  ]);
  await prepared.close();

  const previous = path.join(folderForTest(), "previous");
  writeFileSync(previous, `${Buffer.alloc(32, 9).toString("base64")}\n${A}\n`);
  const env = { GATEWAY_MASTER_KEY: B, GATEWAY_MASTER_KEY_PREVIOUS_FILE: previous };
  const changed = await startGateway({ dataDir, env });
  expect((await continues(callerWith(changed, tenant.key), responses.id)).status).toBe(200);
  await eventually(async () => expect((await changed.manage("GET", "/master-key")).remaining).toBe(0));
  const doctor = await changed.manage("GET", "/doctor");
  const { ok, detail } = doctor["checks"].find(({ name }: Json) => name === "master key");
  expect(ok).toBe(true);
  expect(detail).toMatch(new RegExp(`1 data key, all wrapped by ${ID_B}.*${ID_A} can be removed`));
  await changed.close();

  const behind = spawnGateway({ DATA_DIR: dataDir, GATEWAY_MASTER_KEY: A });
  expect(await behind.exited).toBe(1);
  expect(behind.stderr()).toContain(`it is wrapped by ${ID_B}`);

  const alone = await gatewayForTest({ dataDir, env: { GATEWAY_MASTER_KEY: B } });
  expect((await continues(callerWith(alone, tenant.key), responses.id)).status).toBe(200);
  expect((await alone.cli("master-key", "status")).stdout).toContain(ID_B);
});

test(
  "LOG-03 a gateway killed during a rotation under load starts again and opens everything",
  async () => {
    const dataDir = folderForTest();
    const env = { DATA_DIR: dataDir, GATEWAY_RPM_IP: "0", LOG_LEVEL: "error" };
    let key: string | undefined;
    let lastError: string | undefined;
    for (let round = 0; round < rounds(2); round += 1) {
      const gateway = spawnGateway(env);
      const url = await gateway.ready();
      key ??= /^Key {6}(\S+)$/m.exec(gateway.stdout())?.[1];
      const admin = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
      const send = (bearer: string | undefined, where: string, body: object) =>
        fetch(`${url}${where}`, {
          method: "POST",
          headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      const input = { model: "sandbox/chat", input: "Hi" };
      const answer = await send(
        key,
        "/v1/responses",
        lastError === undefined ? input : { ...input, previous_response_id: lastError },
      );
      expect(answer.status).toBe(200);
      const made: Json = await answer.json();
      lastError = made.id;
      void send(admin, "/manage/master-key/rotate", {}).catch(() => undefined);
      await sleep((round % 4) * 12);
      gateway.child.kill("SIGKILL");
      await gateway.exited;
    }
    const last = spawnGateway(env);
    const found = await fetch(`${await last.ready()}/v1/responses/${lastError}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(found.status).toBe(200);
    expect(await last.stop()).toBe(0);
  },
  rounds(120_000),
);

test("LOG-03 two concurrent first starts agree on the key", async () => {
  for (let round = 0; round < rounds(18); round += 1) {
    const dataDir = folderForTest();
    // Each a little later than the one before: one cleans up after crashes while another one writes.
    const starts = Array.from({ length: 8 }, async (_, index) => {
      await sleep((index * (round % 6)) / 8);
      return new MasterKeyFile(dataDir).open();
    });
    const opened = await Promise.all(starts);
    expect(new Set(opened.map(({ current }) => current.toString("hex"))).size).toBe(1);
    expect(keyFiles(dataDir)).toEqual(["master-key"]);
  }
});
