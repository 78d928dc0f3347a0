import { afterAll, beforeAll, expect, test } from "vitest";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { CHAT, expectRefusal, HELLO } from "./wire.ts";

let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
});
afterAll(() => gateway.close());

const question = { instructions: "Is it on?" };
const messages = HELLO.messages;
const form = (model: string) => {
  const fields = new FormData();
  fields.set("model", model);
  fields.set("file", new Blob([new Uint8Array(64)]), "a.wav");
  return fields;
};
const SURFACES: readonly (readonly [string, (model: string) => unknown])[] = [
  [CHAT, (model) => ({ model, messages })],
  ["/v1/messages", (model) => ({ model, messages, max_tokens: 5 })],
  ["/v1/messages/count_tokens", (model) => ({ model, messages })],
  ["/v1/responses", (model) => ({ model, input: "hi" })],
  ["/v1/embeddings", (model) => ({ model, input: "hi" })],
  ["/v1/audio/speech", (model) => ({ model, input: "hi", voice: "one" })],
  ["/v1/audio/transcriptions", form],
  ["/v1/decisions", (model) => ({ model, state: "It is.", questions: { q: { type: "noul", ...question } } })],
  ["/openai/v1/decisions", (model) => ({ model, input: "It is.", questions: [{ type: "predicate", ...question }] })],
];

async function post(path: string, body: unknown) {
  const isForm = body instanceof FormData;
  const response = await fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { "x-api-key": tenant.key, ...(isForm ? {} : { "content-type": "application/json" }) },
    body: isForm ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text), text };
}

test.each(SURFACES)("LOG-03 %s: a model name over 256 characters is refused and not logged", async (path, body) => {
  const answer = await post(path, body(`SECRET ${"x".repeat(40_000)}`));
  const error = expectRefusal(answer, 400, "invalid_value");
  expect([error["param"], error["message"]]).toEqual(["model", 'Field "model" must have at most 256 characters.']);
  const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1`);
  expect(JSON.stringify(data)).not.toContain("SECRET");
});

test.each(SURFACES.slice(4))(
  "LOG-01 %s: a requested router is in the log with the other known fields",
  async (path, body) => {
    for (const model of ["auto", "@team/fast"]) {
      const answer = await post(path, body(model));
      expectRefusal(answer, 400, "router_not_supported");
      const row = await gateway.manage("GET", `/requests/${answer.body.error.request_id}`);
      expect(row.model_requested).toBe(model);
      const known = await post(path, body("missing/model"));
      expect(row.detail).not.toBeNull();
      expect(row.detail).toEqual((await gateway.manage("GET", `/requests/${known.body.error.request_id}`)).detail);
    }
  },
);

test.each(SURFACES)("LOG-01 LOG-02 %s: the longest allowed name is logged and searchable", async (path, body) => {
  const model = `${path.replaceAll("/", "-")}-`.padEnd(256, "x");
  expectRefusal(await post(path, body(model)), 404, "model_not_found");
  const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?model=${model}`);
  expect(data.map((one: { model_requested: string }) => one.model_requested)).toEqual([model]);
});
