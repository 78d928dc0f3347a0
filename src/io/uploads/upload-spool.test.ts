import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { UploadQuota } from "./upload-quota.ts";
import { openUploadReader } from "./upload-reader.ts";
import { SPOOL_MEMORY_MAX_BYTES, UploadSpool } from "./upload-spool.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "spool-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const TOGETHER = 100_000_000;
const together = () => new UploadQuota(TOGETHER);
const room = () => ({ folder, isFull: () => false, together: together() });

async function filled(bytes: Buffer, piece = 10_000): Promise<UploadSpool> {
  const spool = new UploadSpool(room());
  for (let at = 0; at < bytes.length; at += piece) await spool.add(bytes.subarray(at, at + piece));
  return spool;
}

async function whole(spool: UploadSpool): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(spool.read()));
}

/** Files of the folder that this process holds open, by what they are called now. */
async function held(): Promise<string[]> {
  const found: string[] = [];
  for (const fd of await readdir("/proc/self/fd")) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (target.startsWith(folder)) found.push(`/proc/self/fd/${fd}`);
  }
  return found;
}

describe("a spool", () => {
  test.each([0, 1, SPOOL_MEMORY_MAX_BYTES, SPOOL_MEMORY_MAX_BYTES + 1, 1_234_567])(
    "%i bytes come back as they were, as often as they are asked for and also at once",
    async (size) => {
      const bytes = randomBytes(size);
      const spool = await filled(bytes);
      expect(spool.bytes).toBe(size);
      for (const read of await Promise.all([whole(spool), whole(spool)])) expect(read.equals(bytes)).toBe(true);
      expect((await whole(spool)).equals(bytes)).toBe(true);
      spool.close();
    },
  );

  test.skipIf(process.platform !== "linux")("on disk it has no name and cannot be read", async () => {
    const bytes = Buffer.alloc(1_000_000, "what was said in confidence ");
    const spool = await filled(bytes);
    expect(await readdir(folder)).toEqual([]);
    const [file = ""] = await held();
    const sealed = await readFile(file);
    expect(sealed.length).toBeGreaterThan(bytes.length - 100_000);
    expect(sealed.includes("confidence")).toBe(false);
    // A key of its own: the same bytes do not look the same twice.
    const other = await filled(bytes);
    const digests = await Promise.all((await held()).map(async (one) => sha256(await readFile(one))));
    expect(new Set(digests).size).toBe(2);
    spool.close();
    other.close();
    for (let tries = 0; tries < 100 && (await held()).length > 0; tries += 1) await new Promise(setImmediate);
    expect(await held()).toEqual([]);
  });

  test("a disk without room is said, and a full one too", async () => {
    const spool = new UploadSpool({ folder, isFull: () => true, quota: together() });
    expect(spool.add(randomBytes(1000))).toBeUndefined();
    await expect(spool.add(randomBytes(SPOOL_MEMORY_MAX_BYTES))).rejects.toMatchObject({ code: "service_unavailable" });
    const elsewhere = new UploadSpool({
      folder: path.join(folder, "not there"),
      isFull: () => false,
      quota: together(),
    });
    const failed = elsewhere.add(randomBytes(SPOOL_MEMORY_MAX_BYTES + 1));
    await expect(failed).rejects.toBeInstanceOf(Fault);
    await expect(failed).rejects.toMatchObject({ message: expect.not.stringContaining(folder) });
  });

  test("who sends a byte at a time does not make a buffer of each", async () => {
    const bytes = randomBytes(SPOOL_MEMORY_MAX_BYTES);
    const spool = await filled(bytes, 1);
    const pieces = await Array.fromAsync(spool.read());
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(pieces.length).toBeLessThan(10);
    spool.close();
  });

  test("all together take no more than they may, and what is over makes room", async () => {
    const shared = { folder, isFull: () => false, together: new UploadQuota(700_000) };
    const [one, other] = [new UploadSpool(shared), new UploadSpool(shared)];
    for (let i = 0; i < 6; i += 1) await one.add(randomBytes(100_000));
    await other.add(randomBytes(100_000));
    expect(() => other.add(randomBytes(1))).toThrow("no room for uploads");
    one.close();
    one.close();
    await other.add(randomBytes(600_000));
    expect(() => other.add(randomBytes(1))).toThrow("no room for uploads");
    other.close();
    expect(shared.together.bytes).toBe(0);
  });

  test("who reads after the end is told", async () => {
    const spool = await filled(randomBytes(10));
    spool.close();
    await expect(whole(spool)).rejects.toThrow("after its request was over");
  });
});

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test("what a killed process left in the folder goes at the next start, and nothing else", async () => {
  await writeFile(path.join(folder, "upload-0123"), "left");
  await writeFile(path.join(folder, "notes.txt"), "mine");
  await openUploadReader(folder, { isLow: false }, TOGETHER);
  expect(await readdir(folder)).toEqual(["notes.txt"]);
});

test("a form is read the same wherever it was cut", async () => {
  const uploads = await openUploadReader(folder, { isLow: false }, TOGETHER);
  const bytes = Buffer.from(
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\u00e9\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n\r\n--\r\n-b--\r\n\r\n--b--\r\n',
  );
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const source = Readable.from([bytes.subarray(0, cut), bytes.subarray(cut)]);
    const form = await uploads.read(source, "multipart/form-data; boundary=b");
    expect(form.fields).toEqual([["model", "m\u00e9"]]);
    expect(form.file?.filename).toBe("a.wav");
    const read = Buffer.concat(await Array.fromAsync(form.file?.read() ?? []));
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
])("a part whose header has no end is refused: %s", async (_where, text) => {
  const uploads = await openUploadReader(folder, { isLow: false }, TOGETHER);
  const read = uploads.read(Readable.from([Buffer.from(text)]), "multipart/form-data; boundary=b");
  await expect(read).rejects.toMatchObject({ code: "invalid_request" });
});
