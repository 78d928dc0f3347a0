import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, type GatewayProcess, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { connectedTo } from "../support/scene.ts";
import { fieldPart, filePart, formBytes, sound, startUpload } from "../support/transcriptions.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const MODEL = "openai/whisper-1";
const MEGABYTE = 1_000_000;
/** More than a minute of audio in one file: 20 MB. */
const UPLOAD_SECONDS = 416;
const CONCURRENCY = 10;
const WARM_UP = 4;

let upstream: Upstream;
let gateway: GatewayProcess;
let url: string;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = spawnGateway({ ...connectedTo(new Map([["openai", upstream]])), GATEWAY_SANDBOX: "off" });
  url = await gateway.ready();
  key = await callerAt(url, gateway.dataDir);
});
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

/** A key of a workspace with credit. */
async function callerAt(origin: string, dataDir: string): Promise<string> {
  const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  const manage = async (target: string, body: object): Promise<Json> => {
    const answer = await fetch(`${origin}/manage${target}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  await manage("/workspaces", { slug: "team" });
  await manage("/workspaces/team/wallet/credits", { amount: "1000" });
  return (await manage("/workspaces/team/keys", { name: "key", environment: "live" })).key;
}

const folder = () => path.join(gateway.dataDir, "tmp");

/** Open files of the gateway in the upload folder. */
function heldFiles(): string[] {
  const { pid } = gateway.child;
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
      return target.startsWith(folder()) ? [target] : [];
    } catch {
      return [];
    }
  });
}

/** Peak memory of the process. It includes uncollected garbage, so it varies less than current memory. */
function peakBytes(): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${gateway.child.pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

const onLinux = process.platform === "linux";

/** It sends 280 MB, which takes time on a busy machine. */
const LONG_TIMEOUT = { timeout: 180_000 };

test.skipIf(!onLinux)(
  "STT-01 uploads are never buffered whole: many at once need a fraction of their size",
  LONG_TIMEOUT,
  async () => {
    const form = formBytes([fieldPart("model", MODEL), filePart(sound(UPLOAD_SECONDS))]);
    expect(form.length).toBeGreaterThan(19 * MEGABYTE);
    const hold = Promise.withResolvers<void>();
    const one = (): Promise<Json> =>
      fetch(`${url}/v1/audio/transcriptions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "multipart/form-data; boundary=a-boundary-of-the-test",
        },
        body: new Uint8Array(form),
      }).then((answer) => answer.json());
    // The first uploads, one by one, warm up buffers and the heap.
    for (let n = 0; n < WARM_UP; n += 1) {
      upstream.next({ json: { text: "Hi" } });
      expect((await one()).text).toBe("Hi");
    }
    const before = peakBytes();
    for (let n = 0; n < CONCURRENCY; n += 1) upstream.next({ gate: hold.promise, json: { text: "Hi" } });
    const answers = Array.from({ length: CONCURRENCY }, one);
    await upstream.arrived(WARM_UP + CONCURRENCY);
    // All have arrived, were forwarded and are still kept, none of them in memory.
    const openFiles = heldFiles();
    const more = peakBytes() - before;
    hold.resolve();
    expect(openFiles).toHaveLength(CONCURRENCY);
    expect(more).toBeLessThan((CONCURRENCY * form.length) / 2);
    for (const answer of answers) expect((await answer).text).toBe("Hi");
    await eventually(() => expect(heldFiles()).toEqual([]));
  },
);

test.skipIf(!onLinux)("C7 kill -9 during an upload leaves no file", async () => {
  const request = startUpload({ url }, key, { "content-length": "5000000" });
  request.write(formBytes([fieldPart("model", MODEL), filePart(sound(40))], ""));
  // Its name is unlinked right after creation.
  await eventually(() => expect([heldFiles().length, readdirSync(folder())]).toEqual([1, []]));
  gateway.child.kill("SIGKILL");
  await gateway.exited;
  request.destroy();
  expect(readdirSync(folder())).toEqual([]);
});
