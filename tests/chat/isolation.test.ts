import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway } from "../support/gateway.ts";
import { allProven } from "../support/proofs.ts";
import { chatBody, connectedTo, contentOf, openChat, openScene, QUIET, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type ReplySource, startUpstream, type Upstream } from "../support/upstream.ts";

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

describe("SAFE-04 isolation of workspaces", () => {
  const FORGED = "forged for another caller";
  /** Answers at once, and writes one byte after the response. */
  const beyond = () => {
    const body = JSON.stringify(chatJson({ content: "mine" }));
    return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}!`;
  };
  const connectionsOf = async (one: Scene["gateway"], upstream: Upstream, keys: readonly string[]) => {
    const used: (number | undefined)[] = [];
    for (const key of keys) {
      const { status } = await one.call(key, "/v1/chat/completions", { body: chatBody({}) });
      expect(status).toBe(200);
      used.push(upstream.requests.at(-1)?.connection);
    }
    return used;
  };

  test("SAFE-04 GATEWAY_UPSTREAM_ISOLATION=workspace: a response sent late never reaches another workspace", async () => {
    const isolated = await openScene(["deepinfra"], { GATEWAY_UPSTREAM_ISOLATION: "workspace" });
    try {
      const upstream = isolated.at("deepinfra");
      const [mine, other] = [await isolated.gateway.tenant(), await isolated.gateway.tenant()];
      const seen = new Set<number>();
      // The second request of a connection gets what the first one staged: indistinguishable from its own response.
      upstream.always(({ connection }) => {
        const content = seen.has(connection) ? FORGED : "own";
        seen.add(connection);
        return { json: chatJson({ content }) };
      });
      const contentFor = async (key: string) => (await isolated.chat(key)).body.choices[0].message.content;
      expect(await contentFor(mine.key)).toBe("own");
      expect(await contentFor(other.key)).toBe("own");
      expect(await contentFor(mine.key)).toBe(FORGED);
    } finally {
      await isolated.close();
    }
  });

  test("SAFE-04 unsolicited bytes are counted, audited, and isolate their address from then on, also after a restart", async () => {
    const upstream = await startUpstream(() => ({ json: chatJson({ content: "ok" }) }));
    const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-isolation-"));
    onTestFinished(async () => {
      await upstream.close();
      await rm(dataDir, { recursive: true, force: true });
    });
    const env = { ...connectedTo(new Map([["deepinfra", upstream]])), ...QUIET };
    let gateway = await startGateway({ env, dataDir, prepare: allProven });
    const keys = [(await gateway.tenant()).key, (await gateway.tenant()).key, (await gateway.tenant()).key];
    const counted = async () =>
      /gateway_upstream_unsolicited_bytes_total\{pool="shared"\} (\d+)/.exec(
        await (await fetch(`${gateway.url}/metrics`)).text(),
      )?.[1];
    expect(new Set(await connectionsOf(gateway, upstream, keys)).size).toBe(1);
    expect(await counted()).toBe("0");
    upstream.next({ raw: beyond() });
    await connectionsOf(gateway, upstream, keys.slice(0, 1));
    expect(await counted()).toBe("1");
    expect(new Set(await connectionsOf(gateway, upstream, [...keys, ...keys])).size).toBe(3);
    await eventually(async () => {
      const { data } = await gateway.manage("GET", "/audit?action=upstream.isolate");
      expect(data).toMatchObject([{ actor: "gateway", target: new URL(upstream.baseUrl).origin }]);
    });
    await gateway.close();
    gateway = await startGateway({ env, dataDir });
    onTestFinished(() => gateway.close());
    expect(new Set(await connectionsOf(gateway, upstream, [...keys, ...keys])).size).toBe(3);
    expect(await counted()).toBe("0");
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
