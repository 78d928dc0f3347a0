import { afterAll, beforeAll, expect, test } from "vitest";
import { ImageEditRequest, ImageGenerationRequest } from "../../src/contract/schemas/images.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";
import {
  eventFrame,
  type ImageScene,
  openImages,
  PNG_URL,
  painted,
  painterHost,
  partsOf,
  tokensUsed,
} from "../support/images.ts";

/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  prompt: ["a cat", "a dog"],
  size: ["1024x1024", "512x512"],
  images: [[{ image_url: PNG_URL }], [{ image_url: PNG_URL }, { image_url: PNG_URL }]],
  mask: [{ image_url: PNG_URL }],
};
const EVERYTHING = [
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "input_fidelity",
  "style",
  "user",
] as const;

let scene: ImageScene;
beforeAll(async () => {
  scene = await openImages({
    all: painterHost(
      {
        operations: ["generation", "edit"],
        edits_as: "json",
        qualities: ["low", "medium", "high", "standard", "hd"],
        inputs_max: 16,
        mask: true,
        parameters: [...EVERYTHING],
        stream: true,
      },
      { model: "lab/all" },
    ),
    few: painterHost({ operations: ["generation", "edit"], response_format: true }, { model: "lab/few" }),
  });
  for (const slug of ["all", "few"])
    scene.at(slug).always(({ json }) => {
      const isStream = (json as { stream?: boolean } | undefined)?.stream === true;
      return isStream
        ? { frames: [eventFrame("image_generation.completed", tokensUsed(5))] }
        : painted(1, tokensUsed(5));
    });
});
afterAll(() => scene.close());

const targets = (path: "generations" | "edits") =>
  ["all", "few"].map(
    (slug): FieldTarget => ({
      surface: "images",
      adapter: slug,
      format: "openai",
      complete: (body) => ({ ...body, model: `lab/${slug}` }),
      async exchange(body) {
        const { requests } = scene.at(slug);
        const before = requests.length;
        const called = await scene.gateway.call(scene.tenant.key, `/v1/images/${path}`, { body });
        const sent = requests
          .slice(before)
          .map(({ path: to, json, raw, headers }) => [to, json ?? partsOf(raw, headers["content-type"])]);
        return exchangeOf(called, JSON.stringify([sent, called.text]));
      },
    }),
  );

test.for([
  ["generations", ImageGenerationRequest],
  ["edits", ImageEditRequest],
] as const)(
  "PARAM-07 IMG-01 no field of images/%s is dropped silently on any adapter",
  async ([path, schema], { annotate }) => {
    const cases = casesOf(schema, (name) => SAMPLES[name]).filter(
      ({ path: name }) => name !== "model" && !name.startsWith("provider"),
    );
    const results = await Promise.all(targets(path).map((target) => fieldResults(target, cases)));
    await annotate(`images/${path}: ${figuresOf(results.flat())}`);
    expect(silentFields(results.flat())).toEqual([]);
  },
);
