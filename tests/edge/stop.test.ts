import { expect, test } from "vitest";
import { chatFrames } from "../support/chat-bodies.ts";
import { startGateway } from "../support/gateway.ts";
import { startUpstream } from "../support/upstream.ts";

test("OPS-01, ERR-02 a stream that outlasts the drain ends with an error frame, and costs nothing", async () => {
  const [role = "", first = ""] = chatFrames(["Hello"]);
  const upstream = await startUpstream({
    frames: [role, first],
    end: { is: "stall", after: role.length + first.length },
  });
  const gateway = await startGateway({
    env: {
      GATEWAY_DRAIN_TIMEOUT_MS: "100",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  const { key } = await gateway.tenant();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openai/gpt-oss-120b", stream: true, messages: [{ role: "user", content: "x" }] }),
  });
  const id = response.headers.get("x-svc-request-id");
  const [text] = await Promise.all([response.text(), gateway.close()]);
  expect(text).toContain("Hello");
  expect(text).not.toContain("[DONE]");
  expect(JSON.parse(text.trim().split("\n\n").at(-1)?.slice(6) ?? "")).toMatchObject({
    error: { code: "upstream_error", request_id: id },
  });
  await upstream.close();
});

test("OPS-01 a gateway that is told to stop takes requests for a while yet, says so on /readyz, and sends clients elsewhere", async () => {
  const gateway = await startGateway({ env: { GATEWAY_DRAIN_DELAY_MS: "1500" } });
  const closed = gateway.close();
  let ready = await gateway.call("", "/readyz");
  while (ready.status === 200) ready = await gateway.call("", "/readyz");
  expect(ready.status).toBe(503);
  const served = await gateway.call(gateway.key, "/v1/chat/completions", {
    body: { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] },
  });
  expect(served.status).toBe(200);
  expect(served.headers.get("connection")).toBe("close");
  await closed;
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
});
