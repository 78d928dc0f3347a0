import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import {
  formWith,
  type ImageScene,
  imageEvents,
  openImages,
  PNG_BASE64,
  PNG_URL,
  painterHost,
  pngFile,
} from "../support/images.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { credentialOf } from "../support/scene.ts";

const GEMINI_PRICE = { input_per_1m_tokens: 2, output_per_1m_tokens: 12, image_output_per_1m_tokens: 120 };

let scene: ImageScene;
beforeAll(async () => {
  scene = await openImages({
    gemini: painterHost(
      {
        interface: "gemini",
        operations: ["generation", "edit"],
        sizes: { "1024x1024": "1:1", "2048x2048": "1:1@2K" },
        inputs_max: 3,
      },
      { price: GEMINI_PRICE },
    ),
    nova: painterHost(
      {
        interface: "bedrock_nova",
        operations: ["generation", "variation"],
        sizes: ["1024x1024", "1280x720"],
        default_size: "1024x1024",
        qualities: { low: "standard", medium: "standard", high: "premium" },
        default_quality: "medium",
      },
      {
        price: { image_prices: [{ quality: "high", per_image: 0.06 }, { per_image: 0.04 }] },
        upstreamModel: "amazon.nova-canvas-v1:0",
      },
    ),
    stability: painterHost(
      {
        interface: "bedrock_stability",
        sizes: { "1024x1024": "1:1", "1344x768": "16:9" },
        parameters: ["output_format"],
      },
      { price: { per_image: 0.08 }, upstreamModel: "stability.sd3-5-large-v1:0" },
    ),
  });
});
afterAll(() => scene.close());

const only = (...slugs: readonly string[]) => ({ provider: { only: slugs } });
const lastOf = (slug: string) => {
  const received = scene.at(slug).requests.at(-1);
  if (received === undefined) throw new Error(`${slug} received nothing`);
  return received;
};
const geminiReply = (parts: readonly Json[], more: Json = {}): Json => ({
  json: {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 7,
      candidatesTokenCount: 1300,
      totalTokenCount: 1307,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
    },
    ...more,
  },
});
const inline = { inlineData: { mimeType: "image/png", data: PNG_BASE64 } };

describe("Gemini", () => {
  test("IMG-01 BILL-05 a recorded image: the same request, text and image tokens priced apart", async () => {
    const [recorded] = loadExchange("surfaces/images/gemini-generate-content-image").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("gemini").next(scriptOf(recorded));
    const sent: Json = JSON.parse(recorded.request.body.toString());
    const answer = await scene.paint({ prompt: sent.contents[0].parts[0].text, ...only("gemini") });
    expect([answer.status, lastOf("gemini").json], answer.text).toEqual([200, sent]);
    expect([lastOf("gemini").path, lastOf("gemini").headers["x-goog-api-key"]]).toEqual([
      "/v1/models/lab-1:generateContent",
      credentialOf("gemini"),
    ]);
    const { candidates }: Json = JSON.parse(recorded.response.body.toString());
    expect(answer.body).toMatchObject({
      output_format: "jpeg",
      data: [{ b64_json: candidates[0].content.parts[0].inlineData.data }],
      usage: { input_tokens: 5, output_tokens: 1518, output_tokens_details: { text_tokens: 398, image_tokens: 1120 } },
    });
    expect(answer.body.usage.cost).toBeCloseTo((5 * 2 + 398 * 12 + 1120 * 120) / 1e6, 9);
    expect(answer.headers.has("x-svc-omitted")).toBe(false);
  });

  test("IMG-01 images to edit go before the prompt, the size as an aspect ratio, and text is reported", async () => {
    scene.at("gemini").next(geminiReply([{ text: "Here it is." }, { thought: true, ...inline }, inline]));
    const form = formWith({ size: "2048x2048", provider: { only: ["gemini"] } }, ["image", pngFile()]);
    const answer = await scene.send(form);
    expect(lastOf("gemini").json).toEqual({
      contents: [{ role: "user", parts: [inline, { text: "make it green" }] }],
      generationConfig: {
        responseModalities: ["TEXT", "IMAGE"],
        imageConfig: { aspectRatio: "1:1", imageSize: "2K" },
      },
    });
    expect([answer.status, answer.body.data.length], answer.text).toEqual([200, 1]);
    expect(answer.headers.get("x-svc-omitted")).toContain("text");
  });

  test("IMG-01 several images are several requests, and their tokens add up", async () => {
    scene.at("gemini").next(geminiReply([inline]));
    scene.at("gemini").next(geminiReply([inline]));
    const { body } = await scene.paint({ n: 2, ...only("gemini") });
    expect([body.data.length, body.usage.input_tokens, body.usage.output_tokens]).toEqual([2, 14, 2600]);
  });

  const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, candidates: [] };
  const unsafe = { candidates: [{ content: { parts: [] }, finishReason: "IMAGE_SAFETY", index: 0 }] };
  test.each([
    ["a blocked prompt", blocked, "PROHIBITED_CONTENT"],
    ["an unsafe image", unsafe, "IMAGE_SAFETY"],
    ["a text instead of an image", geminiReply([{ text: "I cannot" }]).json, "NO_IMAGE"],
  ])(
    "IMG-01 %s with status 200 is 400 content_policy_violation, and only its input is charged",
    async (_, members, word) => {
      scene.at("gemini").next(geminiReply([], members));
      const answer = await scene.paint(only("gemini"));
      expect([answer.status, answer.body.error.code]).toEqual([400, "content_policy_violation"]);
      expect(answer.body.error.message).toContain(word);
      const row = await scene.rowOf(answer);
      expect(row.usage).toMatchObject({ images: 0, input_tokens: 7 });
      expect(Number(row.cost)).toBeCloseTo(0.000014, 9);
    },
  );

  test("IMG-01 one refused image of two leaves the other, which is charged", async () => {
    scene.at("gemini").next(geminiReply([inline]));
    scene.at("gemini").next(geminiReply([], unsafe));
    const answer = await scene.paint({ n: 2, ...only("gemini") });
    expect([answer.status, answer.body.data.length]).toEqual([200, 1]);
  });
});

describe("Bedrock", () => {
  test("IMG-01 BILL-05 Nova Canvas gets sides and its own quality, and is billed per image delivered", async () => {
    scene.at("nova").next({ json: { images: [PNG_BASE64, PNG_BASE64], error: "1 of 3 images was blocked" } });
    const answer = await scene.paint({ n: 3, size: "1280x720", quality: "high", ...only("nova") });
    expect([answer.status, answer.body.data.length, answer.body.usage.cost], answer.text).toEqual([200, 2, 0.12]);
    expect([lastOf("nova").path, lastOf("nova").json]).toEqual([
      "/v1/model/amazon.nova-canvas-v1%3A0/invoke",
      {
        taskType: "TEXT_IMAGE",
        textToImageParams: { text: "a cat" },
        imageGenerationConfig: { numberOfImages: 3, width: 1280, height: 720, quality: "premium" },
      },
    ]);
  });

  test("IMG-01 Nova Canvas varies an image", async () => {
    scene.at("nova").next({ json: { images: [PNG_BASE64] } });
    const form = new FormData();
    form.append("model", "lab/painter");
    form.append("image", pngFile());
    const answer = await scene.send(form, "variations");
    expect([answer.status, answer.body.usage.cost], answer.text).toEqual([200, 0.04]);
    expect(lastOf("nova").json).toEqual({
      taskType: "IMAGE_VARIATION",
      imageVariationParams: { images: [PNG_BASE64] },
      imageGenerationConfig: { numberOfImages: 1, width: 1024, height: 1024, quality: "standard" },
    });
  });

  test("IMG-01 Stability gets an aspect ratio, one image at a time", async () => {
    const before = scene.at("stability").requests.length;
    for (let at = 0; at < 2; at += 1)
      scene.at("stability").next({ json: { images: [PNG_BASE64], seeds: [7], finish_reasons: [null] } });
    const answer = await scene.paint({ n: 2, size: "1344x768", output_format: "png", ...only("stability") });
    expect([answer.status, answer.body.usage.cost], answer.text).toEqual([200, 0.16]);
    const sent = scene.at("stability").requests.slice(before);
    expect(sent.map(({ json }) => json)).toEqual(
      [0, 1].map(() => ({ prompt: "a cat", mode: "text-to-image", aspect_ratio: "16:9", output_format: "png" })),
    );
  });

  test.each([
    ["nova", { images: [], error: "Blocked by the content filters." }],
    ["nova", { status: "Request Moderated", details: { "Moderation Reasons": ["x"] } }],
    ["stability", { images: [PNG_BASE64], seeds: [7], finish_reasons: ["Filter reason: prompt"] }],
  ])("IMG-01 a refusal of %s with status 200 is 400, and is not charged", async (slug, json) => {
    scene.at(slug).next({ json });
    const answer = await scene.paint(only(slug));
    expect([answer.status, answer.body.error.code], answer.text).toEqual([400, "content_policy_violation"]);
    expect((await scene.rowOf(answer)).cost).toBe("0.00");
  });

  test.each([{ images: [] }, { message: "no images here" }, { images: ["@@"] }])(
    "IMG-01 ROUTE-04 the reply %j is no refusal: the next endpoint serves",
    async (json) => {
      scene.at("nova").next({ json });
      scene.at("stability").next({ json: { images: [PNG_BASE64], seeds: [7], finish_reasons: [null] } });
      const answer = await scene.paint({ provider: { order: ["nova", "stability"], only: ["nova", "stability"] } });
      expect([answer.status, answer.headers.get("x-svc-provider")], answer.text).toEqual([200, "stability"]);
    },
  );
});

test("IMG-01 an endpoint that does not stream serves a streaming request with the final events", async () => {
  scene.at("nova").next({ json: { images: [PNG_BASE64, PNG_BASE64] } });
  const answer = await scene.paint({ n: 2, stream: true, ...only("nova") });
  expect(answer.headers.get("content-type")).toContain("text/event-stream");
  const events = imageEvents(answer.text);
  expect(events.map(({ type, usage }) => [type, usage?.cost])).toEqual([
    ["image_generation.completed", undefined],
    ["image_generation.completed", 0.08],
  ]);
  expect(events[0].b64_json).toBe(PNG_BASE64);
  scene.at("gemini").next(geminiReply([inline]));
  const body = { model: "lab/painter", prompt: "x", stream: true, images: [{ image_url: PNG_URL }], ...only("gemini") };
  const edited = await scene.gateway.call(scene.tenant.key, "/v1/images/edits", { body });
  expect(imageEvents(edited.text).map(({ type }) => type)).toEqual(["image_edit.completed"]);
});
