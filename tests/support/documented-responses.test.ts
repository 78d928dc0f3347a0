import { expect, test } from "vitest";
import { expectDocumented } from "./documented-responses.ts";

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  body,
  text: JSON.stringify(body),
  headers: new Headers({ "content-type": "application/json", ...headers }),
});
const CHAT = ["POST", "/v1/chat/completions"] as const;

test.each([
  ["a code that the route does not have", CHAT, answer(404, { error: { code: "conflict" } })],
  ["no code at all", CHAT, answer(500, {})],
  ["a 401 that names no way to authenticate", CHAT, answer(401, { error: { code: "missing_api_key" } })],
  ["another shape", CHAT, answer(200, { id: "x" })],
  ["another status", CHAT, answer(201, {})],
  ["another type", CHAT, answer(200, {}, { "content-type": "text/html" })],
  ["a replay that does not say so", CHAT, answer(200, { id: "x", object: "idempotent_replay" })],
  ["a header that is not named", CHAT, answer(404, { error: { code: "model_not_found" } }, { "x-svc-node-id": "n" })],
  [
    "a refusal of another type",
    CHAT,
    answer(404, { error: { code: "model_not_found" } }, { "content-type": "text/html" }),
  ],
  [
    "audio of no known type",
    ["POST", "/v1/audio/speech"] as const,
    answer(200, "RIFF", { "content-type": "audio/midi" }),
  ],
  [
    "no tag where one is promised",
    ["GET", "/v1/public/currencies?limit=1"] as const,
    answer(200, { data: [], next: null }),
  ],
])("GEN-02 finds an undocumented response: %s", (_what, [method, where], given) => {
  expect(() => expectDocumented(method, where, given)).toThrow("the OpenAPI document has no such answer");
});

test("GEN-02 accepts a documented one", () => {
  expectDocumented(...CHAT, answer(402, { error: { code: "insufficient_credits" } }, { "x-should-retry": "false" }));
  expectDocumented("POST", "/v1/audio/transcriptions", answer(200, undefined, { "content-type": "text/plain" }));
  expectDocumented(...CHAT, answer(404, { error: { code: "model_not_found" } }));
  expectDocumented("GET", "/v1/public/currencies", answer(200, { data: [], next: null }, { etag: '"x"' }));
  expectDocumented("GET", "/v1/public/currencies", answer(304, undefined));
});
