import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import {
  ImageEditForm,
  ImageEditRequest,
  ImageEvent,
  ImageGenerationRequest,
  Images,
  ImageVariationForm,
} from "../../schemas/images.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

const shared = {
  method: "POST",
  access: { by: "key", scope: "inference:images" },
  switchedBy: "images",
  counted: true,
  tag: "Images",
  headers: CallHeaders,
  servingHeaders: "embeddings",
  faults: [
    ...CHAT_FAULTS.filter((code) => code !== "context_length_exceeded" && code !== "router_not_found"),
    "router_not_supported",
    "content_policy_violation",
    "images_not_enabled",
    ...CHARGED_FAULTS,
  ],
} as const satisfies Partial<Route>;

const ANSWER = {
  created: 1787150086,
  size: "1024x1024",
  quality: "low",
  output_format: "png",
  data: [{ b64_json: "iVBORw0KGgoAAAANSUhEUgAA…" }],
  usage: { cost: 0.002, currency: "EUR" },
};

const NOTHING_STORED = "The gateway stores no images, so they are returned as base64 and never as URLs.";

export const IMAGES_ROUTES: readonly Route[] = [
  {
    ...shared,
    id: "createImage",
    path: "/v1/images/generations",
    intake: "json",
    summary: "Generate images",
    description: `Accepts OpenAI's format for every image model. ${NOTHING_STORED} Billed per image by size and quality, or by tokens, according to the endpoint's price.`,
    body: ImageGenerationRequest,
    answer: { is: "json_or_events", schema: Images, frame: ImageEvent },
    example: { body: { model: "sandbox/paint", prompt: "A siamese cat", size: "1024x1024" }, answer: ANSWER },
  },
  {
    ...shared,
    id: "createImageEdit",
    path: "/v1/images/edits",
    intake: "multipart",
    orJson: {
      schema: ImageEditRequest,
      example: {
        model: "sandbox/paint",
        prompt: "Make it green",
        images: [{ image_url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA…" }],
      },
    },
    summary: "Edit images",
    description: `Changes images by a prompt, as a form or as JSON with data URLs. ${NOTHING_STORED}`,
    body: ImageEditForm,
    answer: { is: "json_or_events", schema: Images, frame: ImageEvent },
    example: { body: { model: "sandbox/paint", prompt: "Make it green", image: ["logo.png"] }, answer: ANSWER },
  },
  {
    ...shared,
    id: "createImageVariation",
    path: "/v1/images/variations",
    intake: "multipart",
    summary: "Vary an image",
    description: `Generates images that resemble one. Few models can; for all others the request is refused. ${NOTHING_STORED}`,
    body: ImageVariationForm,
    answer: { is: "json", status: 200, schema: Images },
    example: { body: { model: "sandbox/paint", image: ["logo.png"] }, answer: ANSWER },
  },
];
