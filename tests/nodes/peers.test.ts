import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { reloadNodes } from "../../src/bootstrap/nodes.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { PeerClient } from "../../src/io/tunnel/peer-client.ts";
import { derivePeerKeys } from "../../src/io/tunnel/peer-keys.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { systemTimers, type Timers } from "../../src/kit/timers.ts";
import {
  agentAt,
  ask,
  carried,
  forwarding,
  instance,
  instanceOf,
  isThrough,
  KEY,
  keyIds,
  local,
  RACK,
  RULES,
  TOKEN,
  testCoordinationStore,
  until,
} from "../support/peers.ts";
import { rogueNode } from "../support/rogue-node.ts";

// The node registries of two instances with their listeners, without gateways around them.

describe("a node connected to another instance", () => {
  test("NODE-01 is known at once, serves concurrent requests, and is back after either side was cut", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const server = await local((body, response) => response.end(JSON.stringify(body)));
    const agent = agentAt(b.url, server.url);
    await isThrough(a, "b");
    expect(a.nodes.statusOf(RACK.id).live?.announcement).toMatchObject({ models: [{ id: "tiny" }], capacity: 8 });
    expect(a.nodes.overlayFor("ws_1")?.snapshot.models.has("node/rack/tiny")).toBe(true);
    const large = "x".repeat(2_000_000);
    const answers = await Promise.all(["one", large, "three"].map((text) => ask(a, { text }).done));
    expect(answers.map(({ status, text }) => [status, text.length])).toEqual([
      [200, 14],
      [200, 2_000_011],
      [200, 16],
    ]);
    // Connected nodes are announced periodically, so that after a crash the last time is known.
    await until(() => b.seen.length > 3);
    expect([new Set(b.seen), a.seen]).toEqual([new Set([RACK.id]), []]);
    // Requests from other instances count among the node's slots, and are released.
    await until(() => b.nodes.statusOf(RACK.id).inFlight === 0);
    await agent.stop();
    await until(() => instanceOf(a) === undefined);
    expect((await ask(a).done).failure).toMatchObject({ kind: "connect", sent: false });
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    // A later instance reads earlier announcements.
    const c = await instance("c", { store });
    expect(instanceOf(c)).toBe("b");
    expect((await ask(c).done).status).toBe(200);
    // The coordination store loses everything: known nodes stay, and are announced again.
    for (const name of (await store.list("")).keys()) await store.delete(name);
    await until(() => instanceOf(c) === "b" && instanceOf(a) === "b");
    const d = await instance("d", { store });
    await isThrough(d, "b");
  });

  test("NODE-01 with connections to several instances, each uses its own and leaves the previous open", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const [near, far] = [
      await local((_body, response) => response.end("near")),
      await local((_body, response) => response.end("far")),
    ];
    const first = agentAt(b.url, far.url);
    await isThrough(a, "b");
    expect((await ask(a).done).text).toBe("far");
    const own = agentAt(a.url, near.url);
    await until(() => instanceOf(a) === null);
    expect([(await ask(a).done).text, (await ask(b).done).text]).toEqual(["near", "far"]);
    await own.stop();
    await isThrough(a, "b");
    expect((await ask(a).done).text).toBe("far");
    // At one instance the second connection replaces the first, whose end does not end the node.
    agentAt(b.url, near.url);
    expect(await first.over).toContain("replaced by another connection");
    await until(() => instanceOf(a) === "b" && instanceOf(b) === null);
    for (const one of [a, b, a, b]) expect((await ask(one).done).text).toBe("near");
  });

  test("NODE-02 a disconnect reaches the node's server, and a slow client slows it down", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    let written = 0;
    let felt = false;
    const server = await local((_body, response) => {
      response.on("close", () => {
        felt = true;
      });
      const piece = Buffer.alloc(64 * 1024, 1);
      const more = () => {
        while (!response.destroyed) {
          written += piece.length;
          if (!response.write(piece)) break;
        }
      };
      response.on("drain", more);
      more();
    });
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    const call = ask(a, {}, () => "pause");
    await until(() => call.got.text.length > 0);
    // All windows and socket buffers fill up, and then nothing more is produced.
    let before = -1;
    for (let same = 0; same < 10; same = written === before ? same + 1 : 0) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(written).toBeLessThan(16 * 1024 * 1024);
    call.abort();
    expect((await call.done).failure?.kind).toBe("aborted");
    await until(() => felt);
    await until(() => b.nodes.statusOf(RACK.id).inFlight === 0);
  });

  test("NODE-02 a link that breaks during a reply ends it; the next request fails before anything is sent", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    let felt = false;
    const server = await local((_body, response) => {
      response.on("close", () => {
        felt = true;
      });
      response.write("half");
    });
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    const call = ask(a);
    await until(() => call.got.text === "half");
    b.front.close();
    expect((await call.done).failure).toMatchObject({ kind: "broken", sent: true });
    // The other side notices as well: no work continues for an abandoned response.
    await until(() => felt);
    expect((await ask(a).done).failure).toMatchObject({ kind: "connect", sent: false });
  });

  test("NODE-02 SCALE-03 does not wait for an instance that is silent without closing", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const server = await local((_body, response) => response.end("hello"));
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    expect((await ask(a).done).text).toBe("hello");
    b.front.fallSilent();
    expect((await ask(a).done).failure).toMatchObject({ kind: "broken", sent: true });
    expect((await ask(a).done).failure).toMatchObject({ kind: "connect", sent: false });
  });

  test("NODE-02 a lost instance has no nodes, and an unreachable one fails before anything is sent", async () => {
    const store = testCoordinationStore();
    const a = await instance("a", { store });
    const holder = (beat: number, id = "b") =>
      JSON.stringify({ id, url: "https://127.0.0.1:1", keys: keyIds(), rev: 1, beat });
    await store.put("holder:run-b", holder(1), 60_000);
    const announcement = { protocol: 1, agent: "1", server: "", capacity: 1, models: [] };
    const held = { leaving: false, connectedAtMs: 1, address: "", announcement };
    await store.put(`node:${RACK.id}/run-b`, JSON.stringify(held), 60_000);
    // Entries of an earlier process are void.
    await store.put(`node:${RACK.id}/run-before`, JSON.stringify(held), 60_000);
    await isThrough(a, "b");
    expect((await ask(a).done).failure).toMatchObject({ kind: "connect", sent: false });
    // No instance has it, so none is called until it announces itself.
    await until(() => instanceOf(a) === undefined);
    await store.put("holder:run-b", holder(2), 60_000);
    await isThrough(a, "b");
    // An instance that missed a message notices by the sequence number of the next one.
    const announce = (rev: number, node: string) =>
      store.publish("nodes", JSON.stringify({ is: "here", from: "run-b", rev, node }));
    await store.delete(`node:${RACK.id}/run-b`);
    await announce(3, "node_2");
    await until(() => instanceOf(a) === undefined);
    // Of two instances that have it, the one that is not stopping is used.
    await store.put(`node:${RACK.id}/run-b`, JSON.stringify({ ...held, leaving: true }), 60_000);
    await announce(4, RACK.id);
    await isThrough(a, "b");
    await store.put(`node:${RACK.id}/run-c`, JSON.stringify(held), 60_000);
    await store.put("holder:run-c", holder(1, "c"), 60_000);
    await isThrough(a, "c");
    await store.delete("holder:run-c");
    await isThrough(a, "b");
    await store.delete("holder:run-b");
    await until(() => instanceOf(a) === undefined);
  });

  test("NODE-02 a node that is removed or gets a new token is disconnected everywhere", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const server = await local((_body, response) => response.write("half"));
    const agent = agentAt(b.url, server.url);
    await isThrough(a, "b");
    const call = ask(a);
    await until(() => call.got.text === "half");
    // A reload of another workspace does not affect this one.
    b.nodes.replaceAll("ws_2", []);
    expect(b.nodes.find(RACK.id)).toBeDefined();
    // As a change of another instance is loaded.
    b.nodes.replaceAll("ws_1", [{ ...RACK, digest: sha256Hex("nt_svc_another") }]);
    expect((await call.done).failure?.kind).toBe("broken");
    expect(await agent.over).toContain("revoked");
    await until(() => instanceOf(a) === undefined);
    a.nodes.replaceAll("ws_1", []);
    expect(a.nodes.find(RACK.id)).toBeUndefined();
    // Removed here while the store is read for another instance's change: it does not come back.
    let kept = [RACK];
    const loadWorkspace = async () => {
      const found = kept;
      kept = [];
      if (found.length > 0) a.nodes.remove(RACK.id);
      return found;
    };
    await reloadNodes({ nodes: { loadWorkspace, loadAll: loadWorkspace } }, a.nodes, "ws_1");
    expect(a.nodes.find(RACK.id)).toBeUndefined();
    // A node that becomes known later gets its earlier announcements at once.
    b.nodes.replaceAll("ws_1", [RACK]);
    const c = await instance("c", { store });
    agentAt(b.url, server.url);
    await isThrough(c, "b");
    a.nodes.replaceAll(null, [RACK]);
    expect(instanceOf(a)).toBe("b");
  });

  test("NODE-03 an implausible reply here opens its circuit everywhere", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const server = await local((_body, response) => response.end());
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    a.nodes.reportImplausible(RACK.id, "another model answered");
    await until(() => b.nodes.statusOf(RACK.id).openCircuit !== null);
    expect(b.nodes.statusOf(RACK.id).openCircuit?.reason).toBe("another model answered");
    expect(b.nodes.overlayFor("ws_1")).toBeUndefined();
  });
});

describe("a node on another instance that violates the protocol", () => {
  test.each([
    ["a status that is none", [[":status", "999"]]],
    [
      "a header that has no place here",
      [
        [":status", "200"],
        ["http2-settings", "AAMAAABk"],
      ],
    ],
  ] as const)("NODE-03 %s: only that response breaks", async (_what, head) => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const rogue = await rogueNode(b.url, TOKEN, head);
    onTestFinished(() => rogue.close());
    await isThrough(a, "b");
    for (let time = 0; time < 2; time += 1)
      expect((await ask(a).done).failure).toMatchObject({ kind: "broken", sent: true });
    expect(instanceOf(a)).toBe("b");
  });
});

test("NODE-02 a node that leaves as it is called is offline, not busy; a refusal within a reply breaks it", async () => {
  const store = testCoordinationStore();
  const [a, b] = [await instance("a", { store }), await instance("b", { store })];
  const failures = [
    ["goes", { kind: "connect", sent: false, why: "the node is not connected" }],
    ["refuses late", { kind: "broken", sent: true }],
    ["refuses", { kind: "busy", sent: false }],
  ] as const;
  for (const [manner, failure] of failures)
    for (const asking of [a, b]) {
      const rogue = await rogueNode(b.url, TOKEN, manner);
      await Promise.all([isThrough(a, "b"), until(() => instanceOf(b) === null)]);
      expect([manner, (await ask(asking).done).failure]).toMatchObject([manner, failure]);
      rogue.close();
      await until(() => instanceOf(a) === undefined && instanceOf(b) === undefined);
    }
});

describe("peer authentication", () => {
  test("NODE-02 rejects and counts peers without a gateway key before any request", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const stranger = await instance("c", { store, key: Buffer.alloc(32, 9) });
    const server = await local((_body, response) => response.end("hello"));
    agentAt(b.url, server.url);
    await Promise.all([isThrough(a, "b"), isThrough(stranger, "b")]);
    // It notices itself that they share no key.
    expect((await ask(stranger).done).failure).toMatchObject({ kind: "connect", sent: false });
    expect(b.refused).toEqual([]);
    // A peer that only claims to have the right key is rejected.
    const [id = ""] = keyIds();
    expect(derivePeerKeys(new MasterKeys(KEY)).find(id)).not.toEqual(KEY);
    const lie = new PeerClient(RULES, { ids: () => [id], find: () => Buffer.alloc(32, 9) });
    onTestFinished(() => lie.close());
    const to = { nodeId: RACK.id, workspaceId: "ws_1", at: { url: `https://127.0.0.1:${b.peerPort()}`, keys: [id] } };
    expect((await carried(lie, to)).failure).toMatchObject({ kind: "connect", sent: false });
    expect(b.refused).toEqual(["handshake"]);
    const plain = await fetch(`http://127.0.0.1:${b.peerPort()}/v1/chat/completions`, { method: "POST" }).catch(
      () => null,
    );
    expect([plain, b.refused]).toEqual([null, ["handshake", "handshake"]]);
    expect(server.received).toEqual([]);
    expect((await ask(a).done).text).toBe("hello");
  });

  test("NODE-02 a replayed peer conversation is rejected", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const server = await local((_body, response) => response.end("hello"));
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    expect((await ask(a, { secret: "the words of a caller" }).done).text).toBe("hello");
    const recorded = Buffer.concat(b.front.recorded);
    expect(recorded.length).toBeGreaterThan(100);
    expect(recorded.includes("the words of a caller")).toBe(false);
    const again = connect(b.peerPort(), "127.0.0.1");
    again.on("error", () => {});
    again.resume();
    again.write(recorded);
    await once(again, "close");
    await until(() => b.refused.length > 0);
    expect([b.refused, server.received.length]).toEqual([["handshake"], 1]);
  });

  test("NODE-02 a node serves only its own workspace, node paths, and the instance it is connected to", async () => {
    const store = testCoordinationStore();
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    const heads: string[] = [];
    const server = await local((_body, response) => {
      heads.push(...Object.keys(response.req.headers));
      response.end("hello");
    });
    agentAt(b.url, server.url, { capacity: 1 });
    await isThrough(a, "b");
    const links = new PeerClient(RULES, derivePeerKeys(new MasterKeys(KEY)));
    onTestFinished(() => links.close());
    const at = { url: `https://127.0.0.1:${b.peerPort()}`, keys: keyIds() };
    const own = { nodeId: RACK.id, workspaceId: "ws_1", at };
    const absent = { kind: "connect", sent: false, why: "the node is not connected" };
    expect((await carried(links, { ...own, workspaceId: "ws_2" })).failure).toEqual(absent);
    expect((await carried(links, { ...own, nodeId: "node_2" })).failure).toEqual(absent);
    expect((await carried(links, own, "/.node/announcement")).failure).toEqual(absent);
    expect(b.refused).toEqual(["node", "node", "path"]);
    expect([(await carried(links, own)).text, server.received.length]).toEqual(["hello", 1]);
    // The node's server does not see whose it is and where it is known.
    expect(heads.filter((name) => name.startsWith("x-peer-"))).toEqual([]);
    const taken = b.nodes.entry(RACK.id);
    taken?.acquire();
    expect((await carried(links, own)).failure).toMatchObject({
      kind: "busy",
      sent: false,
      why: "the node accepts no more requests",
    });
    expect(b.refused.at(-1)).toBe("full");
  });

  test("NODE-02 waits for a connection that takes longer than the ping interval", async () => {
    const b = await instance("b", { store: testCoordinationStore() });
    const server = await local((_body, response) => response.end("hello"));
    agentAt(b.url, server.url);
    await until(() => instanceOf(b) === null);
    const links = new PeerClient({ ...RULES, pingEveryMs: 1 }, derivePeerKeys(new MasterKeys(KEY)));
    onTestFinished(() => links.close());
    const { url } = await forwarding(() => `https://127.0.0.1:${b.peerPort()}`, 50);
    const at = { url: url.replace("http:", "https:"), keys: keyIds() };
    const { text, failure } = await carried(links, { nodeId: RACK.id, workspaceId: RACK.workspaceId, at });
    expect([text, failure]).toEqual(["hello", undefined]);
  });

  test("NODE-02 during a master key rotation instances with the old key and with both continue", async () => {
    const store = testCoordinationStore();
    const next = Buffer.alloc(32, 11);
    const old = await instance("a", { store });
    const both = await instance("b", { store, key: next, previous: [KEY] });
    const server = await local((_body, response) => response.end("hello"));
    const agent = agentAt(both.url, server.url);
    await isThrough(old, "b");
    expect((await ask(old).done).text).toBe("hello");
    await agent.stop();
    agentAt(old.url, server.url);
    await isThrough(both, "a");
    expect((await ask(both).done).text).toBe("hello");
  });
});

describe("a stopping instance", () => {
  test("OPS-01, NODE-02 aborts its node requests here and elsewhere as a stop, and sends nothing more", async () => {
    const store = testCoordinationStore();
    const server = await local((_body, response) => response.write("half"));
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    for (const one of [a, b]) {
      const call = ask(one);
      await until(() => call.got.text === "half");
      one.nodes.close();
      expect((await call.done).failure).toMatchObject({ kind: "stopped", sent: true });
      expect((await ask(one).done).failure).toMatchObject({ kind: "stopped", sent: false });
      // A queued request still finds the node, and fails the same way.
      expect(one.nodes.overlayFor("ws_1")?.snapshot.models.has("node/rack/tiny")).toBe(true);
    }
    // For others it is offline.
    const c = await instance("c", { store });
    await until(() => instanceOf(c) === undefined);
  });

  test("OPS-01, NODE-02 tells callers through it that it stops; later requests fail before anything is sent", async () => {
    const store = testCoordinationStore();
    const server = await local((body, response) => {
      if (body.talk === true) response.write("half");
    });
    const [a, b] = [await instance("a", { store }), await instance("b", { store })];
    agentAt(b.url, server.url);
    await isThrough(a, "b");
    const [silent, talking] = [ask(a), ask(a, { talk: true })];
    await until(() => talking.got.text === "half" && server.received.length === 2);
    const at = { url: b.front.url.replace("http:", "https:"), keys: keyIds() };
    const links = new PeerClient(RULES, derivePeerKeys(new MasterKeys(KEY)));
    onTestFinished(() => links.close());
    const to = { nodeId: RACK.id, workspaceId: RACK.workspaceId, at };
    b.nodes.close();
    const leaving = { kind: "leaving", sent: true };
    expect((await silent.done).failure).toMatchObject(leaving);
    expect((await talking.done).failure).toMatchObject(leaving);
    // An instance that does not know yet that the node left fails the same way.
    expect((await carried(links, to)).failure).toMatchObject({ kind: "leaving", sent: false });
    expect([b.refused, server.received.length]).toEqual([[], 2]);
    await b.peers.close();
  });

  test("NODE-02 moves its nodes to another and finishes running requests; nothing is refused meanwhile", async () => {
    const store = testCoordinationStore();
    const [a, b, c] = [await instance("a", { store }), await instance("b", { store }), await instance("c", { store })];
    let finish = () => {};
    const server = await local((body, response) => {
      if (body.slow !== true) {
        response.end("quick");
        return;
      }
      response.write("slow ");
      finish = () => response.end("but whole");
    });
    // As behind one address: a new connection reaches the instance that is not stopping.
    let front = b.url;
    // This test controls how long the agent waits until others know it.
    const waits: (() => void)[] = [];
    const after: Timers["after"] = (ms, ring) => {
      if (ms < 1_000 || ms > 2_000) return systemTimers.after(ms, ring);
      waits.push(ring);
      return systemTimers.after(0, () => undefined);
    };
    const agent = agentAt((await forwarding(() => front)).url, server.url, { finishMs: 60_000, timers: { after } });
    await Promise.all([isThrough(a, "b"), isThrough(c, "b")]);
    const there = ask(a, { slow: true });
    await until(() => there.got.text === "slow ");
    front = a.url;
    let isDrained = false;
    const drained = b.peers.drain(60_000).then(() => {
      isDrained = true;
    });
    const seen: (string | null | undefined)[] = [];
    while (instanceOf(a) !== null) {
      seen.push(instanceOf(a));
      const answers = await Promise.all([a, b, c].map((one) => ask(one).done));
      expect(answers.map(({ text }) => text)).toEqual(["quick", "quick", "quick"]);
    }
    expect(seen).not.toContain(undefined);
    // The stopping instance uses the other one as well, and so do all others: its own connection ends soon.
    await Promise.all([isThrough(b, "a"), isThrough(c, "a")]);
    const answers = await Promise.all([a, b, c].map((one) => ask(one).done));
    expect(answers.map(({ text }) => text)).toEqual(["quick", "quick", "quick"]);
    // An uninformed instance is served as before; then nothing new is accepted, and running requests finish.
    const links = new PeerClient(RULES, derivePeerKeys(new MasterKeys(KEY)));
    onTestFinished(() => links.close());
    const at = { url: b.front.url.replace("http:", "https:"), keys: keyIds() };
    const late = () => carried(links, { nodeId: RACK.id, workspaceId: RACK.workspaceId, at });
    expect((await late()).text).toBe("quick");
    for (const ring of waits) ring();
    let refused = await late();
    while (refused.failure === undefined) refused = await late();
    expect([refused.failure, (await late()).failure]).toMatchObject(
      Array.from({ length: 2 }, () => ({ kind: "connect", sent: false })),
    );
    expect(isDrained).toBe(false);
    finish();
    expect(await there.done).toMatchObject({ text: "slow but whole", failure: undefined });
    await drained;
    await until(() => b.nodes.counts.local === 0);
    expect(b.nodes.statusOf(RACK.id).inFlight).toBe(0);
    await b.peers.close();
    expect(agent.statuses.at(-1)).toMatchObject({ state: "connected", problem: null });
  });
});
