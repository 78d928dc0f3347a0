import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { chatFrames } from "../support/chat-bodies.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayForTest } from "../support/gateway.ts";
import { startUpstream } from "../support/upstream.ts";

test("CHAT-09 a client that does not read is disconnected, and the provider's call is cancelled", async () => {
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
  await eventually(() => expect(upstream.requests[0]?.aborted).toBe(true));
  await eventually(async () => {
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/requests`);
    expect(data[0]).toMatchObject({ error_code: "client_disconnected", status: 499 });
  });
  socket.destroy();
  await upstream.close();
});

test("a slow client that has read everything and waits for the provider stays connected", async () => {
  const word = "x".repeat(64 * 1024);
  // The provider is silent before its end for longer than the write stall limit.
  const frames = [...chatFrames(Array.from({ length: 400 }, () => word))].map((data, n) =>
    n < 395 ? data : { data: Buffer.from(String(data)), afterMs: n === 395 ? 4000 : 0 },
  );
  const upstream = await startUpstream({ frames });
  const gateway = await gatewayForTest({
    env: {
      GATEWAY_CLIENT_STALL_MS: "2500",
      GATEWAY_KEEP_ALIVE_MS: "60000",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  const { key } = await gateway.tenant();
  const socket = net.connect(Number(new URL(gateway.url).port), "127.0.0.1");
  let end = "";
  socket.on("data", (chunk) => {
    end = (end + chunk.toString("latin1")).slice(-100);
  });
  socket.pause();
  const body = JSON.stringify({
    model: "openai/gpt-oss-120b",
    stream: true,
    messages: [{ role: "user", content: "x" }],
  });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  // Slow enough to be noticed, but below the limit.
  await sleep(250);
  socket.resume();
  await eventually(() => expect(end).toContain("[DONE]"), 20_000);
  socket.destroy();
  await upstream.close();
});
