import { afterAll, beforeAll, expect, test } from "vitest";
import { paintPng } from "../../src/sandbox/png.ts";
import type { Json } from "../support/gateway.ts";
import {
  BY_CLASS,
  CLASS_PRICES,
  formWith,
  type ImageScene,
  openImages,
  painterHost,
  pngFile,
} from "../support/images.ts";

let scene: ImageScene;
beforeAll(async () => {
  scene = await openImages({
    tokens: painterHost({ operations: ["generation", "edit"], mask: true, inputs_max: 16 }),
    exact: painterHost(BY_CLASS, { price: CLASS_PRICES, model: "lab/exact" }),
    plain: painterHost({}, { model: "lab/plain" }),
  });
});
afterAll(() => scene.close());

const REFUSED: readonly (readonly [string, Json, string])[] = [
  ["no prompt", { prompt: null }, "prompt"],
  ["an empty prompt", { prompt: "" }, "prompt"],
  ["eleven images", { n: 11 }, "n"],
  ["a size in words", { size: "big" }, "size"],
  ["a size that is not generated", { size: "640x480", model: "lab/exact" }, "size"],
  ["a quality that is not generated", { quality: "medium", model: "lab/exact" }, "quality"],
  ["a URL as the result", { response_format: "url" }, "response_format"],
  ["partial images without a stream", { partial_images: 1 }, "partial_images"],
  ["partial images where there are none", { stream: true, partial_images: 1, model: "lab/plain" }, "partial_images"],
  ["a parameter that is not supported", { output_format: "webp", model: "lab/plain" }, "output_format"],
  ["a prompt that is too long", { prompt: "a".repeat(101), model: "lab/exact" }, "prompt"],
  ["an unknown field", { seed: 1 }, "seed"],
];
test.each(REFUSED)("IMG-01 PARAM-02 %s: 400 with the field's name", async (_, body, param) => {
  const { status, body: answer } = await scene.paint(body);
  expect([status, answer.error.param], answer.error.message).toEqual([400, param]);
});

const EDITS: readonly (readonly [string, Json, string])[] = [
  ["no images", {}, "images"],
  ["an image by address", { images: [{ image_url: "https://example.org/a.png" }] }, "images.0.image_url"],
  ["a file of the provider", { images: [{ file_id: "file-1" }] }, "images.0.file_id"],
  ["an image that is none", { images: [{ image_url: "data:image/png;base64,AAAA" }] }, "images.0.image_url"],
];
test.each(EDITS)("IMG-01 PARAM-02 an edit with %s: 400 with the field's name", async (_, body, param) => {
  const { status, body: answer } = await scene.gateway.call(scene.tenant.key, "/v1/images/edits", {
    body: { model: "lab/painter", prompt: "x", ...body },
  });
  expect([status, answer.error.param], answer.error.message).toEqual([400, param]);
});

const text = new File(["hello"], "a.png", { type: "image/png" });
const FORMS: readonly (readonly [string, FormData, string])[] = [
  ["no image", formWith({}), "image"],
  ["an image as text", formWith({ image: "cat.png" }), "image"],
  ["a file that is no image", formWith({}, ["image", text]), "image"],
  ["a file of another name", formWith({}, ["image", pngFile()], ["file", pngFile()]), "file"],
  ["two masks", formWith({}, ["image", pngFile()], ["mask", pngFile()], ["mask", pngFile()]), "mask"],
  [
    "a mask of another size",
    formWith(
      {},
      ["image", pngFile()],
      [
        "mask",
        pngFile(
          "m.png",
          paintPng(16, 16, [
            [0, 0, 0],
            [1, 1, 1],
          ]),
        ),
      ],
    ),
    "mask",
  ],
  ["a number in words", formWith({ n: "two" }, ["image", pngFile()]), "n"],
  [
    "three images for two",
    formWith({ model: "lab/exact" }, ["image", pngFile()], ["image", pngFile()], ["image", pngFile()]),
    "image",
  ],
];
test.each(FORMS)("IMG-01 PARAM-02 a form with %s: 400 with the field's name", async (_, form, param) => {
  const { status, body } = await scene.send(form);
  expect([status, body.error.param], body.error.message).toEqual([400, param]);
});
