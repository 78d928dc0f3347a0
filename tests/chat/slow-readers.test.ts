import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Sink } from "../../src/app/exchange.ts";
import { sinkOver } from "../../src/edge/sink.ts";
import type { Tenant } from "../support/gateway.ts";
import { chatBody, openChat, openScene, type Scene } from "../support/scene.ts";
import { chatFrames } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const MIB = 1024 * 1024;

/** A stream without end, and how much of it was asked for so far. */
function fountain(wordBytes: number) {
  const [role = "", word = ""] = chatFrames(["w".repeat(wordBytes)]);
  const drawn = { bytes: 0 };
  function* frames(): Generator<string> {
    yield role;
    for (;;) {
      drawn.bytes += word.length;
      yield word;
    }
  }
  return { drawn, frames: frames() };
}

/** Resolves with the amount once nothing more has been drawn for a while. */
async function still(drawn: { readonly bytes: number }): Promise<number> {
  for (;;) {
    const before = drawn.bytes;
    await sleep(150);
    if (drawn.bytes === before && before > 0) return before;
  }
}

describe("a client that does not read", () => {
  test("the provider is held back, memory stays small, and reading lets it flow again", async () => {
    const READERS = 8;
    const before = process.memoryUsage().rss;
    const fountains = Array.from({ length: READERS }, () => fountain(64 * 1024));
    const opens = [];
    for (const { frames } of fountains) {
      scene.at("deepinfra").next({ frames });
      opens.push(await openChat(scene.gateway.url, tenant.key, chatBody({ stream: true }), "unread"));
    }
    const amounts = await Promise.all(fountains.map(({ drawn }) => still(drawn)));
    // What is drawn lies in the sockets of the system, of which there are two for each stream.
    for (const amount of amounts) expect(amount).toBeLessThan(24 * MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(READERS * 16 * MIB);
    const [first] = opens;
    const [source] = fountains;
    first?.response.on("data", () => undefined);
    await vi.waitFor(() => expect(source?.drawn.bytes).toBeGreaterThan((amounts[0] ?? 0) + 4 * MIB));
    for (const open of opens) open.hangUp();
    await scene.rowsOnce(tenant, READERS);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  });

  test("it is not waited for longer than any request may take: the provider and the money are given back", async () => {
    const brief = await openScene(["deepinfra"], { GATEWAY_REQUEST_TIMEOUT_MS: "700" });
    try {
      const reader = await brief.gateway.tenant();
      brief.at("deepinfra").next({ frames: fountain(64 * 1024).frames });
      const open = await openChat(brief.gateway.url, reader.key, chatBody({ stream: true }), "unread");
      expect(await (await brief.at("deepinfra").arrived(1)).over).toBe("aborted");
      await brief.rowsOnce(reader, 1);
      expect(await brief.wallet(reader)).toMatchObject({ held: "0.00" });
      open.hangUp();
    } finally {
      await brief.close();
    }
  });

  /** A server that streams to one client, which is as patient with it as the test says. */
  async function serving(write: (sink: Sink) => void): Promise<{ client: Socket; gone: Promise<void> }> {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const server = createServer((_request, response) => {
      const sink = sinkOver(response, 200);
      response.once("close", resolve);
      sink.start(200, { "content-type": "text/event-stream" });
      write(sink);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void server.close());
    const address = server.address();
    const client = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
    onTestFinished(() => void client.destroy());
    client.on("error", () => undefined);
    client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    return { client, gone };
  }

  test.each(["in the middle of an answer", "at the end of an answer"])(
    "its connection is closed when it takes nothing for too long, %s",
    async (where) => {
      const { gone } = await serving((sink) => {
        const much = "x".repeat(32 * MIB);
        if (where.startsWith("at the end")) sink.end(much);
        else sink.write(much);
      });
      await gone;
    },
  );

  test("a client that has caught up is not closed while nothing is sent", async () => {
    const { client, gone } = await serving((sink) => {
      sink.write("x".repeat(8 * MIB));
      void sink.drained().then(() => setTimeout(() => sink.end("the end"), 600));
    });
    let text = "";
    client.setEncoding("latin1");
    client.on("data", (chunk: string) => {
      text = (text + chunk).slice(-100);
    });
    await gone;
    await vi.waitFor(() => expect(text).toContain("the end"));
  });
});
