import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import type { Json } from "../support/gateway.ts";
import { chatBody, contentOf, openChat, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type ReplySource } from "../support/upstream.ts";

let scene: Scene;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_UPSTREAM_CONNECTIONS: "4" });
});
afterAll(() => scene.close());

describe("an unsolicited response", () => {
  test("bytes that a provider leaves on an idle connection never reach the next request", async () => {
    const tenant = await scene.gateway.tenant();
    const staged = JSON.stringify(chatJson({ content: "STAGED FOR ANOTHER CALLER" }));
    const idleBytes = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${staged.length}\r\n\r\n${staged}`;
    for (let round = 0; round < 10; round += 1) {
      const upstream = scene.at("deepinfra");
      upstream.next({ json: chatJson({ content: `answer ${round}` }), idleBytes });
      const first = await scene.chat(tenant.key);
      expect(first.body.choices[0].message.content).toBe(`answer ${round}`);
      // Long enough for the staged response to arrive on the connection.
      await new Promise((resolve) => setTimeout(resolve, 25));
      upstream.next({ json: chatJson({ content: `follow-up ${round}` }) });
      const second = await scene.chat(tenant.key);
      expect(second.body.choices[0].message.content).toBe(`follow-up ${round}`);
    }
    expect(scene.at("ovhcloud").requests).toHaveLength(0);
  });

  test("bytes after a response, in the same packet, never reach the next request", async () => {
    const tenant = await scene.gateway.tenant();
    const answer = (content: string) => {
      const body = JSON.stringify(chatJson({ content }));
      return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    };
    scene.at("deepinfra").next({ raw: `${answer("mine")}${answer("STAGED")}`, end: { is: "cut", after: 0 } });
    const first = await scene.chat(tenant.key);
    scene.at("deepinfra").next({ json: chatJson({ content: "mine again" }) });
    const second = await scene.chat(tenant.key);
    expect(first.text + second.text).not.toContain("STAGED");
    expect(second.body.choices[0].message.content).toBe("mine again");
  });

  test("a connection with an incomplete response is not reused", async () => {
    const tenant = await scene.gateway.tenant();
    const upstream = scene.at("deepinfra");
    const count = upstream.requests.length;
    const frames = chatFrames(["only this"]).slice(0, 2);
    upstream.next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
    const open = await scene.open(tenant.key, { stream: true });
    await open.until("only this");
    open.hangUp();
    const cancelled = await upstream.arrived(count + 1);
    await cancelled.over;
    await scene.chat(tenant.key);
    expect(upstream.requests.at(-1)?.connection).not.toBe(cancelled.connection);
  });
});

describe("many callers on few connections", () => {
  test("two hundred interleaved requests of two workspaces, some cancelled: no content crosses over", async () => {
    const tenants = [await scene.gateway.tenant(), await scene.gateway.tenant()] as const;
    // Echoes the caller's text, slowly and in chunks, as a stream or whole.
    const echo: ReplySource = ({ json }) => {
      const request: Json = isJsonObject(json) ? json : {};
      const words = String(request.messages[0].content);
      const at = Number(/-(\d+)$/.exec(words)?.[1] ?? 0);
      if (request.stream !== true) return { json: chatJson({ content: words }), beforeHeadersMs: at % 7 };
      const pieces = words.match(/.{1,5}/g) ?? [];
      return { frames: chatFrames(pieces, { usage: "asked" }), betweenFramesMs: at % 5 };
    };
    for (const provider of ["deepinfra", "ovhcloud"] as const) scene.at(provider).always(echo);
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const owner = at % 2 === 0 ? "A" : "B";
        const { key } = at % 2 === 0 ? tenants[0] : tenants[1];
        const canary = `canary-${owner}${owner}${owner}-${at}`;
        const body = chatBody({ messages: [{ role: "user", content: canary }], stream: at % 3 !== 0 });
        const open = await openChat(scene.gateway.url, key, body);
        if (at % 3 !== 0 && at % 5 === 0) {
          await open.until("cana");
          open.hangUp();
          await open.over;
        } else expect(await open.over).toBe("whole");
        const output =
          body["stream"] === true ? contentSoFar(open.text) : JSON.parse(open.text).choices[0].message.content;
        return { canary, output, text: open.text, owner, whole: at % 3 === 0 || at % 5 !== 0 };
      }),
    );
    for (const { canary, output, text, owner, whole } of outcomes) {
      if (whole) expect(output).toBe(canary);
      else expect(canary.startsWith(output)).toBe(true);
      expect(text).not.toContain(owner === "A" ? "BB" : "AA");
    }
    const rows = await Promise.all(tenants.map((tenant) => scene.rowsOnce(tenant, 100)));
    expect(rows.map((list) => list.length)).toEqual([100, 100]);
    for (const [at, list] of rows.entries())
      expect(new Set(list.map((row) => row.key_id))).toEqual(new Set([tenants[at]?.keyId]));
    expect(scene.at("deepinfra").requests.at(-1)?.connection).toBeLessThan(200);
  });
});

/** The content of a stream that may end inside a frame. */
function contentSoFar(text: string): string {
  return contentOf(text.slice(0, text.lastIndexOf("\n\n") + 2));
}
