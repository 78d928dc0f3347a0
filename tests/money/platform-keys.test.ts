import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, filesWith, temporaryFolder } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { inferences, keyOf, type OwnKeyScene, openOwnKeyScene, requireKey } from "../support/own-keys.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody, chunksOf, connectedTo, credentialOf, MODEL, QUIET } from "../support/scene.ts";
import { chatFrames, sse, startUpstream, type Upstream } from "../support/upstream.ts";

/** A platform credential, which must never be shown again. */
const STORED = (name: string) => `stored-canary-${name}-7c1e9a3b5d60`;

const lastKey = (upstream: Upstream) => keyOf(inferences(upstream).at(-1) ?? { headers: {} });

afterAll(cleanUp);

describe("PORTAL-10 the platform's own credential, connected at run time", () => {
  let scene: OwnKeyScene;
  beforeAll(async () => {
    scene = await openOwnKeyScene();
  });
  afterAll(() => scene.close());

  const keyFile = (text: string) => {
    const file = path.join(temporaryFolder(), "provider.key");
    writeFileSync(file, `${text}\n`);
    return file;
  };
  const typed = async (...args: string[]): Promise<Json> => {
    const { code, stderr, json } = await scene.gateway.cli("provider", ...args, "--json");
    expect([code, stderr], args.join(" ")).toEqual([0, ""]);
    return json;
  };
  const listed = async (slug: string): Promise<Json> =>
    (await scene.gateway.manage("GET", "/providers")).data.find((one: Json) => one.slug === slug);
  const doctor = async (): Promise<string> =>
    (await scene.gateway.manage("GET", "/doctor")).checks.find(({ name }: Json) => name === "providers").detail;
  const only = (provider: string) => ({ provider: { only: [provider] } });

  test("PORTAL-10 a slug and a key file suffice: all are served with it from the next request until its removal", {
    timeout: 60_000,
  }, async () => {
    const tenant = await scene.tenant();
    expect((await scene.chat(tenant, only("deepinfra"))).status).not.toBe(200);
    scene.letIn.add(STORED("a"));
    const made = await typed("connect", "deepinfra", "--key-file", keyFile(STORED("a")));
    expect(made).toMatchObject({ provider: "deepinfra", kind: "key", hint: "5d60", in_use: true, overridden_by: null });
    const served = await scene.chat(tenant, only("deepinfra"));
    expect([served.status, served.headers.get("x-svc-provider")]).toEqual([200, "deepinfra"]);
    expect(served.body.usage.cost).toBeGreaterThan(0);
    expect(lastKey(scene.deepinfra)).toBe(STORED("a"));
    expect(await scene.last(tenant)).toMatchObject({ own_key: false, provider: "deepinfra" });
    expect(await listed("deepinfra")).toMatchObject({ connected: true, credential: "stored", stored: true });
    expect(await listed("nebius")).toMatchObject({ connected: true, credential: "setting", stored: false });
    expect(await listed("mistral")).toMatchObject({ connected: false, credential: null, connected_by_settings: false });
    expect(await doctor()).toContain("deepinfra (stored), nebius (setting)");
    expect(await typed("test", "deepinfra")).toMatchObject({ ok: true, result: "accepted" });

    scene.letIn.add(STORED("b"));
    await typed("connect", "deepinfra", "--key-file", keyFile(STORED("b")));
    expect((await scene.chat(tenant, only("deepinfra"))).status).toBe(200);
    expect(lastKey(scene.deepinfra)).toBe(STORED("b"));

    expect(await typed("disconnect", "deepinfra")).toEqual({ provider: "deepinfra", removed: true, connected: false });
    expect((await scene.chat(tenant, only("deepinfra"))).status).not.toBe(200);
    expect(await listed("deepinfra")).toMatchObject({ connected: false, credential: null });
    const { data } = await scene.gateway.manage("GET", "/audit?target=deepinfra");
    expect(data.map(({ action, workspace }: Json) => [action, workspace])).toEqual([
      ["provider.disconnect", null],
      ["provider.replace_key", null],
      ["provider.connect", null],
    ]);
    expect(JSON.stringify(data)).not.toContain("canary");
    expect(filesWith(scene.gateway.dataDir, ["stored-canary"])).toEqual([]);
  });

  test("ERR-06 ERR-09 redacts any provider's credential in errors: with a status, in streams and in background work", async () => {
    const tenant = await scene.tenant();
    const put = (provider: string, key: string) =>
      scene.gateway.manage("PUT", `/providers/${provider}`, { key, skip_test: true });
    const errorFor = async (upstream: "deepinfra" | "nebius", secret: string) => {
      const message = `the word ${secret} is odd`;
      scene[upstream].next({ status: 400, json: { error: { message } } });
      const { status, body } = await scene.chat(tenant, only(upstream));
      const begun = chatFrames(["begun"]).slice(0, 2);
      scene[upstream].next({ frames: [...begun, sse({ error: { message, code: 400 } })] });
      const { text } = await scene.chat(tenant, { ...only(upstream), stream: true });
      scene[upstream].next({ status: 400, json: { error: { message } } });
      const request = { model: MODEL, input: "Hello.", background: true, ...only(upstream) };
      const { id } = (await scene.gateway.call(tenant.key, "/v1/responses", { body: request })).body;
      const kept = await eventually(async () => {
        const found = await scene.gateway.call(tenant.key, `/v1/responses/${id}`);
        expect(found.body.status).toBe("failed");
        return found.body.error.message;
      });
      return [status, body.error.message, chunksOf(text).at(-1)?.error?.message, kept];
    };
    const without = [400, ...Array(3).fill("the word [redacted] is odd")];
    await put("deepinfra", STORED("one"));
    expect(await errorFor("nebius", STORED("one"))).toEqual(without);
    expect(await errorFor("deepinfra", credentialOf("nebius"))).toEqual(without);
    await put("deepinfra", STORED("two"));
    expect(await errorFor("nebius", STORED("two"))).toEqual(without);
    // A setting shadows it: it is stored, not used.
    await put("nebius", STORED("three"));
    expect(await errorFor("deepinfra", STORED("three"))).toEqual(without);
    const pair = { access_key_id: "EXAMPLEPAIRID", secret_access_key: STORED("four") };
    await put("aws-bedrock", JSON.stringify(pair));
    expect(await errorFor("nebius", STORED("four"))).toEqual(without);
    expect(await errorFor("nebius", "EXAMPLEPAIRID")).toEqual(without);
    for (const slug of ["deepinfra", "nebius", "aws-bedrock"])
      await scene.gateway.manage("DELETE", `/providers/${slug}`);
  });

  test("ROUTE-04 ERR-01 a provider disconnected while another one fails hides nothing of that failure", async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(STORED("back"));
    await scene.gateway.manage("PUT", "/providers/deepinfra", { key: STORED("back") });
    const held = gate();
    const before = inferences(scene.nebius).length;
    scene.nebius.next({ status: 429, headers: { "retry-after": "30" }, json: {}, gate: held.closed });
    const response = scene.chat(tenant, { provider: { order: ["nebius", "deepinfra"] } });
    await eventually(() => expect(inferences(scene.nebius)).toHaveLength(before + 1));
    await scene.gateway.manage("DELETE", "/providers/deepinfra");
    held.open();
    const { status, headers, body } = await response;
    expect([status, headers.get("retry-after")]).toEqual([429, "30"]);
    expect(body.error.message).toContain(
      "The provider nebius is at its rate limit, and no other endpoint is available.",
    );
    expect((await scene.last(tenant)).attempts).toMatchObject([
      { provider: "nebius", upstream_status: 429 },
      { provider: "deepinfra", upstream_status: null, reason: "withdrawn since the plan was made" },
    ]);
  });

  test("OPS-04 rejected, malformed and unknown credentials are not stored", async () => {
    const put = async (provider: string, body: Json) => {
      const {
        status,
        body: reply,
        text,
      } = await scene.gateway.call(scene.gateway.adminToken, `/manage/providers/${provider}`, { method: "PUT", body });
      expect(text).not.toContain("canary");
      return [status, reply.error?.code, reply.error?.param];
    };
    expect(await put("deepinfra", { key: STORED("bad") })).toEqual([409, "conflict", "key"]);
    expect(await put("deepinfra", { key: "two lines\nof-canary" })).toEqual([400, "invalid_value", "key"]);
    expect(await put("deepinfra", { key: STORED("bad"), use: "first" })).toEqual([400, "unsupported_parameter", "use"]);
    expect(await put("unknown", { key: STORED("bad") })).toEqual([404, "not_found", undefined]);
    expect(await listed("deepinfra")).toMatchObject({ connected: false });
    const gone = await scene.gateway.call(scene.gateway.adminToken, "/manage/providers/deepinfra", {
      method: "DELETE",
    });
    expect([gone.status, gone.body.error.code]).toEqual([404, "not_found"]);
    const { key } = await scene.tenant();
    expect((await scene.gateway.call(key, "/manage/providers/deepinfra", { method: "DELETE" })).status).toBe(401);
  });

  test("PORTAL-10 a setting takes precedence over a stored key, and connecting reports it", {
    timeout: 60_000,
  }, async () => {
    const tenant = await scene.tenant();
    scene.letIn.add(STORED("behind"));
    const file = keyFile(STORED("behind"));
    const { code, stdout, stderr } = await scene.gateway.cli("provider", "connect", "nebius", "--key-file", file);
    expect([code, stdout]).toEqual([0, expect.stringContaining("PROVIDER_NEBIUS_API_KEY")]);
    expect(stderr).toContain("stored but not used, because a setting overrides it");
    expect((await scene.chat(tenant)).status).toBe(200);
    expect(lastKey(scene.nebius)).toBe(credentialOf("nebius"));
    expect(await listed("nebius")).toMatchObject({
      connected: true,
      credential: "setting",
      stored: true,
      overridden_by: "PROVIDER_NEBIUS_API_KEY",
      connected_by_settings: true,
    });
    expect(await typed("disconnect", "nebius")).toEqual({ provider: "nebius", removed: true, connected: true });
    const again = await scene.gateway.cli("provider", "disconnect", "nebius");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("the setting PROVIDER_NEBIUS_API_KEY")]);
  });
});

test("OPS-04 survives a restart and a new master key, and takes over when the setting is removed", {
  timeout: 60_000,
}, async () => {
  const upstream = await startUpstream();
  requireKey(upstream, new Set([STORED("kept"), credentialOf("deepinfra")]));
  const { PROVIDER_DEEPINFRA_API_KEY: setting = "", ...settings } = connectedTo(new Map([["deepinfra", upstream]]));
  const env = { ...settings, ...QUIET };
  const dataDir = temporaryFolder();
  const first = await startGateway({ dataDir, env: { ...env, PROVIDER_DEEPINFRA_API_KEY: setting } });
  let tenant: Tenant;
  const keyUsed = async ({ call }: Pick<typeof first, "call">) => {
    const { status } = await call(tenant.key, "/v1/chat/completions", { body: chatBody() });
    return [status, lastKey(upstream)];
  };
  try {
    tenant = await first.tenant();
    const made = await first.manage("PUT", "/providers/deepinfra", { key: STORED("kept") });
    expect(made).toMatchObject({ in_use: false, overridden_by: "PROVIDER_DEEPINFRA_API_KEY" });
    expect(await keyUsed(first)).toEqual([200, credentialOf("deepinfra")]);
  } finally {
    await first.close();
  }
  const second = await startGateway({ dataDir, env });
  try {
    expect(await keyUsed(second)).toEqual([200, STORED("kept")]);
    await second.manage("POST", "/master-key/rotate");
  } finally {
    await second.close();
  }
  const third = await startGateway({ dataDir, env });
  try {
    expect(await keyUsed(third)).toEqual([200, STORED("kept")]);
    expect(filesWith(dataDir, ["stored-canary"])).toEqual([]);
  } finally {
    await third.close();
    await upstream.close();
  }
});
