import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { openUploadReader } from "./upload-reader.ts";
import { SPOOL_MEMORY_MAX_BYTES, UploadQuota, UploadSpool } from "./upload-spool.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "spool-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const QUOTA_BYTES = 100_000_000;
const newQuota = () => new UploadQuota(QUOTA_BYTES);
const storage = () => ({ folder, isFull: () => false, quota: newQuota() });

async function fillSpool(bytes: Buffer, chunkBytes = 10_000): Promise<UploadSpool> {
  const spool = new UploadSpool(storage());
  for (let at = 0; at < bytes.length; at += chunkBytes) await spool.add(bytes.subarray(at, at + chunkBytes));
  return spool;
}

async function readAll(spool: UploadSpool): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(spool.read()));
}

/** File descriptors of this process that belong to the folder. */
async function openFiles(): Promise<string[]> {
  const found: string[] = [];
  for (const fd of await readdir("/proc/self/fd")) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (target.startsWith(folder)) found.push(`/proc/self/fd/${fd}`);
  }
  return found;
}

describe("an upload spool", () => {
  test.each([0, 1, SPOOL_MEMORY_MAX_BYTES, SPOOL_MEMORY_MAX_BYTES + 1, 1_234_567])(
    "returns %i bytes unchanged, repeatedly and concurrently",
    async (size) => {
      const bytes = randomBytes(size);
      const spool = await fillSpool(bytes);
      expect(spool.bytes).toBe(size);
      for (const read of await Promise.all([readAll(spool), readAll(spool)])) expect(read.equals(bytes)).toBe(true);
      expect((await readAll(spool)).equals(bytes)).toBe(true);
      spool.close();
    },
  );

  test.skipIf(process.platform !== "linux")("keeps the file on disk unlinked and encrypted", async () => {
    const bytes = Buffer.alloc(1_000_000, "what was said in confidence ");
    const spool = await fillSpool(bytes);
    expect(await readdir(folder)).toEqual([]);
    const [file = ""] = await openFiles();
    const encrypted = await readFile(file);
    expect(encrypted.length).toBeGreaterThan(bytes.length - 100_000);
    expect(encrypted.includes("confidence")).toBe(false);
    // Every spool has its own key, so equal plaintexts differ on disk.
    const other = await fillSpool(bytes);
    const digests = await Promise.all((await openFiles()).map(async (name) => sha256(await readFile(name))));
    expect(new Set(digests).size).toBe(2);
    spool.close();
    other.close();
    for (let tries = 0; tries < 100 && (await openFiles()).length > 0; tries += 1) await new Promise(setImmediate);
    expect(await openFiles()).toEqual([]);
  });

  test("fails with service_unavailable when the disk is low or cannot be written", async () => {
    const spool = new UploadSpool({ folder, isFull: () => true, quota: newQuota() });
    expect(spool.add(randomBytes(1000))).toBeUndefined();
    await expect(spool.add(randomBytes(SPOOL_MEMORY_MAX_BYTES))).rejects.toMatchObject({ code: "service_unavailable" });
    const unwritable = new UploadSpool({
      folder: path.join(folder, "not there"),
      isFull: () => false,
      quota: newQuota(),
    });
    const failed = unwritable.add(randomBytes(SPOOL_MEMORY_MAX_BYTES + 1));
    await expect(failed).rejects.toBeInstanceOf(Fault);
    await expect(failed).rejects.toMatchObject({ message: expect.not.stringContaining(folder) });
  });

  test("merges single-byte chunks into blocks", async () => {
    const bytes = randomBytes(SPOOL_MEMORY_MAX_BYTES);
    const spool = await fillSpool(bytes, 1);
    const blocks = await Array.fromAsync(spool.read());
    expect(Buffer.concat(blocks).equals(bytes)).toBe(true);
    expect(blocks.length).toBeLessThan(10);
    spool.close();
  });

  test("all spools share one quota, and a closed spool releases its part", async () => {
    const shared = { folder, isFull: () => false, quota: new UploadQuota(700_000) };
    const [first, second] = [new UploadSpool(shared), new UploadSpool(shared)];
    for (let i = 0; i < 6; i += 1) await first.add(randomBytes(100_000));
    await second.add(randomBytes(100_000));
    expect(() => second.add(randomBytes(1))).toThrow("cannot accept uploads");
    first.close();
    first.close();
    await second.add(randomBytes(600_000));
    expect(() => second.add(randomBytes(1))).toThrow("cannot accept uploads");
    second.close();
    expect(shared.quota.bytes).toBe(0);
  });

  test("rejects a read after close", async () => {
    const spool = await fillSpool(randomBytes(10));
    spool.close();
    await expect(readAll(spool)).rejects.toThrow("after its request had ended");
  });
});

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test("removes spool files that a killed process left behind, and nothing else", async () => {
  await writeFile(path.join(folder, "upload-0123"), "left");
  await writeFile(path.join(folder, "notes.txt"), "mine");
  await openUploadReader(folder, { isLow: false }, QUOTA_BYTES);
  expect(await readdir(folder)).toEqual(["notes.txt"]);
});

test("a form is parsed the same wherever it is split", async () => {
  const uploads = await openUploadReader(folder, { isLow: false }, QUOTA_BYTES);
  const bytes = Buffer.from(
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\u00e9\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n\r\n--\r\n-b--\r\n\r\n--b--\r\n',
  );
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const source = Readable.from([bytes.subarray(0, cut), bytes.subarray(cut)]);
    const form = await uploads.read(source, "multipart/form-data; boundary=b", { file: 1 });
    expect(form.fields).toEqual([["model", "m\u00e9"]]);
    expect(form.files[0]?.filename).toBe("a.wav");
    const read = Buffer.concat(await Array.fromAsync(form.files[0]?.read() ?? []));
    expect(read.toString()).toBe("\r\n--\r\n-b--\r\n");
    form.close();
  }
});

test.each([
  [
    "before the file",
    '--b\r\nno header\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n',
  ],
  [
    "after the file",
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b\r\nno header\r\n--b--\r\n',
  ],
  ["alone", "--b\n--b--\r\n"],
])("rejects a part whose header does not end: %s", async (_where, text) => {
  const uploads = await openUploadReader(folder, { isLow: false }, QUOTA_BYTES);
  const read = uploads.read(Readable.from([Buffer.from(text)]), "multipart/form-data; boundary=b", { file: 1 });
  await expect(read).rejects.toMatchObject({ code: "invalid_request" });
});
