import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import { eventually } from "../support/eventually.ts";
import type { Tenant } from "../support/gateway.ts";
import { heldBytes } from "../support/heap.ts";
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

/** An endless stream, and how much of it was read so far. */
function endlessSource(wordBytes: number) {
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

/** Resolves with the amount once reading has paused. */
async function still(drawn: { readonly bytes: number }): Promise<number> {
  for (;;) {
    const before = drawn.bytes;
    await sleep(150);
    if (drawn.bytes === before && before > 0) return before;
  }
}

describe("a client that does not read", () => {
  test("backpressure reaches the provider, memory stays small, and reading resumes the flow", async () => {
    const READERS = 8;
    const before = heldBytes();
    const endlessSources = Array.from({ length: READERS }, () => endlessSource(64 * 1024));
    const opens = [];
    for (const { frames } of endlessSources) {
      scene.at("deepinfra").next({ frames });
      opens.push(await openChat(scene.gateway.url, tenant.key, chatBody({ stream: true }), "unread"));
    }
    const amounts = await Promise.all(endlessSources.map(({ drawn }) => still(drawn)));
    // What was read is in the system's socket buffers, two for each stream.
    for (const amount of amounts) expect(amount).toBeLessThan(24 * MIB);
    expect(heldBytes() - before).toBeLessThan(READERS * 16 * MIB);
    const [first] = opens;
    const [source] = endlessSources;
    first?.response.on("data", () => undefined);
    await eventually(() => expect(source?.drawn.bytes).toBeGreaterThan((amounts[0] ?? 0) + 4 * MIB));
    for (const open of opens) open.hangUp();
    await scene.rowsOnce(tenant, READERS);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  });

  test("SAFE-01 after one long event backpressure still reaches the provider, and all arrives in order", async () => {
    const COUNT = 1_200;
    const WORD = "w".repeat(32 * 1024);
    const [role = "", long = "", ...end] = chatFrames([`long ${"x".repeat(100_000)}`]);
    const drawn = { bytes: 0 };
    function* frames(): Generator<string> {
      yield role + long;
      for (let nth = 0; nth < COUNT; nth += 1) {
        const [, word = ""] = chatFrames([`${nth} ${WORD}`]);
        drawn.bytes += word.length;
        yield word;
      }
      yield* end;
    }
    scene.at("deepinfra").next({ frames: frames() });
    const open = await openChat(scene.gateway.url, tenant.key, chatBody({ stream: true }), "unread");
    expect(await still(drawn)).toBeLessThan(24 * MIB);
    const chunks: Buffer[] = [];
    for await (const chunk of open.response) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const contents = text.matchAll(/"content":"(\w+) (\w+)"/g);
    const words = Array.from(contents, ([, name, word = ""]) => `${name} ${word.length}`);
    const expected = Array.from({ length: COUNT }, (_, nth) => `${nth} ${WORD.length}`);
    expect(words).toEqual(["long 100000", ...expected]);
    expect(drawn.bytes).toBeGreaterThan(COUNT * WORD.length);
  });

  test("BILL-02 CHAT-09 it is ended at the request timeout: the call is cancelled, and what was sent is charged", async () => {
    const folder = changedCatalogue({ deepinfra: (facts) => Object.assign(facts, { quirks: ["bills-on"] }) });
    const env = { GATEWAY_REQUEST_TIMEOUT_MS: "700", GATEWAY_CATALOGUE_DIR: folder };
    const brief = await openScene(["deepinfra"], env);
    try {
      const reader = await brief.gateway.tenant();
      // Short events fill the socket buffers well before the deadline, also on a busy machine.
      brief.at("deepinfra").next({ frames: endlessSource(32 * 1024).frames });
      const open = await openChat(brief.gateway.url, reader.key, chatBody({ stream: true }), "unread");
      expect(await (await brief.at("deepinfra").arrived(1)).over).toBe("aborted");
      const [row] = await brief.rowsOnce(reader, 1);
      expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", usage: { estimated: true } });
      expect(await brief.wallet(reader)).toMatchObject({ held: "0.00" });
      expect(await brief.charges(reader)).toHaveLength(1);
      // A client that resumes reading gets the reason.
      let last = "";
      for await (const chunk of open.response) last = `${last}${chunk}`.slice(-2000);
      expect(last).toContain('"code":"upstream_timeout"');
      // A provider that bills after a cancel is not read for longer either once the client has left.
      const frames = chatFrames(["Hello"]).slice(0, 2);
      brief.at("deepinfra").next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
      const left = await openChat(brief.gateway.url, reader.key, chatBody({ stream: true }));
      await left.until("Hello");
      left.hangUp();
      expect(await (await brief.at("deepinfra").arrived(2)).over).toBe("aborted");
      await brief.rowsOnce(reader, 2);
      expect(await brief.charges(reader)).toHaveLength(2);
    } finally {
      await brief.close();
    }
  });
});
