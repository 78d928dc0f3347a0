import { readdirSync, readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { SUBPROTOCOL, TUNNEL_PATH } from "../../src/io/tunnel/protocol.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { heldBytes } from "../support/heap.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0", GATEWAY_NODES_MAX: "3" } });
}, 60_000);
afterAll(() => gateway.close());

const workspaceOf = async () => (await gateway.tenant()).slug;

/** A call that may fail. */
const ask = (method: string, where: string, body?: Json) =>
  gateway.call(gateway.adminToken, `/manage${where}`, { method, ...(body === undefined ? {} : { body }) });

describe("nodes of a workspace", () => {
  test("NODE-01 is created with a token that is shown once and stored as a digest", async () => {
    const slug = await workspaceOf();
    const made: Json = await createNode(gateway, slug, "rack", { country: "de" });
    expect(made).toMatchObject({ name: "rack", country: "DE", state: "offline", models: [], last_seen_at: null });
    expect(made.id).toMatch(/^node_[0-9a-f]{32}$/);
    expect(made.token).toMatch(/^nt_svc_[\w-]{43}$/);
    const shown = await ask("GET", `/workspaces/${slug}/nodes/rack`);
    expect(shown.text).not.toContain("nt_svc_");
    expect(shown.text).not.toContain(sha256Hex(made.token));
    expect((await ask("GET", `/workspaces/${slug}/nodes`)).body.data).toMatchObject([{ id: made.id }]);
    const stored = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(path.join(entry.parentPath, entry.name)));
    expect(stored.some((bytes) => bytes.includes(sha256Hex(made.token)))).toBe(true);
    expect(stored.some((bytes) => bytes.includes(made.token))).toBe(false);
  });

  test("NODE-01 invalid names, countries and mappings are refused by field, and nothing is stored", async () => {
    const slug = await workspaceOf();
    const nodes = `/workspaces/${slug}/nodes`;
    const refused = async (body: Json, param: string) => {
      const answer = await ask("POST", nodes, body);
      expect([answer.status, answer.body.error.code], JSON.stringify(body)).toEqual([400, "invalid_value"]);
      expect(answer.body.error.param).toContain(param);
    };
    await refused({ name: "Rack", country: "DE" }, "name");
    await refused({ name: "a/b", country: "DE" }, "name");
    await refused({ name: "rack", country: "Germany" }, "country");
    // None is an ISO 3166-1 country: no policy could ever allow it.
    for (const country of ["ZZ", "UK", "EU", "xx"]) await refused({ name: "rack", country }, "country");
    await refused({ country: "DE" }, "name");
    await refused({ name: "rack", country: "DE", mapping: { tiny: "unknown/nothing" } }, "mapping");
    await refused({ name: "rack", country: "DE", mapping: { a: "sandbox/chat", b: "sandbox/chat" } }, "mapping");
    // Nodes serve only chat and embeddings: others would never be called.
    for (const model of ["sandbox/speak", "sandbox/listen", "sandbox/decide"])
      await refused({ name: "rack", country: "DE", mapping: { tiny: model } }, "mapping");
    expect((await ask("GET", nodes)).body.data).toEqual([]);
  });

  test("NODE-01 names are unique, and GATEWAY_NODES_MAX limits a workspace", async () => {
    const slug = await workspaceOf();
    const nodes = `/workspaces/${slug}/nodes`;
    for (const name of ["one", "two", "three"]) await createNode(gateway, slug, name);
    const again = await ask("POST", nodes, { name: "two", country: "DE" });
    expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
    const fourth = await ask("POST", nodes, { name: "four", country: "DE" });
    expect([fourth.status, fourth.body.error.message]).toEqual([409, expect.stringContaining("GATEWAY_NODES_MAX")]);
    await ask("DELETE", `${nodes}/two`);
    expect((await ask("POST", nodes, { name: "four", country: "DE" })).status).toBe(201);
  });

  test("NODE-02 another workspace's node gets the same error as one that never existed", async () => {
    const [mine, theirs] = [await workspaceOf(), await workspaceOf()];
    const made = await createNode(gateway, theirs, "rack");
    for (const [method, end] of [
      ["GET", ""],
      ["PATCH", ""],
      ["POST", "/rotate"],
      ["DELETE", ""],
    ] as const) {
      const at = (name: string) => `/workspaces/${mine}/nodes/${name}${end}`;
      const body = method === "PATCH" ? { country: "FR" } : undefined;
      for (const name of ["rack", made.id]) {
        const answer = await ask(method, at(name), body);
        const never = await ask(method, at("zzzz"), body);
        const plain = (text: string, name: string) => text.replaceAll(name, "NAME").replace(/req_[0-9a-f]+/, "");
        expect([answer.status, plain(answer.text, name)]).toEqual([404, plain(never.text, "zzzz")]);
      }
    }
    expect((await ask("GET", `/workspaces/${theirs}/nodes`)).body.data).toHaveLength(1);
  });
});

test("NODE-01 node commands on the command line", { timeout: 60_000 }, async () => {
  const slug = await workspaceOf();
  const typed = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr, json } = await gateway.cli("node", ...args, "--json");
    expect([code, stderr], args.join(" ")).toEqual([0, ""]);
    expect(stdout).not.toBe("");
    return json;
  };
  const made = await typed("create", slug, "rack", "--country", "de", "--map", "a:1=sandbox/chat, b=sandbox/embed");
  expect(made).toMatchObject({ country: "DE", mapping: { "a:1": "sandbox/chat", b: "sandbox/embed" } });
  expect(await typed("list", slug)).toMatchObject({ data: [{ name: "rack", state: "offline" }] });
  expect(await typed("set", slug, "rack", "--map", "")).toMatchObject({ mapping: {}, country: "DE" });
  expect((await typed("rotate", slug, "rack")).token).not.toBe(made.token);
  const shown = await gateway.cli("node", "show", slug, "rack");
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("offline")]);
  expect(await typed("remove", slug, "rack")).toMatchObject({ removed: true });
});

test("NODE-01 a workspace and a name suffice: the country is declared later, or removed", {
  timeout: 60_000,
}, async () => {
  const slug = await workspaceOf();
  const { code, stderr, json: made } = await gateway.cli("node", "create", slug, "rack", "--json");
  expect([code, stderr]).toEqual([0, ""]);
  expect(made).toMatchObject({ name: "rack", country: null, mapping: {}, token: expect.stringMatching(/^nt_svc_/) });
  expect((await ask("GET", `/workspaces/${slug}/nodes`)).body.data).toMatchObject([{ country: null }]);
  const declared = await gateway.cli("node", "set", slug, "rack", "--country", "de", "--json");
  expect(declared.json).toMatchObject({ country: "DE" });
  const takenBack = await gateway.cli("node", "set", slug, "rack", "--country", "", "--json");
  expect(takenBack.json).toMatchObject({ country: null });
});

describe("a connected node", () => {
  test("NODE-01 shows its models, load and latency; country and mapping change while connected", async () => {
    const slug = await workspaceOf();
    const { token } = await createNode(gateway, slug, "rack", { mapping: { tiny: "sandbox/chat" } });
    const local = await localForTest({ models: ["tiny", "nomic-embed"], embeds: ["nomic-embed"] });
    agentForTest(gateway.url, token, local.url);
    const node = await waitForNodeState(gateway, slug, "rack", "connected");
    expect(node).toMatchObject({
      models: ["tiny", "nomic-embed"],
      agent: "test",
      server: "local-test",
      capacity: 8,
      running: 0,
      address: "127.0.0.1",
      served: [
        { id: "tiny", model: "node/rack/tiny", mapped_to: "sandbox/chat", surfaces: ["chat"] },
        { id: "nomic-embed", mapped_to: null, surfaces: ["embeddings"] },
      ],
    });
    const changed = await ask("PATCH", `/workspaces/${slug}/nodes/rack`, { country: "fr", mapping: null });
    expect(changed.body).toMatchObject({ country: "FR", mapping: {}, state: "connected" });
    expect(changed.body.connected_at).toBe(node.connected_at);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_nodes_connected [1-9]/m);
    const doctor: Json = await gateway.manage("GET", "/doctor");
    expect(doctor.checks.find(({ name }: Json) => name === "nodes")).toMatchObject({
      ok: true,
      detail: expect.stringContaining("connected"),
    });
  });

  test("NODE-01 a new token revokes the old one and its connection, and its agent reports why", async () => {
    const slug = await workspaceOf();
    const { token } = await createNode(gateway, slug, "rack");
    const local = await localForTest();
    const agent = agentForTest(gateway.url, token, local.url);
    await waitForNodeState(gateway, slug, "rack", "connected");
    const rotated: Json = await gateway.manage("POST", `/workspaces/${slug}/nodes/rack/rotate`);
    // Immediately: the change is effective when its response arrives.
    expect((await ask("GET", `/workspaces/${slug}/nodes/rack`)).body.state).toBe("offline");
    expect(await agent.over).toContain("revoked");
    expect(await agentForTest(gateway.url, token, local.url).over).toContain("node token is invalid");
    agentForTest(gateway.url, rotated.token, local.url);
    await waitForNodeState(gateway, slug, "rack", "connected");
  });

  test("NODE-01 a removed node is disconnected at once, and its name is free again", async () => {
    const slug = await workspaceOf();
    const { token } = await createNode(gateway, slug, "rack");
    const agent = agentForTest(gateway.url, token, (await localForTest()).url);
    await waitForNodeState(gateway, slug, "rack", "connected");
    expect(await gateway.manage("DELETE", `/workspaces/${slug}/nodes/rack`)).toMatchObject({ removed: true });
    expect(await agent.over).toContain("removed");
    await createNode(gateway, slug, "rack");
  });
});

type Answered = { readonly status: number; readonly headers: IncomingMessage["headers"]; readonly body: Json };

/** A raw handshake; defaults are those of an agent. */
function handshake(
  url: string,
  over: Record<string, string | undefined> = {},
  method = "GET",
): Promise<Answered | "open"> {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": SUBPROTOCOL,
    ...over,
  };
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${TUNNEL_PATH}`, { method, headers: sent });
    request.once("error", reject);
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      resolve("open");
    });
    request.once("response", async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) });
    });
    request.end();
  });
}

describe("the node listener", () => {
  let token: string;
  beforeAll(async () => {
    token = (await createNode(gateway, await workspaceOf(), "door")).token;
  });

  test("NODE-01 accepts a valid token", async () => {
    expect(await handshake(gateway.url, { authorization: `Bearer ${token}` })).toBe("open");
  });

  test("NODE-01 AUTH-06 no token, another kind of token or an altered one: 401 in an error envelope", async () => {
    const { key } = await gateway.tenant();
    for (const authorization of [
      undefined,
      "Bearer",
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${key}`,
      `Bearer ${gateway.adminToken}`,
    ]) {
      const answer = await handshake(gateway.url, { authorization });
      expect(answer, authorization).toMatchObject({
        status: 401,
        body: { error: { code: "invalid_node_token", type: "authentication_error" } },
      });
      if (answer === "open") continue;
      expect(answer.headers["x-svc-request-id"]).toMatch(/^req_/);
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
  });

  test("NODE-01 without upgrade, or with another protocol version: 426 with a hint", async () => {
    const plain = await gateway.call("", TUNNEL_PATH);
    expect([plain.status, plain.body.error.code]).toEqual([426, "upgrade_required"]);
    expect(plain.headers.get("upgrade")).toBe("websocket");
    for (const offered of [undefined, "inference-node.v999"]) {
      const answer = await handshake(gateway.url, {
        authorization: `Bearer ${token}`,
        "sec-websocket-protocol": offered,
      });
      expect(answer).toMatchObject({ status: 426, body: { error: { code: "upgrade_required" } } });
      if (answer !== "open") expect(answer.body.error.message).toContain("Update");
    }
  });

  test("NODE-01 refuses browser pages and malformed handshakes", async () => {
    const authorization = `Bearer ${token}`;
    const page = await handshake(gateway.url, { authorization, origin: "https://evil.example" });
    expect(page).toMatchObject({ status: 403, body: { error: { code: "cross_site_request" } } });
    for (const over of [{ "sec-websocket-key": "short" }, { "sec-websocket-version": "8" }])
      expect(await handshake(gateway.url, { authorization, ...over })).toMatchObject({ status: 400 });
  });

  test("NODE-01 ignores Upgrade on every other path", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const answer = await new Promise<number | undefined>((resolve) => {
      httpRequest(`${gateway.url}/healthz`, { headers }, ({ statusCode }) => resolve(statusCode)).end();
    });
    expect(answer).toBe(200);
    expect(
      await handshake(gateway.url, { authorization: `Bearer ${token}`, "content-length": "0" }, "POST"),
    ).toMatchObject({
      status: 405,
    });
  });

  test("NODE-01 the rate limit per address applies", async () => {
    const busy = await gatewayForTest({ env: { GATEWAY_RPM_IP: "3" } });
    for (let count = 0; count < 3; count += 1) expect(await handshake(busy.url)).toMatchObject({ status: 401 });
    expect(await handshake(busy.url)).toMatchObject({ status: 429, body: { error: { code: "rate_limit_exceeded" } } });
  });

  test("NODE-02 OPS-01 a stopping gateway tells nodes to reconnect, and waits for no idle one", async () => {
    const stopping = await startGateway({ env: { GATEWAY_DRAIN_TIMEOUT_MS: "600000" } });
    try {
      const { slug } = await stopping.tenant();
      const made = await createNode(stopping, slug, "rack");
      const ws = new WebSocket(`${stopping.url}${TUNNEL_PATH}`, SUBPROTOCOL, {
        headers: { authorization: `Bearer ${made.token}` },
      });
      await new Promise((resolve, reject) => {
        ws.once("open", resolve);
        ws.once("error", reject);
      });
      const closed = new Promise<number>((resolve) => ws.once("close", (code: number) => resolve(code)));
      await stopping.close();
      expect(await closed).toBe(1012);
    } finally {
      await stopping.close();
    }
  });
});

/** `GATEWAY_TEST_NODES=1000 npx vitest run tests/nodes/manage.test.ts -t idle` for the full count. */
const CROWD = Number(process.env["GATEWAY_TEST_NODES"] ?? 200);

test(`NODE-01 one gateway holds ${CROWD} idle nodes`, { timeout: 120_000 }, async () => {
  const crowded = await gatewayForTest({ env: { GATEWAY_RPM_IP: "0", GATEWAY_NODES_MAX: "10000" } });
  const { slug } = await crowded.tenant();
  const local = await localForTest();
  const made = [];
  for (let count = 0; count < CROWD; count += 1) made.push(await createNode(crowded, slug, `n-${count}`));
  const before = heldBytes();
  const agents = made.map(({ token }) => agentForTest(crowded.url, token, local.url));
  const connected = async () => /^gateway_nodes_connected (\d+)/m.exec(await metricsOf(crowded))?.[1];
  while ((await connected()) !== String(CROWD)) await sleep(100);
  // Both ends are in this process: an idle node costs the gateway at most half of it.
  const perNodeBytes = (heldBytes() - before) / CROWD;
  if (process.env["GATEWAY_TEST_NODES"] !== undefined)
    process.stdout.write(`both ends of an idle node: ${Math.round(perNodeBytes / 1024)} KiB\n`);
  expect(perNodeBytes).toBeLessThan(1024 * 1024);
  expect(agents.every(({ statuses }) => statuses.at(-1)?.state === "connected")).toBe(true);
  const answer = await crowded.call("", "/healthz");
  expect(answer.status).toBe(200);
});

const metricsOf = async ({ url }: TestGateway) => (await fetch(`${url}/metrics`)).text();
