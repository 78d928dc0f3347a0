import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import {
  formWith,
  type ImageScene,
  imageEvents,
  openImages,
  PNG,
  PNG_BASE64,
  painted,
  painterHost,
  pngFile,
} from "../support/images.ts";
import { credentialOf } from "../support/scene.ts";

let scene: ImageScene;
beforeAll(async () => {
  scene = await openImages({
    bfl: painterHost(
      {
        interface: "black_forest_labs",
        operations: ["generation", "edit"],
        sizes: { "1024x1024": "1024x1024", "1344x768": "16:9" },
        inputs_max: 2,
        parameters: ["output_format", "style"],
      },
      { upstreamModel: "flux-pro-1.1" },
    ),
    mistral: painterHost(
      { interface: "mistral" },
      {
        price: { per_image: 0.1, input_per_1m_tokens: 2, output_per_1m_tokens: 6 },
        model: "lab/mistral",
        upstreamModel: "mistral-medium-latest",
        endpoint: { zero_data_retention: "no" },
      },
    ),
    plain: painterHost({}, { price: { per_image: 1 } }),
  });
});
afterAll(() => scene.close());

const only = (...slugs: readonly string[]) => ({ provider: { only: slugs } });
const since = (slug: string) => {
  const before = scene.at(slug).requests.length;
  return () => scene.at(slug).requests.slice(before);
};
const submitted = (): Json => ({
  json: { id: "job-1", polling_url: `${scene.at("bfl").url}/v1/get_result?id=job-1`, cost: 4 },
});
const state = (status: string, more: Json = {}) => ({ json: { id: "job-1", status, ...more } });
const ready = () => state("Ready", { result: { sample: `${scene.at("bfl").url}/delivery/cat.png?sig=abc` } });
const file = { body: PNG, headers: { "content-type": "image/png" } };

describe("Black Forest Labs", () => {
  test("IMG-01 BILL-05 a job is ordered, asked for until it is ready, and its image fetched without the key", async () => {
    const sent = since("bfl");
    for (const script of [submitted(), state("Pending"), ready(), file]) scene.at("bfl").next(script);
    const answer = await scene.paint({ size: "1024x1024", output_format: "png", ...only("bfl") });
    expect([answer.status, answer.body.data, answer.body.usage], answer.text).toEqual([
      200,
      [{ b64_json: PNG_BASE64 }],
      { cost: 0.04, currency: "EUR" },
    ]);
    const key = credentialOf("bfl");
    expect(
      sent().map(({ method, path, headers }) => [method, path, headers["x-key"], headers["authorization"]]),
    ).toEqual([
      ["POST", "/v1/flux-pro-1.1", key, undefined],
      ["GET", "/v1/get_result?id=job-1", key, undefined],
      ["GET", "/v1/get_result?id=job-1", key, undefined],
      ["GET", "/delivery/cat.png?sig=abc", undefined, undefined],
    ]);
    expect(sent()[0]?.json).toEqual({ prompt: "a cat", width: 1024, height: 1024, output_format: "png" });
    const row = await scene.rowOf(answer);
    expect([row.upstream_id, row.usage.images]).toEqual(["job-1", 1]);
  });

  test("IMG-01 an edit carries its images, a size as an aspect ratio, and one failed question is repeated", async () => {
    const sent = since("bfl");
    for (const script of [submitted(), { status: 503, json: {} }, ready(), file]) scene.at("bfl").next(script);
    const form = formWith({ size: "1344x768", ...only("bfl") }, ["image[]", pngFile()], ["image[]", pngFile()]);
    const answer = await scene.send(form);
    expect(answer.status, answer.text).toBe(200);
    expect(sent()[0]?.json).toEqual({
      prompt: "make it green",
      input_image: PNG_BASE64,
      input_image_2: PNG_BASE64,
      aspect_ratio: "16:9",
    });
  });

  test("IMG-01 several images are several jobs, and a streaming request gets their final events", async () => {
    scene.at("bfl").always(({ path, method }) => {
      if (method === "POST") return submitted();
      return path.startsWith("/delivery") ? file : ready();
    });
    const answer = await scene.paint({ n: 3, stream: true, ...only("bfl") });
    const events = imageEvents(answer.text);
    expect(events.map(({ usage }) => usage?.cost)).toEqual([undefined, undefined, 0.12]);
  });

  test.each(["Request Moderated", "Content Moderated"])(
    "IMG-01 %s is 400 content_policy_violation and not charged",
    async (status) => {
      scene.at("bfl").next(submitted());
      scene.at("bfl").next(state(status));
      const answer = await scene.paint(only("bfl"));
      expect([answer.status, answer.body.error.code]).toEqual([400, "content_policy_violation"]);
      expect((await scene.rowOf(answer)).cost).toBe("0.00");
    },
  );

  test.each<readonly [string, () => readonly Json[]]>([
    ["a failed job", () => [submitted(), state("Error")]],
    ["a job that is gone", () => [submitted(), state("Task not found")]],
    ["another host to ask", () => [{ json: { id: "1", polling_url: "https://evil.example/x" } }]],
    ["an image elsewhere", () => [submitted(), state("Ready", { result: { sample: "http://169.254.169.254/x" } })]],
    ["a page instead of the image", () => [submitted(), ready(), { body: "<html></html>" }]],
    ["an image that is gone", () => [submitted(), ready(), { status: 404, body: "gone" }]],
  ])("IMG-01 ROUTE-04 %s: the next endpoint serves", async (_, scripts) => {
    for (const script of scripts()) scene.at("bfl").next(script);
    scene.at("plain").next(painted(1));
    const answer = await scene.paint({ provider: { order: ["bfl", "plain"], only: ["bfl", "plain"] } });
    expect([answer.status, answer.headers.get("x-svc-provider")], answer.text).toEqual([200, "plain"]);
  });
});

describe("Mistral", () => {
  const conversation = (content: readonly Json[]): Json => ({
    json: {
      object: "conversation.response",
      conversation_id: "conv_1",
      outputs: [
        { type: "tool.execution", name: "image_generation" },
        { type: "message.output", role: "assistant", content },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 20, connector_tokens: 30, total_tokens: 150 },
    },
  });

  test("IMG-01 BILL-05 a conversation makes the image, its file is fetched, and image and tokens are billed", async () => {
    const sent = since("mistral");
    scene.at("mistral").next(
      conversation([
        { type: "text", text: "Here" },
        { type: "tool_file", tool: "image_generation", file_id: "f-1" },
      ]),
    );
    scene.at("mistral").next(file);
    const answer = await scene.paint({ model: "lab/mistral" });
    expect([answer.status, answer.body.data], answer.text).toEqual([200, [{ b64_json: PNG_BASE64 }]]);
    expect(answer.body.usage.cost).toBeCloseTo(0.1 + (130 * 2 + 20 * 6) / 1e6, 9);
    const authorization = `Bearer ${credentialOf("mistral")}`;
    expect(sent().map(({ method, path, headers }) => [method, path, headers["authorization"]])).toEqual([
      ["POST", "/v1/conversations", authorization],
      ["GET", "/v1/files/f-1/content", authorization],
    ]);
    expect(sent()[0]?.json).toEqual({
      model: "mistral-medium-latest",
      inputs: "a cat",
      tools: [{ type: "image_generation" }],
      store: false,
      stream: false,
    });
  });

  test("IMG-01 a conversation without an image is a refusal; a size cannot be requested", async () => {
    scene.at("mistral").next(conversation([{ type: "text", text: "I cannot draw that." }]));
    const refused = await scene.paint({ model: "lab/mistral" });
    expect([refused.status, refused.body.error.code]).toEqual([400, "content_policy_violation"]);
    const sized = await scene.paint({ size: "1024x1024", model: "lab/mistral" });
    expect([sized.status, sized.body.error.param]).toEqual([400, "size"]);
  });

  test("IMG-01 POL-02 its files are kept, so it never serves under zero retention", async () => {
    const tenant = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { zero_data_retention: true });
    const answer = await scene.paint({ model: "lab/mistral" }, tenant.key);
    expect([answer.status, answer.body.error.code]).toEqual([403, "zero_data_retention_required"]);
  });
});
