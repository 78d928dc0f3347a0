import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeImage } from "../../src/language/decisions/image.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { PNG, PNG_URL } from "../support/images.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => gateway?.close());

const MODEL = "sandbox/paint";
const sizeOf = (base64: string | undefined) => {
  const image = decodeImage(`data:image/png;base64,${base64}`);
  return "problem" in image ? image.problem : image.size;
};

test("IMG-01 OpenAI's client generates images without naming a model", async () => {
  const { data, usage } = await client.images.generate({ prompt: "a siamese cat", n: 2, size: "1536x1024" });
  expect(data?.map(({ b64_json: image }) => sizeOf(image))).toEqual([
    { width: 1536, height: 1024 },
    { width: 1536, height: 1024 },
  ]);
  expect(usage).toMatchObject({ currency: "EUR" });
});

test("IMG-01 OpenAI's client edits one image and several with a mask", async () => {
  const image = await toFile(PNG, "cat.png", { type: "image/png" });
  const one = await client.images.edit({ model: MODEL, prompt: "make it green", image });
  const more = await client.images.edit({ model: MODEL, prompt: "make it green", image: [image, image], mask: image });
  expect([one.data?.length, more.data?.length]).toEqual([1, 1]);
});

test("IMG-01 OpenAI's client varies an image", async () => {
  const image = await toFile(PNG, "cat.png", { type: "image/png" });
  const { data } = await client.images.createVariation({ model: MODEL, image, n: 2, size: "512x512" });
  expect(data?.map(({ b64_json: found }) => sizeOf(found)?.valueOf())).toHaveLength(2);
});

test("IMG-01 OpenAI's client reads streamed partial images of generations and edits", async () => {
  const generated = await client.images.generate({ model: MODEL, prompt: "a cat", stream: true, partial_images: 2 });
  const types: string[] = [];
  for await (const event of generated) {
    types.push(event.type);
    expect(sizeOf(event.b64_json)).toEqual({ width: 1024, height: 1024 });
    if (event.type === "image_generation.completed") expect(event.usage.output_tokens).toBe(1256);
  }
  const partial = "image_generation.partial_image";
  expect(types).toEqual([partial, partial, "image_generation.completed"]);
  const image = await toFile(PNG, "cat.png", { type: "image/png" });
  const edited = await client.images.edit({ model: MODEL, prompt: "green", image, stream: true, partial_images: 1 });
  const events = await Array.fromAsync(edited);
  expect(events.map(({ type }) => type)).toEqual(["image_edit.partial_image", "image_edit.completed"]);
});

test("IMG-01 errors are the client's own, with the gateway's code", async () => {
  const error = await client.images
    .generate({ model: MODEL, prompt: "a", response_format: "url" })
    .catch((reason) => reason);
  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  expect(error).toMatchObject({ status: 400, param: "response_format" });
});

test.each(["sandbox-us", "sandbox-de", "sandbox-fr"])("IMG-01 sandbox/paint at %s is billed", async (provider) => {
  const body = { model: MODEL, prompt: "a cat", provider: { only: [provider] } };
  const { status, body: answer, headers, text } = await gateway.call(gateway.key, "/v1/images/generations", { body });
  expect([status, headers.get("x-svc-provider")], text).toEqual([200, provider]);
  expect(answer.usage.cost).toBeGreaterThan(0);
});

test("IMG-01 an edit as JSON with data URLs works as the form does", async () => {
  const body = { model: MODEL, prompt: "green", images: [{ image_url: PNG_URL }], mask: { image_url: PNG_URL } };
  const { status, body: answer } = await gateway.call(gateway.key, "/v1/images/edits", { body });
  expect([status, answer.data?.length]).toEqual([200, 1]);
});

test("IMG-01 MOD-01 the model list names the surface and the capability", async () => {
  const { body } = await gateway.call(gateway.key, `/v1/models/${MODEL}`);
  expect(body).toMatchObject({
    svc_surfaces: ["images"],
    svc_capabilities: ["image_generation"],
    modalities_out: ["image"],
  });
});
