import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { cleanUp, filesWith, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { type Json, startGateway } from "../support/gateway.ts";
import { inferences, keyOf, OWN, openOwnKeyScene, requireKey } from "../support/own-keys.ts";
import { chatBody, QUIET } from "../support/scene.ts";
import { startUpstream } from "../support/upstream.ts";

test("BILL-08 Bedrock: a key pair signs requests, and its secret is stored encrypted only", async () => {
  const upstream = await startUpstream({ status: 400, json: { message: "empty" } });
  const gateway = await startGateway({ env: { ...QUIET, PROVIDER_AWS_BEDROCK_BASE_URL: upstream.url } });
  try {
    const tenant = await gateway.tenant({ credit: "0" });
    const key = JSON.stringify({ AccessKeyId: "AKIDOWNCANARY0042", SecretAccessKey: "own/secret+canary" });
    const put = await gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/aws-bedrock`, { key });
    expect(put).toMatchObject({ kind: "aws", hint: "0042", result: "accepted" });
    expect(upstream.requests[0]?.headers.authorization).toContain("Credential=AKIDOWNCANARY0042/");
    const reply = {
      output: { message: { role: "assistant", content: [{ text: "Hello." }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    };
    upstream.always({ json: reply });
    const answer = await gateway.call(tenant.key, "/v1/chat/completions", {
      body: { model: "amazon/nova-2-lite", messages: [{ role: "user", content: "Hi" }] },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(upstream.requests.at(-1)?.headers.authorization).toContain("Credential=AKIDOWNCANARY0042/");
    expect(filesWith(gateway.dataDir, ["own/secret+canary"])).toEqual([]);
  } finally {
    await gateway.close();
    await upstream.close();
  }
});

test("BILL-08 keys survive a restart, and appear in plain text in no file, log, response or metric", async () => {
  const upstream = await startUpstream();
  const letIn = new Set([OWN("kept")]);
  requireKey(upstream, letIn);
  const dataDir = temporaryFolder();
  const env = { ...QUIET, DATA_DIR: dataDir, LOG_LEVEL: "trace", PROVIDER_DEEPINFRA_BASE_URL: upstream.baseUrl };
  const outputs: string[] = [];
  const asking = async (origin: string) => {
    const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
    return async (method: string, where: string, body?: unknown, key = token): Promise<Json> => {
      const answer = await fetch(`${origin}${where}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      outputs.push(text);
      return { status: answer.status, text };
    };
  };
  try {
    const first = spawnGateway(env);
    let ask = await asking(await first.ready());
    await ask("POST", "/manage/workspaces", { slug: "own" });
    const { key } = JSON.parse((await ask("POST", "/manage/workspaces/own/keys", { environment: "live" })).text);
    const own = { key: OWN("kept"), use: "only" };
    expect((await ask("PUT", "/manage/workspaces/own/providers/deepinfra", own)).status).toBe(200);
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(200);
    letIn.delete(OWN("kept"));
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(502);
    expect((await ask("PUT", "/manage/workspaces/own/providers/deepinfra", own)).status).toBe(409);
    await first.stop();

    letIn.add(OWN("kept"));
    const second = spawnGateway(env);
    ask = await asking(await second.ready());
    expect((await ask("POST", "/v1/chat/completions", chatBody(), key)).status).toBe(200);
    expect(keyOf(inferences(upstream).at(-1) ?? { headers: {} })).toBe(OWN("kept"));
    for (const where of ["/audit", "/workspaces/own/providers", "/providers?workspace=own", "/doctor"])
      await ask("GET", `/manage${where}`);
    const rows = JSON.parse((await ask("GET", "/manage/workspaces/own/requests")).text).data;
    expect(rows.length).toBe(3);
    for (const { id } of rows) await ask("GET", `/manage/requests/${id}`);
    await ask("GET", "/metrics");
    await second.stop();
    expect(outputs.join("\n")).toContain('"own_key":"only"');
    expect(outputs.join("\n")).not.toContain(OWN("kept"));
    expect(first.stderr() + first.stdout() + second.stderr() + second.stdout()).not.toContain(OWN("kept"));
    // A workspace's own key raises no alarm for the operator.
    expect(first.stderr()).not.toMatch(/"level":[45]0.*deepinfra/);
    expect(filesWith(dataDir, [OWN("kept")])).toEqual([]);
  } finally {
    await cleanUp();
    await upstream.close();
  }
});

test("BILL-08 the command line connects, lists, tests and removes a workspace's own key", async () => {
  const scene = await openOwnKeyScene();
  try {
    const { gateway, letIn } = scene;
    const { slug } = await scene.tenant();
    letIn.add(OWN("cli"));
    const file = path.join(temporaryFolder(), "key");
    writeFileSync(file, `${OWN("cli")}\n`);
    const own = ["--workspace", slug, "--json"];
    const connected = await gateway.cli(
      "provider",
      "connect",
      "deepinfra",
      ...own,
      "--key-file",
      file,
      "--use",
      "only",
    );
    expect(connected).toMatchObject({ code: 0, json: { provider: "deepinfra", use: "only", hint: "d4e5" } });
    const listed = await gateway.cli("provider", "list", ...own);
    expect(listed.json).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ slug: "deepinfra", connected: false, own_key: "only" })]),
    });
    expect(await gateway.cli("provider", "test", "deepinfra", ...own)).toMatchObject({ code: 0, json: { ok: true } });
    letIn.delete(OWN("cli"));
    expect(await gateway.cli("provider", "test", "deepinfra", ...own)).toMatchObject({ code: 1, json: { ok: false } });
    const again = await gateway.cli("provider", "connect", "deepinfra", ...own, "--key-file", file);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("rejected the key (401)") });
    const untested = await gateway.cli("provider", "connect", "deepinfra", ...own, "--key-file", file, "--no-test");
    expect(untested).toMatchObject({ code: 0, json: { result: "untried" } });
    expect(await gateway.cli("provider", "keys", ...own)).toMatchObject({ code: 0, json: { data: [{ use: "only" }] } });
    const used = await gateway.cli("provider", "use", "deepinfra", ...own, "--use", "fallback");
    expect(used).toMatchObject({ code: 0, json: { use: "fallback", hint: "d4e5" } });
    expect(await gateway.cli("provider", "disconnect", "deepinfra", ...own)).toMatchObject({ code: 0 });
    expect((await gateway.cli("provider", "keys", ...own)).json).toEqual({ data: [], next: null });
    for (const { stdout, stderr } of [connected, listed, again, untested])
      expect(stdout + stderr).not.toContain(OWN("cli"));
  } finally {
    await scene.close();
  }
});
