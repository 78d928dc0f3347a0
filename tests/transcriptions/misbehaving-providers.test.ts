import { readdirSync, readlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import {
  fieldPart,
  filePart,
  formBytes,
  receivedForm,
  sound,
  startUpload,
  transcribe,
} from "../support/transcriptions.ts";

const MODEL = "openai/whisper-large-v3";
/** More than the buffers of a connection hold. */
const FILE = { name: "long.wav", bytes: sound(400) };
const FIRST = JSON.stringify({ order: ["groq", "scaleway"] });

/** How the misbehaving provider treats a connection. */
let handleConnection: (socket: Socket) => void = () => undefined;
const sockets = new Set<Socket>();
let misbehaving: Server;
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  misbehaving = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    handleConnection(socket);
  });
  await new Promise<void>((resolve) => misbehaving.listen(0, "127.0.0.1", resolve));
  const address = misbehaving.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  scene = await openScene(["groq", "scaleway"], {
    PROVIDER_GROQ_BASE_URL: `http://127.0.0.1:${port}/v1`,
    GATEWAY_FIRST_BYTE_TIMEOUT_MS: "1500",
  });
  scene.at("scaleway").always({ json: { text: "Hi", usage: { type: "duration", seconds: 400 } } });
});
afterAll(async () => {
  await scene.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => misbehaving.close(resolve));
});
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

function heldFiles(): string[] {
  const folder = path.join(scene.gateway.dataDir, "tmp");
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
}

/** A peer that does not read does not notice the disconnect either. */
const allClosed = () =>
  eventually(() => {
    for (const socket of sockets) socket.resume();
    expect(sockets.size).toBe(0);
  });

/** Reads a number of bytes, then switches to another behaviour. */
function afterBytes(socket: Socket, bytes: number, then: () => void): void {
  let read = 0;
  const take = (chunk: Buffer) => {
    read += chunk.length;
    if (read < bytes) return;
    socket.off("data", take);
    socket.pause();
    then();
  };
  socket.on("data", take);
}

const busy = '{"error":{"message":"busy"}}';
const early = (status: string) =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${busy.length}\r\n\r\n${busy}`;

describe.skipIf(process.platform !== "linux")(
  "ROUTE-04 the next endpoint gets the whole file when the first one",
  () => {
    test.each<[string, (socket: Socket) => void]>([
      ["reads nothing of it", (socket) => void socket.pause()],
      ["stops reading", (socket) => afterBytes(socket, 2_000_000, () => undefined)],
      ["resets while reading", (socket) => afterBytes(socket, 2_000_000, () => socket.resetAndDestroy())],
      ["closes while reading", (socket) => afterBytes(socket, 2_000_000, () => socket.destroy())],
      ["answers 503 before reading it", (socket) => afterBytes(socket, 1, () => socket.end(early("429 Busy")))],
      [
        "answers 503 and closes while reading",
        (socket) => afterBytes(socket, 500_000, () => socket.end(early("503 Down"), () => socket.destroy())),
      ],
    ])("HDR-03 %s", async (_what, behaviour) => {
      handleConnection = behaviour;
      const fields = [
        ["model", MODEL],
        ["provider", FIRST],
      ] as const;
      const answer = await transcribe(scene.gateway, tenant.key, fields, FILE);
      expect([answer.status, answer.body?.text], answer.text).toEqual([200, "Hi"]);
      // The first provider received part of it, and its compute location is unknown.
      expect(answer.headers.get("x-svc-compute-countries")).toBeNull();
      const received = scene.at("scaleway").requests.at(-1);
      if (received === undefined) throw new Error("no other provider was called");
      expect(receivedForm(received).file?.body.equals(FILE.bytes)).toBe(true);
      const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
      expect(row.attempts.length).toBeGreaterThan(1);
      expect(row.usage.seconds).toBe(400);
      expect((await scene.charges(tenant)).length).toBe(1);
      await eventually(() => expect(heldFiles()).toEqual([]));
      await allClosed();
    });
  },
);

test.skipIf(process.platform !== "linux")(
  "CHAT-09 a client that disconnects while the file is being forwarded frees everything",
  async () => {
    const connected = Promise.withResolvers<void>();
    handleConnection = (socket) => afterBytes(socket, 500_000, () => connected.resolve());
    const request = startUpload(scene.gateway, tenant.key);
    request.end(formBytes([fieldPart("model", MODEL), fieldPart("provider", FIRST), filePart(FILE.bytes)]));
    await connected.promise;
    request.destroy();
    await eventually(() => expect(heldFiles()).toEqual([]));
    await eventually(() => {
      for (const socket of sockets) socket.resume();
      expect(sockets.size).toBe(0);
    });
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row.error_code).toBe("client_disconnected");
    expect(await scene.charges(tenant)).toEqual([]);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  },
);
