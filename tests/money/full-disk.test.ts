import { spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { cleanUp, temporaryFolder } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { chatBody, connectedTo, nanosOf } from "../support/scene.ts";
import { startUpstream } from "../support/upstream.ts";

/** Space for the embedded store and a little more. */
const DISK = "size=24m";

/** A separate disk that can be full without affecting others; needs root. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  if (spawnSync("mount", ["-t", "tmpfs", "-o", DISK, "tmpfs", folder]).status !== 0) return undefined;
  mounted.push(folder);
  return folder;
}

const mounted: string[] = [];
const disk = smallDisk();

let running: TestGateway | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});
afterAll(async () => {
  for (const folder of mounted) spawnSync("umount", [folder]);
  await cleanUp();
});

/** Fills the disk to the last byte. */
function fill(folder: string): { free(): void } {
  const file = path.join(folder, "filler");
  const fd = openSync(file, "w");
  try {
    for (let bytes = 1024 * 1024; bytes > 0; ) {
      try {
        if (writeSync(fd, Buffer.alloc(bytes)) < bytes) bytes = bytes >> 1;
      } catch {
        bytes = bytes >> 1;
      }
    }
  } finally {
    closeSync(fd);
  }
  return { free: () => rmSync(file) };
}

const chat = (gateway: TestGateway, { key }: Tenant) =>
  gateway.call(key, "/v1/chat/completions", { body: chatBody({ max_tokens: 50 }) });

test.skipIf(disk === undefined)(
  "BILL-07 a full disk refuses paid work before any upstream byte, and serves again when there is space",
  { timeout: 90_000 },
  async () => {
    const dataDir = disk ?? "";
    const upstream = await startUpstream();
    const start = async () => {
      running = await startGateway({
        dataDir,
        env: { ...connectedTo(new Map([["deepinfra", upstream]])), GATEWAY_RPM_LIVE: "1000000", GATEWAY_RPM_IP: "0" },
      });
      return running;
    };
    const gateway = await start();
    const tenant = await gateway.tenant({ credit: "100" });
    const answered: string[] = [];
    const refused: string[] = [];
    const ask = async () => {
      const { status, body, headers } = await chat(gateway, tenant);
      if (status === 200) answered.push(body.id);
      else {
        refused.push(String(headers.get("x-svc-request-id")));
        expect([status, body.error.code, Number(headers.get("retry-after")) > 0]).toEqual([
          503,
          "service_unavailable",
          true,
        ]);
      }
      return status;
    };
    for (let round = 0; round < 3; round += 1) {
      expect(await ask()).toBe(200);
      const filler = fill(dataDir);
      // The last free bytes of a page may still fit a record or two.
      await eventually(async () => expect(await ask()).toBe(503), { timeout: 20_000, interval: 1 });
      const before = upstream.requests.length;
      for (let n = 0; n < 5; n += 1) expect(await ask()).toBe(503);
      expect(upstream.requests.length).toBe(before);
      const journal = await gateway.manage("GET", "/doctor");
      expect(journal.checks).toContainEqual(expect.objectContaining({ name: "journal", ok: false }));
      filler.free();
      await eventually(async () => expect(await ask()).toBe(200), { timeout: 20_000, interval: 100 });
    }
    expect(await booksOf(gateway, tenant)).toEqual(answered.toSorted());
    await gateway.close();

    const again = await start();
    expect(await booksOf(again, tenant)).toEqual(answered.toSorted());
    expect((await again.manage("GET", "/doctor")).ok).toBe(true);
    const rows = await again.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1000`);
    const free = rows.data.filter(({ id }: { id: string }) => refused.includes(id));
    expect(free.every(({ cost }: { cost: string }) => nanosOf(cost) === 0n)).toBe(true);
    await upstream.close();
  },
);

/** Ids of charged requests in the ledger, which equal those in the log with a cost. */
async function booksOf(gateway: TestGateway, { slug }: Tenant): Promise<string[]> {
  const rows = await gateway.manage("GET", `/workspaces/${slug}/requests?limit=1000`);
  const entries = await gateway.manage("GET", `/workspaces/${slug}/wallet/entries?limit=1000`);
  const charged = entries.data
    .filter(({ kind }: { kind: string }) => kind === "charge")
    .map(({ id }: { id: string }) => id.replace("charge:", ""));
  const paid = rows.data.filter(({ cost }: { cost: string }) => nanosOf(cost) > 0n).map(({ id }: { id: string }) => id);
  expect(charged.toSorted()).toEqual(paid.toSorted());
  return paid.toSorted();
}
