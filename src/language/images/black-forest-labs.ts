import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import type { ImageOrder } from "./call.ts";
import type { ImageJobFormat, ImageJobStep } from "./job-format.ts";
import { refusalWord } from "./wire-format.ts";

/** FLUX of Black Forest Labs: an order, then its state until the image is ready at a signed address. */
export const blackForestLabsImages: ImageJobFormat = {
  auth: "x-key",
  path: ({ upstreamModel }) => `/${encodeURIComponent(upstreamModel)}`,
  encode: encodeOrder,
  read: readState,
  decodeProblem,
};

/** Sizes are sides, or aspect ratios such as `16:9`, as the model takes them. */
function encodeOrder({ prompt, inputs, size, parameters }: ImageOrder): JsonObject {
  const images = inputs.map(({ bytes }, at): [string, string] => [
    at === 0 ? "input_image" : `input_image_${at + 1}`,
    bytes.toString("base64"),
  ]);
  const format = parameters.output_format;
  return {
    prompt,
    ...Object.fromEntries(images),
    ...sizeFields(size),
    ...(format === undefined ? {} : { output_format: format }),
  };
}

function sizeFields(size: string | undefined): JsonObject {
  if (size === undefined) return {};
  const [width, height] = size.split("x").map(Number);
  return width === undefined || height === undefined ? { aspect_ratio: size } : { width, height };
}

const MODERATED: ReadonlySet<unknown> = new Set(["Request Moderated", "Content Moderated"]);
const FAILED: ReadonlySet<unknown> = new Set(["Error", "Failed", "Task not found"]);

function readState(body: unknown): ImageJobStep | undefined {
  if (!isJsonObject(body)) return undefined;
  const { id, polling_url: url, status, result } = body;
  if (typeof url === "string") return { is: "wait", url, id: typeof id === "string" ? id : null };
  if (MODERATED.has(status)) return { is: "refused", reason: refusalWord(status) ?? "not stated" };
  if (FAILED.has(status)) return { is: "failed", why: `the job ended as ${String(status)}` };
  if (status !== "Ready") return typeof status === "string" ? { is: "wait", url: undefined, id: null } : undefined;
  const sample = isJsonObject(result) ? result["sample"] : undefined;
  return typeof sample === "string" ? { is: "fetch", url: sample, credential: "none" } : undefined;
}
