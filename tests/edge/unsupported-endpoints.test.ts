import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { APIError, AzureOpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** Endpoints that clients expect and the gateway does not offer: the refusal names the alternative. */
let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  gateway = await startGateway();
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const file = () => new File(["words"], "a.txt");

describe("resources of the official clients that are not offered", () => {
  test.each<[string, number, string, () => PromiseLike<unknown>]>([
    [
      "uploads.create",
      404,
      "POST /v1/files",
      () => openai.uploads.create({ bytes: 5, filename: "a", mime_type: "text/plain", purpose: "batch" }),
    ],
    ["conversations.create", 404, "previous_response_id", () => openai.conversations.create()],
    [
      "responses.inputTokens.count",
      405,
      "POST /v1/messages/count_tokens",
      () => openai.responses.inputTokens.count({ model: "sandbox/chat", input: "words" }),
    ],
    [
      "audio.translations.create",
      404,
      "POST /v1/audio/transcriptions",
      () => openai.audio.translations.create({ file: file(), model: "sandbox/listen" }),
    ],
    [
      "chat.completions.retrieve",
      404,
      "GET /v1/responses/{response_id}",
      () => openai.chat.completions.retrieve("chatcmpl-a"),
    ],
    [
      "completions.create",
      404,
      "POST /v1/chat/completions",
      () => openai.completions.create({ model: "sandbox/chat", prompt: "words" }),
    ],
  ])("GEN-04 %s: %i, and the message says %s", async (_name, status, advice, call) => {
    const problem: unknown = await Promise.resolve(call()).catch((error: unknown) => error);
    if (!(problem instanceof APIError)) throw new Error("not refused");
    expect(problem).toMatchObject({ status });
    expect(problem.message).toContain(advice);
  });

  test.each<[string, string, () => PromiseLike<unknown>]>([
    ["beta.files.list", "in the request", () => anthropic.beta.files.list()],
  ])("GEN-04 %s: 404, and the message says %s", async (_name, advice, call) => {
    await expect(Promise.resolve(call())).rejects.toThrow(
      expect.objectContaining({ status: 404, message: expect.stringContaining(advice) }),
    );
  });

  test("GEN-04 Azure's client gets the name of the client to use", async () => {
    const azure = new AzureOpenAI({
      endpoint: gateway.url,
      apiKey: gateway.key,
      apiVersion: "2024-10-21",
      maxRetries: 0,
    });
    const request = { model: "sandbox/chat", messages: [{ role: "user" as const, content: "words" }] };
    await expect(azure.chat.completions.create(request)).rejects.toThrow(/plain client.*base URL that ends in \/v1/);
  });

  test("GEN-01 GEN-04 a base URL without /v1 is named in the refusal where it is not supported", async () => {
    const bare = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    await expect(bare.embeddings.create({ model: "sandbox/embed", input: "words" })).rejects.toThrow(
      /POST \/v1\/embeddings/,
    );
  });
});

describe("unsupported WebSocket", () => {
  const refused = (path: string) =>
    new Promise<{ status: number | undefined; headers: Record<string, unknown> }>((resolve, reject) => {
      const socket = new WebSocket(`${gateway.url.replace("http", "ws")}${path}`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      });
      socket.on("unexpected-response", (_request, response) => {
        resolve({ status: response.statusCode, headers: response.headers });
        socket.terminate();
      });
      socket.on("open", () => reject(new Error("opened")));
      socket.on("error", () => undefined);
    });

  test("GEN-04 on a POST-only path: 426, on which clients use plain HTTP", async () => {
    const { status, headers } = await refused("/v1/chat/completions");
    expect(status).toBe(426);
    expect(headers).toMatchObject({ allow: "POST", upgrade: "HTTP/1.1" });
  });

  test("GEN-04 an unknown path stays 404", async () => {
    expect((await refused("/v1/realtime?model=a")).status).toBe(404);
  });
});
