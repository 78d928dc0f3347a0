import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway } from "../support/gateway.ts";
import {
  BY_CLASS,
  CLASS_PRICES,
  eventFrame,
  formWith,
  hashOf,
  type ImageScene,
  imageEvents,
  openImages,
  PNG,
  PNG_BASE64,
  PNG_URL,
  painted,
  painterHost,
  partsOf,
  pngFile,
  tokensUsed,
} from "../support/images.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { credentialOf } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

const TOKEN_PRICES = {
  input_per_1m_tokens: 5,
  output_per_1m_tokens: 10,
  image_input_per_1m_tokens: 8,
  image_output_per_1m_tokens: 40,
};

let scene: ImageScene;
beforeAll(async () => {
  scene = await openImages({
    tokens: painterHost(
      {
        operations: ["generation", "edit"],
        edits_as: "json",
        qualities: ["low", "medium", "high"],
        inputs_max: 16,
        mask: true,
        parameters: ["output_format", "background", "user"],
        stream: true,
        tokens_per_image: 2000,
      },
      { price: TOKEN_PRICES },
    ),
    classes: painterHost(BY_CLASS, { price: CLASS_PRICES }),
    single: painterHost({ images_max: 1 }, { price: { per_image: 0.05 } }),
    plain: painterHost({}, { model: "lab/plain" }),
  });
});
afterAll(() => scene.close());

const only = (slug: string) => ({ provider: { only: [slug] } });
const lastOf = (slug: string) => {
  const received = scene.at(slug).requests.at(-1);
  if (received === undefined) throw new Error(`${slug} received nothing`);
  return received;
};

describe("recorded traffic", () => {
  test("IMG-01 BILL-05 a recorded generation: the same request, image and tokens, priced by kind", async () => {
    const [recorded] = loadExchange("surfaces/images/openai-generation").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("tokens").next(scriptOf(recorded));
    const sent: Json = JSON.parse(recorded.request.body.toString());
    const answer = await scene.paint({ ...sent, model: "lab/painter", ...only("tokens") });
    expect([answer.status, lastOf("tokens").json], answer.text).toEqual([200, { ...sent, model: "lab-1" }]);
    expect([lastOf("tokens").path, lastOf("tokens").headers["authorization"]]).toEqual([
      "/v1/images/generations",
      `Bearer ${credentialOf("tokens")}`,
    ]);
    const reply: Json = JSON.parse(recorded.response.body.toString());
    const { usage, ...rest } = answer.body;
    const { usage: reported, ...facts } = reply;
    expect(rest).toEqual(facts);
    expect(answer.headers.has("x-svc-omitted")).toBe(false);
    expect(usage).toMatchObject({ input_tokens: reported.input_tokens, output_tokens: reported.output_tokens });
    expect(usage.cost).toBeCloseTo((reported.input_tokens * 5 + reported.output_tokens * 40) / 1e6, 9);
  });

  test("IMG-01 a recorded edit: data URLs as JSON, and text beside images in the output", async () => {
    const [recorded] = loadExchange("surfaces/images/openai-edit-multi").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("tokens").next(scriptOf(recorded));
    const { images, ...sent }: Json = JSON.parse(recorded.request.body.toString());
    const body = {
      ...sent,
      model: "lab/painter",
      images: images.map(() => ({ image_url: PNG_URL })),
      ...only("tokens"),
    };
    const answer = await scene.gateway.call(scene.tenant.key, "/v1/images/edits", { body });
    expect(answer.status, answer.text).toBe(200);
    expect(lastOf("tokens").json).toEqual({
      ...sent,
      model: "lab-1",
      images: images.map(() => ({ image_url: PNG_URL })),
    });
    const { usage }: Json = JSON.parse(recorded.response.body.toString());
    const { text_tokens: text, image_tokens: image } = usage.output_tokens_details;
    const inputs = usage.input_tokens_details;
    expect(text).toBeGreaterThan(0);
    const euro = (inputs.text_tokens * 5 + inputs.image_tokens * 8 + text * 10 + image * 40) / 1e6;
    expect(answer.body.usage.cost).toBeCloseTo(euro, 9);
    expect(answer.body.usage.output_tokens_details).toEqual(usage.output_tokens_details);
  });

  test("IMG-01 ROUTE-04 a recorded reply with a URL is no image: the next endpoint serves", async () => {
    const [recorded] = loadExchange("surfaces/images/openai-dalle-url").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("classes").next(scriptOf(recorded));
    scene.at("single").next(painted(1));
    const answer = await scene.paint(only2("classes", "single"));
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "single"]);
    expect(answer.text).not.toContain("blob.core.windows.net");
  });
});

const only2 = (...slugs: readonly string[]) => ({ provider: { only: slugs } });

describe("price and size", () => {
  test.each<readonly [Json, Json, number]>([
    [{}, { size: "1024x1024", quality: "standard" }, 0.03],
    [{ size: "512x512" }, { size: "512x512", quality: "standard" }, 0.01],
    [{ quality: "high" }, { size: "1024x1024", quality: "premium" }, 0.08],
    [{ size: "auto", quality: "auto", n: 2 }, { size: "1024x1024", quality: "standard", n: 2 }, 0.06],
  ])(
    "IMG-01 BILL-05 %j is billed by size and quality, which the provider gets in its own words",
    async (wanted, sent, cost) => {
      scene.at("classes").next(painted(wanted.n ?? 1));
      const answer = await scene.paint({ ...wanted, ...only("classes") });
      expect(answer.status, answer.text).toBe(200);
      expect(lastOf("classes").json).toEqual({
        model: "lab-1",
        prompt: "a cat",
        n: 1,
        response_format: "b64_json",
        ...sent,
      });
      expect(answer.body.usage).toEqual({ cost, currency: "EUR" });
      const row = await scene.rowOf(answer);
      expect(row.usage).toMatchObject({ images: wanted.n ?? 1, input_tokens: 0, output_tokens: 0, estimated: false });
    },
  );

  test("IMG-01 the cheapest endpoint for the size serves, not the cheapest row", async () => {
    scene.at("classes").next(painted(1));
    expect((await scene.paint({ size: "512x512", ...only2("classes", "single") })).headers.get("x-svc-provider")).toBe(
      "classes",
    );
    scene.at("single").next(painted(1));
    const answer = await scene.paint({ size: "1024x1024", ...only2("single") });
    expect([answer.headers.get("x-svc-provider"), answer.body.usage.cost]).toEqual(["single", 0.05]);
  });

  test("IMG-01 BILL-05 several requests make the images of an endpoint that generates one at a time", async () => {
    const before = scene.at("single").requests.length;
    for (let at = 0; at < 3; at += 1) scene.at("single").next(painted(1));
    const answer = await scene.paint({ n: 3, ...only("single") });
    expect([answer.status, answer.body.data.length, answer.body.usage.cost], answer.text).toEqual([200, 3, 0.15]);
    const sent = scene.at("single").requests.slice(before);
    expect(sent.map(({ json }) => json)).toEqual(
      Array.from({ length: 3 }, () => ({ model: "lab-1", prompt: "a cat", n: 1 })),
    );
  });

  test("IMG-01 BILL-05 fewer images than requested are returned and charged; more are cut off", async () => {
    scene.at("classes").next(painted(1));
    const fewer = await scene.paint({ n: 3, ...only("classes") });
    expect([fewer.body.data.length, fewer.body.usage.cost]).toEqual([1, 0.03]);
    expect((await scene.rowOf(fewer)).detail).toMatchObject({ images_requested: 3, images: 1 });
    scene.at("classes").next(painted(5));
    const more = await scene.paint({ n: 2, ...only("classes") });
    expect([more.body.data.length, more.body.usage.cost]).toEqual([2, 0.06]);
  });

  test("IMG-01 BILL-02 tokens that a provider does not report, or that cannot be, are estimated", async () => {
    for (const usage of [
      {},
      tokensUsed(1e9),
      { usage: { input_tokens: 5, output_tokens: 10, output_tokens_details: { image_tokens: 11 } } },
    ]) {
      scene.at("tokens").next(painted(1, usage));
      const answer = await scene.paint(only("tokens"));
      const { usage: logged } = await scene.rowOf(answer);
      expect(logged).toMatchObject({ estimated: true, images: 1, output_tokens: 2000 });
    }
  });

  test("IMG-01 BILL-03 a hold for all images is refused before any request is sent", async () => {
    const { key } = await scene.gateway.tenant({ credit: "0.1" });
    const before = scene.at("classes").requests.length;
    const refused = await scene.paint({ n: 10, ...only("classes") }, key);
    expect([refused.status, refused.body.error.code]).toEqual([402, "insufficient_credits"]);
    expect(scene.at("classes").requests.length).toBe(before);
  });
});

describe("edits and variations", () => {
  test("IMG-01 a form with several images and a mask arrives once each, under its own names", async () => {
    scene.at("classes").next(painted(1));
    const form = formWith(
      { size: "512x512", provider: { only: ["classes"] } },
      ["image[]", pngFile("a.png")],
      ["image[]", pngFile("b.png")],
      ["mask", pngFile("m.png")],
    );
    const answer = await scene.send(form);
    expect([answer.status, answer.body.data], answer.text).toEqual([200, [{ b64_json: PNG_BASE64 }]]);
    const { raw, headers, path } = lastOf("classes");
    expect(path).toBe("/v1/images/edits");
    expect(partsOf(raw, headers["content-type"])).toEqual([
      ["model", "lab-1"],
      ["prompt", "make it green"],
      ["n", "1"],
      ["size", "512x512"],
      ["quality", "standard"],
      ["response_format", "b64_json"],
      ["image[]", `image-1.png ${hashOf(PNG)}`],
      ["image[]", `image-2.png ${hashOf(PNG)}`],
      ["mask", `mask.png ${hashOf(PNG)}`],
    ]);
    expect(Number(headers["content-length"])).toBe(raw.length);
  });

  test("IMG-01 ROUTE-04 a form is sent whole again to the next endpoint, as JSON where it takes JSON", async () => {
    scene.at("classes").next({ status: 500, json: {} });
    scene.at("tokens").next(painted(1, tokensUsed(100)));
    const form = formWith({ provider: { order: ["classes", "tokens"] } }, ["image", pngFile()]);
    const answer = await scene.send(form);
    expect([answer.status, answer.headers.get("x-svc-provider")], answer.text).toEqual([200, "tokens"]);
    expect(lastOf("tokens").json).toMatchObject({ prompt: "make it green", images: [{ image_url: PNG_URL }] });
  });

  test("IMG-01 a variation goes only to endpoints that vary images; without any the error says so", async () => {
    scene.at("classes").next(painted(1));
    const form = (model: string) => {
      const made = new FormData();
      made.append("model", model);
      made.append("image", pngFile());
      return made;
    };
    const answer = await scene.send(form("lab/painter"), "variations");
    expect([answer.status, lastOf("classes").path], answer.text).toEqual([200, "/v1/images/variations"]);
    const refused = await scene.send(form("lab/plain"), "variations");
    expect([refused.status, refused.body.error.param]).toEqual([400, "model"]);
    expect(refused.body.error.message).toContain("vary images");
  });
});

describe("streams", () => {
  const stream = (slug: string, more: Json = {}) => scene.paint({ stream: true, ...more, ...only(slug) });

  test("IMG-01 partial images arrive as events, and the last one has usage and cost", async () => {
    scene.at("tokens").next({
      frames: [
        eventFrame("image_generation.partial_image", { partial_image_index: 0, size: "1024x1024" }),
        eventFrame("image_generation.partial_image", { partial_image_index: 1, size: "1024x1024" }),
        eventFrame("image_generation.completed", { size: "1024x1024", ...tokensUsed(1256) }),
      ],
    });
    const answer = await stream("tokens", { partial_images: 2 });
    expect(lastOf("tokens").json).toEqual({ model: "lab-1", prompt: "a cat", n: 1, stream: true, partial_images: 2 });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const events = imageEvents(answer.text);
    expect(events.map(({ type, partial_image_index: index }) => [type, index])).toEqual([
      ["image_generation.partial_image", 0],
      ["image_generation.partial_image", 1],
      ["image_generation.completed", undefined],
    ]);
    expect(events.every(({ b64_json: image, size }) => image === PNG_BASE64 && size === "1024x1024")).toBe(true);
    expect(events[2].usage).toMatchObject({ output_tokens: 1256, cost: (10 * 5 + 1256 * 40) / 1e6, currency: "EUR" });
    expect(answer.text).toContain("event: image_generation.completed\n");
  });

  test("IMG-01 without a report each finished image of a stream is charged", async () => {
    const frames = [
      eventFrame("image_generation.completed"),
      eventFrame("image_generation.completed"),
      "data: [DONE]\n\n",
    ];
    scene.at("classes").next({ frames });
    const answer = await stream("classes", { n: 2 });
    const events = imageEvents(answer.text);
    expect(events.map(({ usage }) => usage)).toEqual([undefined, { cost: 0.06, currency: "EUR" }]);
  });

  test("IMG-01 BILL-02 a stream that is cut ends with an error and is not charged", async () => {
    const partial = eventFrame("image_generation.partial_image", { partial_image_index: 0 });
    scene.at("tokens").next({ frames: [partial, partial], end: { is: "cut", after: partial.length + 40 } });
    const answer = await stream("tokens", { partial_images: 2 });
    const events = imageEvents(answer.text);
    expect([events[0].type, events.at(-1).error?.code]).toEqual(["image_generation.partial_image", "upstream_error"]);
    expect((await scene.rowOf(answer)).cost).toBe("0.00");
  });

  test.each([
    ["base64 that is none", eventFrame("image_generation.completed", { b64_json: "@@@@" })],
    ["another event", eventFrame("response.created")],
    ["no end", ": nothing\n\n"],
  ])("IMG-01 ROUTE-04 a stream with %s moves to the next endpoint before its first byte", async (_, frame) => {
    scene.at("tokens").next({ frames: [frame] });
    scene.at("classes").next({ frames: [eventFrame("image_generation.completed")] });
    const answer = await scene.paint({ stream: true, provider: { order: ["tokens", "classes"] } });
    expect([answer.status, answer.headers.get("x-svc-provider")], answer.text).toEqual([200, "classes"]);
  });

  test("IMG-01 a long event arrives whole: images have no line limit", async () => {
    const big = paintNoise(700_000);
    scene.at("classes").next({ frames: [eventFrame("image_generation.completed", { b64_json: big })] });
    const answer = await stream("classes");
    expect(imageEvents(answer.text)[0].b64_json === big).toBe(true);
    scene.at("classes").next(painted(1, { data: [{ b64_json: big }] }));
    expect((await scene.paint(only("classes"))).body.data[0].b64_json === big).toBe(true);
  });
});

/** Base64 that begins as a PNG. */
const paintNoise = (bytes: number) => Buffer.concat([PNG, Buffer.alloc(bytes, 7)]).toString("base64");

describe("replies that are no images", () => {
  const BROKEN: readonly (readonly [string, Script])[] = [
    ["no images", painted(0)],
    ["an image that is no base64", painted(1, { data: [{ b64_json: "not base64!" }] })],
    [
      "a page instead of an image",
      painted(1, { data: [{ b64_json: Buffer.from("<html></html>").toString("base64") }] }),
    ],
    ["one image of two that is none", painted(2, { data: [{ b64_json: PNG_BASE64 }, {}] })],
    ["text", { body: "busy" }],
    ["an error", { status: 500, json: { message: "down" } }],
    ["a body that is cut", { ...painted(1), end: { is: "cut", after: 60 } }],
  ];
  test.each(BROKEN)("IMG-01 ROUTE-04 %s: the next endpoint serves, never an empty result", async (_, script) => {
    scene.at("classes").next(script);
    scene.at("tokens").next(painted(2, tokensUsed(100)));
    const answer = await scene.paint({ n: 2, provider: { order: ["classes", "tokens"] } });
    expect([answer.status, answer.headers.get("x-svc-provider")], answer.text).toEqual([200, "tokens"]);
    expect(answer.body.usage.cost).toBe((10 * 5 + 100 * 40) / 1e6);
  });

  test("IMG-01 a refusal by the provider's content policy is its own 400, and is not charged", async () => {
    const error = {
      message: "Your request was rejected by the safety system.",
      type: "image_generation_user_error",
      param: null,
      code: "moderation_blocked",
    };
    scene.at("tokens").next({ status: 400, json: { error } });
    const answer = await scene.paint({ provider: { order: ["tokens", "classes"] } });
    expect([answer.status, answer.body.error]).toMatchObject([
      400,
      { code: "provider_error", upstream: { code: "moderation_blocked" } },
    ]);
    expect((await scene.rowOf(answer)).cost).toBe("0.00");
  });
});

describe("policy and privacy", () => {
  test("IMG-01 SCOPE-01 a key needs inference:images", async () => {
    const key = async (scope: string) => (await scene.gateway.tenant({ key: { scopes: [scope] } })).key;
    scene.at("classes").next(painted(1));
    expect((await scene.paint(only("classes"), await key("inference:images"))).status).toBe(200);
    expect((await scene.paint({}, await key("inference:chat"))).body.error.code).toBe("insufficient_scope");
  });

  test("IMG-01 LOG-01 the log has neither prompt nor image", async () => {
    scene.at("classes").next(painted(1, { data: [{ b64_json: PNG_BASE64, revised_prompt: "a canary on a branch" }] }));
    const answer = await scene.paint({ prompt: "a canary", user: null, ...only("classes") });
    expect(answer.body.data[0].revised_prompt).toBe("a canary on a branch");
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ surface: "images", status: 200, model: "lab/painter", provider: "classes" });
    expect(JSON.stringify(row)).not.toMatch(/canary|iVBOR/);
  });

  test("IMG-01 CLASS-03 prompts are inspected, and images count as content that is not", async () => {
    const tenant = await scene.gateway.tenant();
    const policy = (rule: Json) =>
      scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { data_classes: rule });
    await policy({ uninspected: { action: "block" } });
    const edit = formWith({}, ["image", pngFile()]);
    const refused = await scene.send(edit, "edits", tenant.key);
    expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    await policy({ personal: { below: "L4", action: "redact" } });
    scene.at("classes").next(painted(1));
    await scene.paint({ prompt: "a card for erika.mustermann@example.org", ...only("classes") }, tenant.key);
    expect(lastOf("classes").json).toMatchObject({ prompt: "a card for [EMAIL]" });
  });

  test("IMG-01 routers are refused; without a model the key's first model serves", async () => {
    expect((await scene.paint({ model: "auto" })).body.error.code).toBe("router_not_supported");
    scene.at("classes").next(painted(1));
    scene.at("plain").always(painted(1));
    for (const slug of ["tokens", "single"]) scene.at(slug).always(painted(1));
    const body = { prompt: "a cat" };
    expect((await scene.gateway.call(scene.tenant.key, "/v1/images/generations", { body })).status).toBe(200);
  });

  test("IMG-01 a disabled surface responds with images_not_enabled and is in no list", async () => {
    const off = await startGateway({ env: { GATEWAY_IMAGES: "off" } });
    try {
      for (const path of ["generations", "edits", "variations"]) {
        const refused = await off.call(off.key, `/v1/images/${path}`, { body: { prompt: "a" } });
        expect([refused.status, refused.body.error.code]).toEqual([404, "images_not_enabled"]);
      }
      const { data } = (await off.call(off.key, "/v1/models")).body;
      expect(data.some(({ svc_surfaces: surfaces }: Json) => surfaces.includes("images"))).toBe(false);
    } finally {
      await off.close();
    }
  });
});
