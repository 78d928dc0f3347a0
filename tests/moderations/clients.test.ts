import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => gateway?.close());

const THREAT = "I will hurt you.";

test("MODR-01 OpenAI's client gets one result per text, without naming a model", async () => {
  const { results, model, id } = await client.moderations.create({ input: ["Hello!", THREAT] });
  expect([model, results.map(({ flagged }) => flagged)]).toEqual(["sandbox/moderate", [false, true]]);
  expect(results[1]?.categories["harassment/threatening"]).toBe(true);
  expect(results[1]?.category_scores.violence).toBeGreaterThan(0.5);
  expect(results[1]?.category_applied_input_types.violence).toEqual(["text"]);
  expect(id).toMatch(/^req_/);
});

test("MODR-01 OpenAI's client gets one result for a text with an image", async () => {
  const url =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
  const { results } = await client.moderations.create({
    model: "sandbox/moderate",
    input: [
      { type: "text", text: THREAT },
      { type: "image_url", image_url: { url } },
    ],
  });
  expect(results).toHaveLength(1);
  expect(results[0]?.category_applied_input_types.violence).toEqual(["text", "image"]);
});

test("MODR-01 errors are the client's own, with the gateway's code", async () => {
  const error = await client.moderations.create({ model: "sandbox/moderate", input: "" }).catch((reason) => reason);
  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  expect(error).toMatchObject({ status: 400, param: "input" });
});

test.each([
  ["sandbox/moderate", "sandbox-us"],
  ["sandbox/moderate", "sandbox-de"],
  ["sandbox/moderate", "sandbox-fr"],
  ["sandbox/decide", "sandbox-de"],
  ["sandbox/decide", "sandbox-fr"],
])("MODR-01 %s at %s judges in its own wire format and is billed", async (model, provider) => {
  const body = { model, input: THREAT, provider: { only: [provider] } };
  const { status, body: answer, headers, text } = await gateway.call(gateway.key, "/v1/moderations", { body });
  expect([status, headers.get("x-svc-provider")], text).toEqual([200, provider]);
  expect(typeof answer.results[0].flagged).toBe("boolean");
  expect(Object.keys(answer.results[0].category_scores).length).toBeGreaterThan(5);
  expect(answer.usage.cost).toBeGreaterThan(0);
});

test("MODR-01 MOD-01 the model list names the surface and the capability", async () => {
  const { body } = await gateway.call(gateway.key, "/v1/models/sandbox/moderate");
  expect(body).toMatchObject({ svc_surfaces: ["moderations"], svc_capabilities: ["moderation"] });
});
