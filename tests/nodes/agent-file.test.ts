import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { gatewayForTest } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";

const { version } = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));

/** The machine's own Node, as on a node without the gateway's packages; the pinned one where there is none. */
const SYSTEM = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const systemNode = (() => {
  try {
    const file = execFileSync("/usr/bin/env", ["node", "-p", "process.execPath"], { env: SYSTEM, encoding: "utf8" });
    return file.trim();
  } catch {
    return process.execPath;
  }
})();

async function download(url: string): Promise<string> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const response = await fetch(`${url}/node/agent.mjs`);
  expect(response.status).toBe(200);
  const file = path.join(folder, "agent.mjs");
  writeFileSync(file, await response.text());
  return file;
}

function runAgent(file: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(systemNode, [file, ...args], {
    cwd: path.dirname(file),
    env: { ...SYSTEM, ...env },
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
  return { output, exited, stop: () => child.kill("SIGTERM") };
}

describe("the node agent of the gateway", { timeout: 90_000 }, () => {
  test("NODE-06 is served to anyone as one file, and revalidated by its ETag", async () => {
    const { url } = await gatewayForTest();
    const first = await fetch(`${url}/node/agent.mjs`);
    const text = await first.text();
    expect(first.status).toBe(200);
    expect(first.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(first.headers.get("cache-control")).toBe("no-cache");
    expect(first.headers.get("x-content-type-options")).toBe("nosniff");
    const imports = [...text.matchAll(/^import .* from "(.*)";$/gm)].map(([, name]) => name);
    expect(imports.length).toBeGreaterThan(3);
    expect(imports.filter((name) => !name?.startsWith("node:"))).toEqual([]);
    // The packages inside require their notices.
    expect(text.match(/Permission is hereby granted/g)?.length).toBeGreaterThanOrEqual(3);
    const etag = first.headers.get("etag") ?? "";
    const again = await fetch(`${url}/node/agent.mjs`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test("NODE-06 downloaded, it serves a chat request on the machine's own Node without packages", async () => {
    const gateway = await gatewayForTest();
    const tenant = await gateway.tenant();
    const { token } = await createNode(gateway, tenant.slug, "rack");
    const local = await localForTest();
    const agent = runAgent(await download(gateway.url), ["--url", gateway.url, "--upstream", local.url], {
      GATEWAY_NODE_TOKEN: token,
    });
    expect(await waitForNodeState(gateway, tenant.slug, "rack", "connected")).toMatchObject({
      agent: version,
      agent_update: null,
      models: ["tiny"],
    });
    const body = { model: "node/rack/tiny", messages: [{ role: "user", content: "Hello." }] };
    const answer = await gateway.call(tenant.key, "/v1/chat/completions", { body });
    expect([answer.status, answer.body.choices?.[0].message.content]).toEqual([200, "Hello from the rack."]);
    agent.stop();
    expect(await agent.exited).toBe(0);
    expect(agent.output.stderr).toBe("");
  });

  test("NODE-06 it has --version and --help, and says what is missing", async () => {
    const gateway = await gatewayForTest();
    const file = await download(gateway.url);
    const ended = async (args: readonly string[]) => {
      const { output, exited } = runAgent(file, args);
      return { code: await exited, ...output };
    };
    expect(await ended(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    expect((await ended(["--help"])).stdout).toContain("--upstream <url>");
    expect(await ended([])).toMatchObject({ code: 2, stderr: expect.stringContaining("--url") });
    const where = ["--url", gateway.url, "--upstream", "http://127.0.0.1:1/v1"];
    expect(await ended(where)).toMatchObject({ code: 2, stderr: expect.stringContaining("GATEWAY_NODE_TOKEN") });
  });

  test("NODE-06 a node whose agent has another version names the version to install", async () => {
    const gateway = await gatewayForTest();
    const { slug } = await gateway.tenant();
    const { token } = await createNode(gateway, slug, "rack");
    const local = await localForTest();
    agentForTest(gateway.url, token, local.url, { version: "0.0.9" });
    expect(await waitForNodeState(gateway, slug, "rack", "connected")).toMatchObject({
      agent: "0.0.9",
      agent_update: version,
    });
  });
});

test("NODE-06 the image of the agent has the pinned Node, exact packages and the files it copies", () => {
  const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, "deploy/image", file), "utf8");
  const dockerfile = read("node-agent.Dockerfile");
  const manifest = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "package.json"), "utf8"));
  const [pinned] = Object.values(manifest.optionalDependencies);
  const bases = [...dockerfile.matchAll(/^FROM \$\{(\w+)\}/gm)].map(([, base]) => base);
  expect(bases).toEqual(["NODE_IMAGE", "NODE_IMAGE"]);
  expect(dockerfile).toMatch(new RegExp(`^ARG NODE_IMAGE=node:${pinned}-trixie-slim@sha256:[0-9a-f]{64}$`, "m"));
  expect(dockerfile).toContain("npm ci --omit=dev --ignore-scripts");
  expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`);
  expect(dockerfile).toMatch(/^USER 10001:10001$/m);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )*(.*) \S+$/gm)].flatMap(([, sources = ""]) =>
    sources.split(" "),
  );
  const admitted = [...read("node-agent.Dockerfile.dockerignore").matchAll(/^!(.*)$/gm)].map(([, name]) => name);
  expect(admitted.toSorted()).toEqual(copied.toSorted());
});
