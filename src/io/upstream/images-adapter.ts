import { fault } from "../../contract/faults.ts";
import { type ImageSupport, isImageJob } from "../../domain/catalogue/images-support.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { SseReader } from "../../kit/sse.ts";
import { runAtOnce, runInSlices, type WorkSteps } from "../../kit/work-steps.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import { NO_TOKENS, sumTokens, type Usage } from "../../language/canon/usage.ts";
import {
  IMAGE_TOKENS_MAX,
  NO_CEILING,
  PLAUSIBLE_FACTOR,
  PROVIDER_OVERHEAD_TOKENS,
} from "../../language/canon/usage-ceiling.ts";
import { omittedMembers } from "../../language/dialects/reply-members.ts";
import { eventPrefix, type ImageCall, type ImageOrder } from "../../language/images/call.ts";
import { checkImage, type GeneratedImage } from "../../language/images/generated-image.ts";
import { renderImageEvents, renderImages } from "../../language/images/render.ts";
import { ImageStream } from "../../language/images/stream.ts";
import type { ImageBody, ImageReply } from "../../language/images/wire-format.ts";
import { imageJobAdapter } from "./image-job.ts";
import { buildMultipartBody } from "./multipart-body.ts";
import type { UpstreamBody } from "./transport.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type ImageTarget = {
  readonly call: ImageCall;
  readonly upstreamModel: string;
  readonly baseUrl: string;
  readonly support: ImageSupport;
  /** Tokens have a price: without a report of the provider they are estimated. */
  readonly isBilledByTokens: boolean;
  readonly createdSeconds: number;
};

/** The reply of one request keeps its images until all requests are complete. */
type ImagePart = WholeReply & Pick<ImageReply, "facts" | "refused"> & { readonly images: readonly GeneratedImage[] };

/** The size and quality of a call, also in the provider's names; undefined: none is sent. */
export function providerClass({ size, quality }: Pick<ImageCall, "size" | "quality">, support: ImageSupport) {
  const { sizes, defaultSize, qualities, defaultQuality } = support;
  const own = { size: size ?? defaultSize, quality: quality ?? defaultQuality };
  return {
    own,
    size: own.size === undefined || sizes === null ? own.size : sizes[own.size],
    quality: own.quality === undefined || qualities === null ? own.quality : qualities[own.quality],
  };
}

/** One or more requests that together generate all images, and one reply. */
export function imagesAdapter(target: ImageTarget): UpstreamAdapter {
  const { call, support } = target;
  const counts = Array.from({ length: Math.ceil(call.count / support.imagesMax) }, (_, at) =>
    Math.min(support.imagesMax, call.count - at * support.imagesMax),
  );
  const parts: ImagePart[] = [];
  const [first, ...others] = counts.map((count, at) =>
    partAdapter(target, count, (part) => {
      parts[at] = part;
    }),
  );
  if (first === undefined) throw new Error("a request for no images");
  if (others.length === 0 && first.sequence === undefined) return first;
  return {
    ...first,
    // The usage of each part was checked against its own images.
    maxUsage: () => NO_CEILING,
    subRequests: { adapters: [first, ...others], join: () => joinParts(parts, target) },
  };
}

function partAdapter(target: ImageTarget, count: number, onPart: (part: ImagePart) => void): UpstreamAdapter {
  const { call, upstreamModel, support, isBilledByTokens, createdSeconds } = target;
  const { size, quality } = providerClass(call, support);
  const isStreaming = call.isStreaming && !isWholeReply(target);
  const order: ImageOrder = { ...call, upstreamModel, count, size, quality, isStreaming };
  if (isImageJob(support.interface)) return jobAdapter(target, order, onPart);
  const wire = UPSTREAM_ADAPTERS.images[support.interface];
  const { body, headers } = bodyOf(wire.encode(order, support));
  const isWhole = isWholeReply(target);
  function* decode(value: unknown): WorkSteps<WholeReply | UnusableReply | undefined> {
    const reply = wire.decode(value);
    if (reply === undefined) return undefined;
    const images = yield* checkImages(reply, count);
    if ("unusable" in images) return images;
    const part = partOf(images.images, reply, target, omittedMembers(value, wire.reply));
    onPart(part);
    return part;
  }
  return {
    surface: null,
    path: wire.path(order),
    auth: wire.auth,
    headers,
    streamContentType: isWhole ? "application/json" : "text/event-stream",
    isWhole: isWhole || undefined,
    keepAliveFrame: ": keep-alive\n\n",
    effort: undefined,
    maxUsage: () => ({
      ...NO_CEILING,
      inputTokens:
        PLAUSIBLE_FACTOR * (Buffer.byteLength(call.prompt) + IMAGE_TOKENS_MAX * imagesIn(call)) +
        PROVIDER_OVERHEAD_TOKENS,
      outputTokens: PLAUSIBLE_FACTOR * (count + partialImages(call)) * IMAGE_TOKENS_MAX,
    }),
    encode: () => body,
    decodeResponse: (source) => runAtOnce(decode(JsonDocument.of(source).value)),
    decodeInSlices: ({ value }, _headers, work) => runInSlices(decode(value), work),
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream: () =>
      new ImageStream(wire, {
        call: { operation: call.operation, count },
        createdSeconds,
        isBilledByTokens,
        estimate: estimatedImageUsage(call, support, count),
      }),
    decodeProblem: wire.decodeProblem,
  };
}

function jobAdapter(target: ImageTarget, order: ImageOrder, onPart: (part: ImagePart) => void): UpstreamAdapter {
  const { call, baseUrl, support } = target;
  if (!isImageJob(support.interface)) throw new Error(`${support.interface} generates at once`);
  return imageJobAdapter(UPSTREAM_ADAPTERS.imageJobs[support.interface], {
    order,
    baseUrl,
    isWhole: call.isStreaming,
    complete(reply) {
      const images = runAtOnce(checkImages(reply, order.count));
      if ("unusable" in images) return images;
      const part = partOf(images.images, reply, target, undefined);
      onPart(part);
      return part;
    },
  });
}

function bodyOf(body: ImageBody): { readonly body: UpstreamBody; readonly headers: Readonly<Record<string, string>> } {
  if (body.is === "json") return { body: JSON.stringify(body.value), headers: {} };
  return buildMultipartBody(
    body.fields,
    ...body.files.map(({ field, filename, image }) => ({
      field,
      filename,
      contentType: image.mediaType,
      bytes: image.bytes.length,
      async *read() {
        yield image.bytes;
      },
    })),
  );
}

/** Fewer images than ordered are a reply; none, or one that is none, is not. */
function* checkImages(
  { images, refused }: ImageReply,
  count: number,
): WorkSteps<{ readonly images: readonly GeneratedImage[] } | UnusableReply> {
  const valid: GeneratedImage[] = [];
  for (const { base64, revisedPrompt } of images.slice(0, count)) {
    const checked = yield* checkImage(base64);
    if (checked === undefined) return { unusable: "an image is missing or not base64 of a PNG, JPEG or WebP image" };
    valid.push({ ...checked, revisedPrompt });
  }
  if (refused !== undefined) return { images: [] };
  return valid.length === 0 ? { unusable: `no image of ${pluralize(count, "image")}` } : { images: valid };
}

/** Endpoints that do not stream send their images at once, as final events. */
function isWholeReply({ call, support }: Pick<ImageTarget, "call" | "support">): boolean {
  return call.isStreaming && (!support.stream || call.count > support.imagesMax);
}

function partOf(
  images: readonly GeneratedImage[],
  { facts, usage, id, refused }: Pick<ImageReply, "facts" | "usage" | "id" | "refused">,
  { call, support, isBilledByTokens, createdSeconds }: ImageTarget,
  omitted: readonly string[] | undefined,
): ImagePart {
  const { isStreaming } = call;
  return {
    images,
    facts,
    refused,
    usage: usage ?? (isBilledByTokens && refused === undefined ? undefined : NO_TOKENS),
    estimate: isBilledByTokens ? estimatedImageUsage(call, support, images.length) : NO_TOKENS,
    units: { images: images.length },
    upstreamId: id,
    outputWeight: 0,
    omitted,
    declined: refused === undefined ? undefined : refusalFault(refused, call),
    detail: { images: images.length },
    ...(isStreaming ? { contentType: "text/event-stream; charset=utf-8" } : {}),
    render(counted, shown) {
      const rendered = {
        images,
        facts: { ...facts, created: facts.created ?? createdSeconds },
        counted: usage === undefined ? undefined : counted,
        shown,
      };
      return isStreaming ? renderImageEvents(`${eventPrefix(call)}.completed`, rendered) : renderImages(rendered);
    },
  };
}

function refusalFault(reason: string, { model }: ImageCall) {
  return fault("content_policy_violation", {
    message: `The provider of ${model} refused to generate this image (${reason}). Change the prompt or the images, or use another model.`,
  });
}

/** All images; counts only if every part reported them. */
function joinParts(parts: readonly ImagePart[], target: ImageTarget): WholeReply {
  const reported = parts.flatMap(({ usage }) => (usage === undefined || usage === NO_TOKENS ? [] : [usage]));
  const usage = reported.length === parts.length ? sumTokens(reported) : undefined;
  const omitted = [...new Set(parts.flatMap((part) => part.omitted ?? []))];
  const images = parts.flatMap((part) => part.images);
  // Images of other parts are a reply, although it has fewer than requested.
  const refused = images.length > 0 ? undefined : parts.find((part) => part.refused !== undefined)?.refused;
  const facts = { facts: parts[0]?.facts ?? {}, usage, id: parts[0]?.upstreamId ?? null, refused };
  return partOf(images, facts, target, omitted.length === 0 ? undefined : omitted);
}

const imagesIn = ({ inputs, mask }: Pick<ImageCall, "inputs" | "mask">) => inputs.length + (mask === undefined ? 0 : 1);
const partialImages = ({ isStreaming, partialImages: count = 0 }: ImageCall) => (isStreaming ? count : 0);

/** Estimate for one image of the request. */
const TOKENS_PER_INPUT = 1600;
/** What OpenAI documents for each partial image. */
const TOKENS_PER_PARTIAL_IMAGE = 100;

/** Tokens of a call if the provider reports none; an upper bound for the hold. */
export function estimatedImageUsage(
  call: ImageCall,
  { tokensPerImage }: Pick<ImageSupport, "tokensPerImage">,
  count = call.count,
): Usage {
  const imageInputTokens = TOKENS_PER_INPUT * imagesIn(call);
  const outputTokens = count * tokensPerImage + partialImages(call) * TOKENS_PER_PARTIAL_IMAGE;
  return {
    ...NO_TOKENS,
    inputTokens: conservativeTextTokens(call.prompt) + imageInputTokens,
    ...(imageInputTokens === 0 ? {} : { imageInputTokens }),
    outputTokens,
    imageOutputTokens: outputTokens,
  };
}
