import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES } from "../../src/domain/tenancy/key.ts";
import { type Called, startGateway, type TestGateway } from "../support/gateway.ts";
import { PNG_URL, pngFile, sendForm } from "../support/images.ts";
import { transcribe } from "../support/transcriptions.ts";
import { routesWithAccess } from "./route-examples.ts";
import { CHAT, expectRefusal, HELLO } from "./wire.ts";

let gateway: TestGateway;
const keys = new Map<string, string>();

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
  const make = async (name: string, scopes: readonly string[] | null) => {
    const made = await gateway.manage("POST", "/workspaces/demo/keys", { name, scopes, rpm: 100_000 });
    keys.set(name, made.key);
  };
  for (const scope of SCOPES) await make(scope, [scope]);
  await make("unrestricted", null);
  await make("two", ["inference:chat", "inference:models"]);
});
afterAll(() => gateway.close());

/** The specification's table, repeated here: an unknown route fails. */
const TABLE: Readonly<Record<string, string | null>> = {
  "POST /v1/chat/completions": "inference:chat",
  "POST /v1/responses": "inference:chat",
  "GET /v1/responses/{response_id}": "inference:chat",
  "DELETE /v1/responses/{response_id}": "inference:chat",
  "POST /v1/responses/{response_id}/cancel": "inference:chat",
  "GET /v1/responses/{response_id}/input_items": "inference:chat",
  "POST /v1/messages": "inference:messages",
  "POST /v1/messages/count_tokens": "inference:messages",
  "POST /v1/embeddings": "inference:embeddings",
  "POST /v1/rerank": "inference:rerank",
  "POST /v2/rerank": "inference:rerank",
  "POST /v1/moderations": "inference:moderations",
  "POST /v1/images/generations": "inference:images",
  "POST /v1/images/edits": "inference:images",
  "POST /v1/images/variations": "inference:images",
  "POST /v1/audio/transcriptions": "inference:audio",
  "POST /v1/audio/speech": "inference:audio",
  "GET /v1/models": "inference:models",
  "GET /v1/models/{id+}": "inference:models",
  "POST /v1/decisions": "inference:decisions",
  "POST /openai/v1/decisions": "inference:decisions",
  "POST /v1beta/models/{model+}:generateContent": "inference:chat",
  "POST /v1beta/models/{model+}:streamGenerateContent": "inference:chat",
  "POST /v1beta/models/{model+}:countTokens": "inference:chat",
  "POST /v1beta/models/{model+}:embedContent": "inference:embeddings",
  "POST /v1beta/models/{model+}:batchEmbedContents": "inference:embeddings",
  "GET /v1beta/models": "inference:models",
  "GET /v1beta/models/{model+}": "inference:models",
  "POST /v1/files": "inference:batches",
  "GET /v1/files": "inference:batches",
  "GET /v1/files/{file_id}": "inference:batches",
  "DELETE /v1/files/{file_id}": "inference:batches",
  "GET /v1/files/{file_id}/content": "inference:batches",
  "POST /v1/batches": "inference:batches",
  "GET /v1/batches": "inference:batches",
  "GET /v1/batches/{batch_id}": "inference:batches",
  "POST /v1/batches/{batch_id}/cancel": "inference:batches",
  "POST /v1/messages/batches": "inference:batches",
  "GET /v1/messages/batches": "inference:batches",
  "GET /v1/messages/batches/{batch_id}": "inference:batches",
  "DELETE /v1/messages/batches/{batch_id}": "inference:batches",
  "POST /v1/messages/batches/{batch_id}/cancel": "inference:batches",
  "GET /v1/messages/batches/{batch_id}/results": "inference:batches",
  "GET /v1/auth/validate": null,
  "GET /v1/requests/{id}": null,
};

const CARRIERS = {
  Authorization: (key: string) => ({ authorization: `Bearer ${key}` }),
  "x-api-key": (key: string) => ({ "x-api-key": key }),
} as const;

/** A valid request of each surface. */
const CONTENT = { parts: [{ text: "Hello!" }] };
const BODIES: Readonly<Record<string, unknown>> = {
  "/v1beta/models/sandbox/chat:generateContent": { contents: [CONTENT] },
  "/v1beta/models/sandbox/chat:streamGenerateContent": { contents: [CONTENT] },
  "/v1beta/models/sandbox/chat:countTokens": { contents: [CONTENT] },
  "/v1beta/models/sandbox/embed:embedContent": { content: CONTENT },
  "/v1beta/models/sandbox/embed:batchEmbedContents": { requests: [{ content: CONTENT }] },
  "/v1/decisions": { model: "sandbox/decide", state: "On.", questions: { q: { type: "noul", instructions: "On?" } } },
  "/openai/v1/decisions": {
    model: "sandbox/decide",
    input: "On.",
    questions: [{ type: "predicate", instructions: "On?" }],
  },
  "/v1/audio/speech": { model: "sandbox/speak", input: "Hello!", voice: "ada" },
  "/v1/rerank": { model: "sandbox/rerank", query: "Hello!", documents: ["Hello!"] },
  "/v2/rerank": { model: "sandbox/rerank", query: "Hello!", documents: ["Hello!"] },
  "/v1/moderations": { input: "Hello!" },
  "/v1/images/generations": { model: "sandbox/paint", prompt: "Hello!" },
  "/v1/images/edits": { model: "sandbox/paint", prompt: "Hello!", images: [{ image_url: PNG_URL }] },
  "/v1/embeddings": { model: "sandbox/embed", input: "Hello!" },
  "/v1/messages/batches": { requests: [{ custom_id: "a", params: { ...HELLO, max_tokens: 64 } }] },
  "/v1/batches": { input_file_id: "file-unknown", endpoint: "/v1/chat/completions", completion_window: "24h" },
  "/v1/messages": { ...HELLO, max_tokens: 64 },
  "/v1/responses": { model: HELLO.model, input: "Hello!" },
};

function callRoute(key: string, carrier: keyof typeof CARRIERS, method: string, path: string): Promise<Called> {
  if (path === "/v1/audio/transcriptions")
    return transcribe(gateway, "", [["model", "sandbox/listen"]], undefined, CARRIERS[carrier](key));
  if (method === "POST" && path === "/v1/files") {
    const headers = { ...CARRIERS[carrier](key), "content-type": "multipart/form-data; boundary=b" };
    return gateway.call("", path, { method, headers, body: FILE_FORM });
  }
  if (path === "/v1/images/variations") {
    const form = new FormData();
    form.append("model", "sandbox/paint");
    form.append("image", pngFile());
    return sendForm(gateway, path, form, CARRIERS[carrier](key));
  }
  const body = method === "GET" || method === "DELETE" ? {} : { body: BODIES[path] ?? HELLO };
  return gateway.call("", path, { method, headers: CARRIERS[carrier](key), ...body });
}

/** A batch also needs the scope of what its lines call. */
const LINE_SCOPES: Readonly<Record<string, string>> = {
  "/v1/batches": "inference:chat",
  "/v1/messages/batches": "inference:messages",
};

const FILE_FORM =
  '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\n' +
  'content-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{}\r\n--b--\r\n';

/** Stored responses, requests, files and batches do not exist yet: an allowed key gets 404. */
function opened(method: string, path: string): number {
  if (/^\/v1\/(?:responses|requests|files|batches|messages\/batches)\//.test(path)) return 404;
  // Its input is unknown; a key without the scope of its lines does not get that far.
  return method === "POST" && path === "/v1/batches" ? 404 : 200;
}

const keyOf = (name: string): string => keys.get(name) ?? "";

describe.each(["Authorization", "x-api-key"] as const)("key in %s", (carrier) => {
  test.each(routesWithAccess("key").map(({ title, route, path }) => [title, route.method, path] as const))(
    "SCOPE-01 SCOPE-03 %s is granted by its scope and by no other",
    async (title, method, path) => {
      expect(Object.keys(TABLE)).toContain(title);
      const wanted = TABLE[title];
      for (const scope of SCOPES) {
        const answer = await callRoute(keyOf(scope), carrier, method, path);
        if (wanted === null || wanted === scope) {
          const lines = method === "POST" ? LINE_SCOPES[path] : undefined;
          if (lines !== undefined) {
            expect(expectRefusal(answer, 403, "insufficient_scope")["message"]).toContain(lines);
            continue;
          }
          expect(answer.status, `${scope}: ${answer.text}`).toBe(opened(method, path));
          continue;
        }
        const error = expectRefusal(answer, 403, "insufficient_scope");
        expect(error).toMatchObject({ type: "permission_error" });
        expect(error["message"]).toContain(wanted);
      }
    },
  );

  test.each(routesWithAccess("key").map(({ title, route, path }) => [title, route.method, path] as const))(
    "SCOPE-02 %s is granted to a key without scopes",
    async (_, method, path) => {
      expect((await callRoute(keyOf("unrestricted"), carrier, method, path)).status).toBe(opened(method, path));
    },
  );
});

test("SCOPE-04 a key with only inference:chat completes chats and gets 403 on the model list", async () => {
  const key = keyOf("inference:chat");
  expect((await gateway.call(key, CHAT, { body: HELLO })).status).toBe(200);
  for (const path of ["/v1/models", "/models", "/v1/models/sandbox/chat"])
    expectRefusal(await gateway.call(key, path), 403, "insufficient_scope");
});

test("SCOPE-03 several scopes grant several routes, and a change applies from the next request on", async () => {
  const key = keyOf("two");
  expect((await gateway.call(key, CHAT, { body: HELLO })).status).toBe(200);
  expect((await gateway.call(key, "/v1/models")).status).toBe(200);
  const { api_key_id } = (await gateway.call(key, "/v1/auth/validate")).body;
  await gateway.manage("PATCH", `/keys/${api_key_id}`, { scopes: ["inference:embeddings"] });
  expectRefusal(await gateway.call(key, "/v1/models"), 403, "insufficient_scope");
  await gateway.manage("PATCH", `/keys/${api_key_id}`, { scopes: [] });
  expect((await gateway.call(key, "/v1/models")).status).toBe(200);
});
