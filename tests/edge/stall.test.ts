import net from "node:net";
import { expect, test, vi } from "vitest";
import { chatFrames } from "../support/chat-bodies.ts";
import { gatewayForTest } from "../support/gateway.ts";
import { startUpstream } from "../support/upstream.ts";

test("CHAT-09 a client that takes nothing of its answer is let go, and the provider's call with it", async () => {
  const word = "x".repeat(64 * 1024);
  const upstream = await startUpstream({ frames: chatFrames(Array.from({ length: 400 }, () => word)) });
  const gateway = await gatewayForTest({
    env: {
      GATEWAY_CLIENT_STALL_MS: "300",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  const { key, slug } = await gateway.tenant();
  const body = JSON.stringify({
    model: "openai/gpt-oss-120b",
    stream: true,
    messages: [{ role: "user", content: "x" }],
  });
  const socket = net.connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await vi.waitFor(() => expect(upstream.requests[0]?.aborted).toBe(true), 10_000);
  const { data } = await gateway.manage("GET", `/workspaces/${slug}/requests`);
  expect(data[0]).toMatchObject({ error_code: "client_disconnected", status: 499 });
  socket.destroy();
  await upstream.close();
});

test("a client that waits for a slow provider is not let go", async () => {
  const upstream = await startUpstream({ json: { choices: [{ message: { content: "late" } }] }, beforeHeadersMs: 900 });
  const gateway = await gatewayForTest({
    env: {
      GATEWAY_CLIENT_STALL_MS: "200",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  const { key } = await gateway.tenant();
  const answer = await gateway.call(key, "/v1/chat/completions", {
    body: { model: "openai/gpt-oss-120b", messages: [{ role: "user", content: "x" }] },
  });
  expect(answer.status).toBe(200);
  await upstream.close();
});
