import { invalidValue } from "../../contract/faults.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { type ImageClass, imagePriceFor, isPricedByTokens } from "../../domain/catalogue/image-price.ts";
import type { ImageSupport } from "../../domain/catalogue/images-support.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability, PricedEndpoint } from "../../domain/routing/requirements.ts";
import { estimatedImageUsage, imagesAdapter, providerClass } from "../../io/upstream/images-adapter.ts";
import { conservativeTextTokens, TOKENS_PER_MEDIA } from "../../language/canon/tokens.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import { IMAGE_PARAMETERS, type ImageCall } from "../../language/images/call.ts";
import type { EndpointAdapter, InferenceRequest, RequestOutline, UsageBound } from "../pipeline/inference-request.ts";

/** Expected for one image, where a price per token is compared with one per image. */
const EXPECTED_TOKENS_PER_IMAGE = 1056;

export class ImageInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming: boolean;
  readonly inputTokens: number;
  readonly #call: ImageCall;

  constructor(call: ImageCall) {
    this.#call = call;
    this.streaming = call.isStreaming;
    this.inputTokens = conservativeTextTokens(call.prompt) + TOKENS_PER_MEDIA * call.inputs.length;
    this.outline = {
      model: call.model,
      routingHints: call.routingHints,
      requirements: {
        needs: [],
        parameters: [],
        otherParameters: Object.keys(call.parameters),
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        billedUnits: {
          characters: 0,
          seconds: 0,
          audioOutputTokens: 0,
          images: call.count,
          imageOutputTokens: call.count * EXPECTED_TOKENS_PER_IMAGE,
        },
        reprice: (row) => {
          const { images } = row.endpoint;
          return images === null ? row : repricedForImages(row, providerClass(call, images).own);
        },
        checkFit: (endpoint) => missingImageCapability(endpoint, call),
      },
    };
  }

  /** Never the prompt, and never an image. */
  get detail() {
    const { operation, count, size, quality, inputs, mask } = this.#call;
    return {
      operation,
      images_requested: count,
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      ...(inputs.length === 0 ? {} : { inputs: inputs.length }),
      ...(mask === undefined ? {} : { mask: true }),
    };
  }

  usageBoundAt({ endpoint: { images: support }, price }: Attempt): UsageBound {
    const { count } = this.#call;
    if (support === null || !isPricedByTokens(price)) return { inputTokens: 0, outputTokens: 0, images: count };
    const { inputTokens, outputTokens } = estimatedImageUsage(this.#call, support);
    return { inputTokens, outputTokens, images: count };
  }

  adapterFor({ endpoint, price, baseUrl }: Attempt, _plan: Plan, { createdSeconds }: ReplyHead): EndpointAdapter {
    const { images: support, upstreamModel } = endpoint;
    if (support === null) throw new Error(`${endpoint.id} has no images interface`);
    const isBilledByTokens = isPricedByTokens(price);
    const adapter = imagesAdapter({
      call: this.#call,
      upstreamModel,
      baseUrl,
      support,
      isBilledByTokens,
      createdSeconds,
    });
    return { adapter, reasoning: undefined };
  }

  /** Images are not inspected, which a rule can refuse. */
  content(): unknown {
    const { prompt, inputs, mask, parameters } = this.#call;
    const images = [...inputs, ...(mask === undefined ? [] : [mask])].map(() => ({ type: "image" }));
    return { prompt, user: parameters.user, images };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

function missingImageCapability({ images, prices }: Endpoint, call: ImageCall): MissingCapability | undefined {
  if (images === null) return { reason: "has no images interface", param: "model" };
  return missingOperation(images, call) ?? missingClass(images, call) ?? unpriced({ prices }, images, call);
}

const VERBS = { generation: "generate", edit: "edit", variation: "vary" } as const;

function missingOperation(support: ImageSupport, call: ImageCall): MissingCapability | undefined {
  const { operation, inputs, mask, prompt, parameters, partialImages, count, model } = call;
  if (!support.operations.includes(operation)) {
    const verb = VERBS[operation];
    return {
      reason: `does not ${verb} images`,
      param: "model",
      fault: invalidValue("model", `must be a model that can ${verb} images, and ${model} cannot`),
    };
  }
  if (inputs.length > support.inputsMax)
    return tooMany(call.inputsField, `has ${inputs.length} images`, `edits at most ${support.inputsMax}`, call);
  if (mask !== undefined && !support.mask) return { reason: "does not support masks", param: "mask" };
  if (support.promptCharsMax !== null && prompt.length > support.promptCharsMax)
    return tooMany("prompt", `has ${prompt.length} characters`, `reads at most ${support.promptCharsMax}`, call);
  const unsupported = IMAGE_PARAMETERS.find(
    (name) => parameters[name] !== undefined && !support.parameters.includes(name),
  );
  if (unsupported !== undefined) return { reason: `does not support the parameter ${unsupported}`, param: unsupported };
  if (partialImages === undefined || partialImages === 0) return undefined;
  if (!support.stream) return { reason: "does not stream partial images", param: "partial_images" };
  return count > support.imagesMax
    ? tooMany("n", `is ${count} with partial images`, `streams at most ${support.imagesMax}`, call)
    : undefined;
}

/** The size is never rounded, because it is a part of the price. */
function missingClass(support: ImageSupport, { size, quality, model }: ImageCall): MissingCapability | undefined {
  const { sizes, qualities } = support;
  if (size !== undefined && sizes !== null && !Object.hasOwn(sizes, size))
    return unlisted("size", size, Object.keys(sizes), model);
  if (quality === undefined) return undefined;
  if (qualities === null) return { reason: "has no choice of quality", param: "quality" };
  return Object.hasOwn(qualities, quality) ? undefined : unlisted("quality", quality, Object.keys(qualities), model);
}

function unlisted(param: string, value: string, known: readonly string[], model: string): MissingCapability {
  if (known.length === 0) return { reason: `has no choice of ${param}`, param };
  return {
    reason: `does not generate ${param} ${value}`,
    param,
    fault: invalidValue(param, `is ${value}, but ${model} generates ${known.join(", ")}`),
  };
}

function unpriced(
  { prices }: Pick<Endpoint, "prices">,
  support: ImageSupport,
  call: ImageCall,
): MissingCapability | undefined {
  const { own } = providerClass(call, support);
  // Each row applies from its date on.
  if (prices.every((price) => imagePriceFor(price, own) !== undefined)) return undefined;
  const { size = "auto", quality = "auto" } = own;
  return {
    reason: `has no price for size ${size} in quality ${quality}`,
    param: own.size === undefined ? "size" : "quality",
  };
}

function tooMany(param: string, found: string, limit: string, { model }: ImageCall): MissingCapability {
  return { reason: limit, param, fault: invalidValue(param, `${found}, but ${model} ${limit}`) };
}

/** The endpoint with the price of an image of this class, for comparisons, holds and charges alike. */
function repricedForImages<Row extends PricedEndpoint>(row: Row, priced: ImageClass): Row {
  const price = imagePriceFor(row.price, priced) ?? row.price;
  const { units } = row.rates;
  if (price === row.price || units === undefined || price.perImage == null) return row;
  const { digits, scale } = price.perImage;
  const perImage = (Number(digits) / 10 ** scale) * units.nanosPerUnit;
  return { ...row, price, rates: { ...row.rates, units: { ...units, perImage } } };
}
