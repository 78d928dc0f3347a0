import type { RoutingHints } from "../canon/routing-hints.ts";
import type { DecisionImageType } from "../decisions/image.ts";

export const IMAGE_OPERATIONS = ["generation", "edit", "variation"] as const;
export type ImageOperation = (typeof IMAGE_OPERATIONS)[number];

/** Optional parameters that are sent as they are to endpoints that support them. */
export const IMAGE_PARAMETERS = [
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "input_fidelity",
  "style",
  "user",
] as const;
export type ImageParameter = (typeof IMAGE_PARAMETERS)[number];

/** An image of the request, with the type that its bytes have. */
export type SourceImage = {
  readonly mediaType: DecisionImageType;
  readonly bytes: Buffer;
  /** Null when the header does not state it. */
  readonly size: { readonly width: number; readonly height: number } | null;
};

/** The canonical request for images. `auto` is the same as no size or quality. */
export type ImageCall = {
  readonly operation: ImageOperation;
  readonly model: string;
  /** Empty for a variation. */
  readonly prompt: string;
  readonly count: number;
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly inputs: readonly SourceImage[];
  /** The name of that field in errors. */
  readonly inputsField: "image" | "images";
  readonly mask: SourceImage | undefined;
  readonly parameters: Readonly<Partial<Record<ImageParameter, string | number>>>;
  readonly isStreaming: boolean;
  readonly partialImages: number | undefined;
  readonly routingHints: RoutingHints | undefined;
};

/** Names of events by operation, as OpenAI's clients know them. */
export function eventPrefix({ operation }: Pick<ImageCall, "operation">): "image_generation" | "image_edit" {
  return operation === "generation" ? "image_generation" : "image_edit";
}

/** The part of a call that one request to an endpoint carries, in the provider's own names. */
export type ImageOrder = Pick<
  ImageCall,
  "operation" | "prompt" | "inputs" | "mask" | "parameters" | "isStreaming" | "partialImages"
> & {
  readonly upstreamModel: string;
  readonly count: number;
  readonly size: string | undefined;
  readonly quality: string | undefined;
};

const EXTENSIONS: Readonly<Record<DecisionImageType, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

/** Providers detect the type by the extension; the caller's own name is not sent. */
export function fileNameFor(image: SourceImage, name: string): string {
  return `${name}.${EXTENSIONS[image.mediaType]}`;
}

export function dataUrlFor({ mediaType, bytes }: SourceImage): string {
  return `data:${mediaType};base64,${bytes.toString("base64")}`;
}
