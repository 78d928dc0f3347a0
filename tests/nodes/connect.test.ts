import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayForTest, runCli, startGateway } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { COMPILED, PROGRAM } from "../support/program.ts";

/** `gateway node connect` as a process of its own. */
function runNode(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...PROGRAM, "node", "connect", ...args], {
    cwd: os.tmpdir(),
    env: { PATH: process.env["PATH"] ?? "", ...COMPILED, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exited = once(child, "close").then(([code, signal]): number | string => code ?? signal);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return { output, exited, kill: (signal: NodeJS.Signals) => child.kill(signal) };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 800; tries += 1) {
    if (isSo()) return;
    await sleep(25);
  }
  throw new Error("it did not happen in time");
}

function fileWith(text: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "token");
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

/** Whether a new connection is refused. */
function isRefusedAt(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { headers: { connection: "close" } }).then(
    async (answer) => {
      await answer.text();
      return false;
    },
    () => true,
  );
}

const OPENSSL = "/usr/bin/openssl";
const hasOpenssl = existsSync(OPENSSL);

const CHAT = { model: "node/rack/tiny", messages: [{ role: "user", content: "Hello." }] };

test("NODE-02 a stopping gateway tells a late node that it stops", async () => {
  const gateway = await startGateway();
  const tenant = await gateway.tenant();
  const { token } = await createNode(gateway, tenant.slug, "rack");
  const local = await localForTest({ held: true });
  agentForTest(gateway.url, token, local.url);
  await waitForNodeState(gateway, tenant.slug, "rack", "connected");
  const response = gateway.call(tenant.key, "/v1/chat/completions", { body: CHAT });
  await until(() => local.received.length === 1);
  // Its request has begun, so it is read to the end.
  const late = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  await once(late, "connect");
  late.write("GET /nodes/connect HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
  // A later connection was read.
  for (let time = 0; time < 2; time += 1) expect(await isRefusedAt(gateway.url)).toBe(false);
  const closed = gateway.close();
  await expect.poll(() => isRefusedAt(gateway.url)).toBe(true);
  late.write(`Authorization: Bearer ${token}\r\n\r\n`);
  let text = "";
  for await (const bytes of late) text += String(bytes);
  expect(text).toMatch(/^HTTP\/1\.1 503 /);
  expect(text).toContain("This gateway is stopping.");
  local.release();
  expect((await response).status).toBe(200);
  await closed;
});

describe("gateway node connect", { timeout: 60_000 }, () => {
  test("NODE-01 serves a workspace without an operator token, and finishes running requests on SIGTERM", async () => {
    const gateway = await gatewayForTest();
    const tenant = await gateway.tenant();
    const { token } = await createNode(gateway, tenant.slug, "rack");
    const local = await localForTest({ held: true });
    const node = runNode(["--url", gateway.url, "--upstream", local.url, "--capacity", "2"], {
      GATEWAY_NODE_TOKEN: token,
    });
    expect(await waitForNodeState(gateway, tenant.slug, "rack", "connected")).toMatchObject({
      capacity: 2,
      models: ["tiny"],
    });
    await until(() => node.output.stdout.includes(`connected to ${gateway.url} · 1 model, 0 running`));
    const response = gateway.call(tenant.key, "/v1/chat/completions", { body: CHAT });
    await until(() => local.received.length === 1);
    node.kill("SIGTERM");
    await until(() => node.output.stdout.includes("stopping"));
    local.release();
    const answer = await response;
    expect([answer.status, answer.body.choices?.[0].message.content]).toEqual([200, "Hello from the rack."]);
    expect(await node.exited).toBe(0);
    expect(node.output.stdout).toMatch(/\nstopped\n$/);
    expect(node.output.stderr).toBe("");
    // Every line is different.
    const lines = node.output.stdout.trim().split("\n");
    expect(new Set(lines).size).toBe(lines.length);
  });

  test("NODE-01 exits with 1 for a rejected token and 2 for a missing one, with a hint", async () => {
    const gateway = await gatewayForTest();
    const local = await localForTest();
    const where = ["--url", gateway.url, "--upstream", local.url];
    const refused = runNode([...where, "--token-file", fileWith("nt_svc_nobody")]);
    expect(await refused.exited).toBe(1);
    expect(refused.output.stderr).toMatch(/^error: The node token is invalid/);
    const none = await runCli(["node", "connect", ...where], {});
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("--token-file")]);
    const wrong = await runCli(["node", "connect", "--url", "gateway", "--upstream", local.url, "--token", "x"], {});
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--url")]);
  });

  test("NODE-01 names announced models the server lacks, and a likely wrong path of the address", async () => {
    const gateway = await gatewayForTest();
    const { slug } = await gateway.tenant();
    const { token } = await createNode(gateway, slug, "rack");
    const local = await localForTest();
    const outputOf = async (upstream: string, ...more: string[]) => {
      const where = ["--url", gateway.url, "--upstream", upstream, ...more];
      const node = runNode(where, { GATEWAY_NODE_TOKEN: token });
      await until(() => node.output.stdout.includes("\nconnected to"));
      node.kill("SIGTERM");
      expect(await node.exited).toBe(0);
      return node.output.stdout;
    };
    expect(await outputOf(local.url, "--models", "tiny,huge")).toContain(
      '1 model, 0 running, 0 served · the server has no "huge"',
    );
    expect(await outputOf(`${local.url}/v2`)).toContain("responded with 404 to /v1/v2/models. Set --upstream to");
  });

  test("NODE-02 reconnects after a gateway outage, and reports each state as JSON", async () => {
    const dataDir = mkdtempSync(path.join(os.tmpdir(), "gateway-test-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const first = await startGateway({ dataDir });
    const { slug } = await first.tenant();
    const { token } = await createNode(first, slug, "rack");
    const local = await localForTest();
    const node = runNode(["--url", first.url, "--upstream", local.url, "--json"], { GATEWAY_NODE_TOKEN: token });
    await waitForNodeState(first, slug, "rack", "connected");
    await first.close();
    await until(() => node.output.stdout.includes('"state":"waiting"'));
    const second = await startGateway({ dataDir, env: { PORT: new URL(first.url).port } });
    onTestFinished(() => second.close());
    expect(await waitForNodeState(second, slug, "rack", "connected")).toMatchObject({ models: ["tiny"] });
    node.kill("SIGINT");
    expect(await node.exited).toBe(0);
    const lines = node.output.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ state: "ended", problem: null });
    expect(lines.some(({ state, problem }) => state === "waiting" && problem === "the gateway is stopping")).toBe(true);
  });

  test("NODE-01 uses the proxy of HTTP_PROXY", async () => {
    const gateway = await gatewayForTest();
    const { slug } = await gateway.tenant();
    const { token } = await createNode(gateway, slug, "rack");
    const local = await localForTest();
    const proxy = await connectProxy();
    const args = ["--url", gateway.url.replace("127.0.0.1", "gateway.invalid"), "--upstream", local.url];
    const node = runNode(args, { GATEWAY_NODE_TOKEN: token, HTTP_PROXY: proxy.url });
    // Only the proxy can resolve this name; the local server is reached directly.
    await waitForNodeState(gateway, slug, "rack", "connected");
    expect(proxy.received).toEqual([`gateway.invalid:${new URL(gateway.url).port}`]);
    node.kill("SIGTERM");
    expect(await node.exited).toBe(0);
  });

  test.runIf(hasOpenssl)("NODE-01 speaks TLS to the gateway, through the proxy of HTTPS_PROXY", async () => {
    const gateway = await gatewayForTest();
    const { slug } = await gateway.tenant();
    const { token } = await createNode(gateway, slug, "rack");
    const local = await localForTest();
    const tls = await tlsBefore(gateway.url);
    const proxy = await connectProxy();
    const where = ["--url", `https://gateway.invalid:${tls.port}`, "--upstream", local.url];
    const env = { GATEWAY_NODE_TOKEN: token, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: tls.certificate };
    const node = runNode(where, env);
    expect(await waitForNodeState(gateway, slug, "rack", "connected")).toMatchObject({ models: ["tiny"] });
    expect(proxy.received).toEqual([`gateway.invalid:${tls.port}`]);
    node.kill("SIGTERM");
    expect(await node.exited).toBe(0);
    // A gateway with an unknown certificate gets no token.
    const stranger = runNode(where, { ...env, NODE_EXTRA_CA_CERTS: "" });
    await until(() => stranger.output.stdout.includes("disconnected"));
    expect(stranger.output.stdout).toMatch(/is unreachable \([A-Z_]*(?:SELF|VERIFY|CERT)[A-Z_]*\)/);
  });
});

/** Terminates TLS in front of the gateway, with its own certificate. */
async function tlsBefore(url: string) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-tls-"));
  const [key, certificate] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  const named = ["-subj", "/CN=gateway.invalid", "-addext", "subjectAltName=DNS:gateway.invalid"];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate];
  execFileSync(OPENSSL, ["req", "-x509", "-days", "2", ...made, ...named], { stdio: "ignore" });
  const sockets = new Set<Socket>();
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (near) => {
    const far = connect(Number(new URL(url).port), "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const address = server.address();
  return { certificate, port: typeof address === "object" && address !== null ? address.port : 0 };
}

/** A forward proxy that opens tunnels to this machine for any host. */
async function connectProxy() {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => {
    response.writeHead(501).end();
  });
  server.on("connect", ({ url }, near: Socket) => {
    received.push(url ?? "");
    const far = connect(Number(url?.split(":")[1]), "127.0.0.1", () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  return {
    received,
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
  };
}
