import { createHash, createHmac } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { replyOf } from "../support/converse.ts";
import { gatewayForTest, type Json } from "../support/gateway.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const MODEL = "amazon/nova-2-lite";
const ANSWER = { content: [{ text: "Hello." }], stopReason: "end_turn", usage: { inputTokens: 1, outputTokens: 1 } };

describe("credentials of Amazon Bedrock", () => {
  const KEYS = { AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "secret/canary+77" };
  const upstreams: Upstream[] = [];
  const quiet = { GATEWAY_SANDBOX: "off", GATEWAY_DRAIN_TIMEOUT_MS: "1000" };
  const start = async (env: Record<string, string>) => {
    const upstream = await startUpstream({ json: replyOf(ANSWER) });
    upstreams.push(upstream);
    const gateway = await gatewayForTest({
      env: { ...quiet, PROVIDER_AWS_BEDROCK_BASE_URL: upstream.url, ...env },
    });
    const { key } = await gateway.tenant();
    const call = (model: string) =>
      gateway.call(key, "/v1/chat/completions", { body: { model, messages: [{ role: "user", content: "hé" }] } });
    return { upstream, call };
  };
  afterAll(() => Promise.all(upstreams.map((upstream) => upstream.close())));

  /** The signature, recomputed from the received request by the documented steps. */
  function expectedSignature({ path, headers, raw }: Json, secret: string, region: string): string {
    const names = /SignedHeaders=([^,]+)/.exec(headers.authorization)?.[1] ?? "";
    const encode = (text: string) =>
      encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
    const sha = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
    const canonical = [
      "POST",
      path.split("/").map(encode).join("/"),
      "",
      ...names.split(";").map((name) => `${name}:${headers[name]}`),
      "",
      names,
      sha(raw),
    ].join("\n");
    const date = headers["x-amz-date"].slice(0, 8);
    const scope = `${date}/${region}/bedrock/aws4_request`;
    const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();
    const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), "bedrock"), "aws4_request");
    return hmac(key, ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha(canonical)].join("\n")).toString("hex");
  }

  test("CHAT-01 the usual AWS variables connect the provider and sign: double-encoded path, the endpoint's region", async () => {
    const { upstream, call } = await start({ ...KEYS, AWS_SESSION_TOKEN: "session-canary" });
    for (const [model, region] of [
      [MODEL, "eu-central-1"],
      ["moonshotai/kimi-k2.5", "eu-north-1"],
    ] as const) {
      expect((await call(model)).status).toBe(200);
      const received = upstream.requests.at(-1);
      const authorization = String(received?.headers.authorization);
      expect(authorization).toContain(`Credential=AKIDTEST/`);
      expect(authorization).toContain(`/${region}/bedrock/aws4_request`);
      expect(authorization).toContain("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,");
      expect(received?.headers["x-amz-security-token"]).toBe("session-canary");
      expect(authorization.split("Signature=")[1]).toBe(
        expectedSignature(received, KEYS.AWS_SECRET_ACCESS_KEY, region),
      );
      expect(JSON.stringify(received?.rawHeaders)).not.toContain(KEYS.AWS_SECRET_ACCESS_KEY);
    }
    expect(upstream.requests[0]?.path).toBe("/model/eu.amazon.nova-2-lite-v1%3A0/converse");
  });

  test("CHAT-01 a bearer key takes precedence; without any credential the provider is not connected", async () => {
    const { upstream, call } = await start({ ...KEYS, PROVIDER_AWS_BEDROCK_API_KEY: "bearer-canary" });
    expect((await call(MODEL)).status).toBe(200);
    expect(upstream.requests[0]?.headers.authorization).toBe("Bearer bearer-canary");
    expect(upstream.requests[0]?.headers).not.toHaveProperty("x-amz-date");
    const none = await start({});
    expect(await none.call(MODEL)).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
  });

  test("an incomplete key pair stops the start and names both variables", async () => {
    await expect(start({ AWS_ACCESS_KEY_ID: "AKIDTEST" })).rejects.toThrow("AWS_SECRET_ACCESS_KEY");
  });
});
