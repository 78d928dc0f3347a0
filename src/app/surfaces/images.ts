import { invalidValue } from "../../contract/faults.ts";
import {
  type ImageEditForm,
  ImageEditForm as ImageEditFormSchema,
  ImageEditRequest,
  ImageGenerationRequest,
  ImageVariationForm,
} from "../../contract/schemas/images.ts";
import type { UploadedForm } from "../../io/uploads/multipart-form.ts";
import type { UploadReader } from "../../io/uploads/upload-reader.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { decodeImageParam } from "../../language/decisions/request.ts";
import { IMAGE_PARAMETERS, type ImageCall, type ImageParameter } from "../../language/images/call.ts";
import type { Exchange, Handler } from "../exchange.ts";
import { receivedBody } from "../pipeline/decode.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type { DecodedRequest, ReceivedRequest } from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { type FormImages, IMAGE_FILES, imageFormValues, loggableImageForm, readFormImages } from "./image-form.ts";
import { ImageInferenceRequest } from "./image-request.ts";
import { type ModelDeps, usableModels } from "./models.ts";
import { formFingerprint } from "./transcriptions.ts";

/** POST /images/generations, /images/edits and /images/variations. */
export function imagesHandlers(
  gateway: GatewayDeps,
  uploads: UploadReader,
  models: ModelDeps,
): Record<string, Handler> {
  const decoder = new ImageDecoder(models);
  const upload = (decode: FormDecoder) => (exchange: Exchange) => receiveForm(exchange, uploads, decode);
  const edit = upload((form, exchange) => decoder.editForm(form, exchange));
  return {
    createImage: inferenceHandler(gateway, "images", (bytes, exchange) => decoder.generation(bytes, exchange)),
    createImageEdit: inferenceHandler(gateway, "images", {
      upload: async (exchange) =>
        isForm(exchange)
          ? edit(exchange)
          : receivedBody(exchange, await exchange.body(), (bytes) => decoder.editJson(bytes, exchange)),
    }),
    createImageVariation: inferenceHandler(gateway, "images", {
      upload: upload((form, exchange) => decoder.variation(form, exchange)),
    }),
  };
}

const isForm = ({ headers }: Exchange) => headers["content-type"]?.toLowerCase().startsWith("multipart/") === true;

type FormDecoder = (form: UploadedForm, exchange: Exchange) => Promise<DecodedRequest>;

async function receiveForm(exchange: Exchange, uploads: UploadReader, decode: FormDecoder): Promise<ReceivedRequest> {
  const source = await exchange.upload();
  const form = await uploads.read(source, exchange.headers["content-type"] ?? "", IMAGE_FILES);
  return {
    loggableBody: Buffer.from(JSON.stringify(loggableImageForm(form))),
    requestFingerprint: formFingerprint(form),
    decode: () => decode(form, exchange),
    dispose: () => form.close(),
  };
}

/** The fields that all three requests share. */
type SharedFields = Pick<ImageEditForm, "model" | "n" | "size" | "provider" | "data_classes"> &
  Partial<Pick<ImageEditForm, "prompt" | "quality" | "stream" | "partial_images">> &
  Readonly<Partial<Record<ImageParameter, unknown>>>;

class ImageDecoder {
  readonly #models: ModelDeps;

  constructor(models: ModelDeps) {
    this.#models = models;
  }

  generation(bytes: Buffer, exchange: Exchange): DecodedRequest {
    const request = decodeWith(ImageGenerationRequest, withoutUrls(parseJson(bytes).value));
    return this.#decoded("generation", request, NO_IMAGES, exchange);
  }

  editJson(bytes: Buffer, exchange: Exchange): DecodedRequest {
    const request = decodeWith(ImageEditRequest, withoutUrls(parseJson(bytes).value));
    const images = {
      inputs: request.images.map(({ image_url: url }, at) => decodeReference(url, `images.${at}.image_url`)),
      mask: request.mask == null ? undefined : decodeReference(request.mask.image_url, "mask.image_url"),
    };
    return this.#decoded("edit", request, images, exchange);
  }

  async editForm(form: UploadedForm, exchange: Exchange): Promise<DecodedRequest> {
    const request = decodeWith(ImageEditFormSchema, withoutUrls(imageFormValues(form)));
    return this.#decoded("edit", request, await readFormImages(form), exchange);
  }

  async variation(form: UploadedForm, exchange: Exchange): Promise<DecodedRequest> {
    const request = decodeWith(ImageVariationForm, withoutUrls(imageFormValues(form)));
    return this.#decoded("variation", request, await readFormImages(form), exchange);
  }

  #decoded(
    operation: ImageCall["operation"],
    request: SharedFields,
    images: FormImages,
    exchange: Exchange,
  ): DecodedRequest {
    const { n, size, provider, data_classes } = request;
    const isStreaming = request.stream ?? false;
    if (request.partial_images != null && !isStreaming) throw invalidValue("partial_images", "needs stream: true");
    checkMask(images);
    const call: ImageCall = {
      operation,
      model: request.model ?? this.#defaultModel(exchange),
      prompt: request.prompt ?? "",
      count: n ?? 1,
      size: stated(size),
      quality: stated(request.quality),
      ...images,
      inputsField: exchange.route.intake === "multipart" && !isForm(exchange) ? "images" : "image",
      parameters: parametersIn(request),
      isStreaming,
      partialImages: request.partial_images ?? undefined,
      routingHints: decodeRoutingHints({ provider, data_classes }),
    };
    return { request: new ImageInferenceRequest(call) };
  }

  /** Clients of this format may leave the model out. What it is then follows from the key's models, never from a name in code. */
  #defaultModel(exchange: Exchange): string {
    const [model] = usableModels(this.#models, exchange, "images");
    if (model === undefined) throw invalidValue("model", "is required, because this key can use no model for images");
    return model.id;
  }
}

const NO_IMAGES: FormImages = { inputs: [], mask: undefined };

/** `url` is valid at OpenAI, so the refusal says why it is none here. */
function withoutUrls(value: JsonObject): JsonObject {
  if (value["response_format"] === "url")
    throw invalidValue(
      "response_format",
      "must be b64_json or absent: the gateway stores no images, so it returns no URLs",
    );
  const references = Array.isArray(value["images"]) ? value["images"] : [];
  for (const [at, reference] of [...references.entries(), ["mask", value["mask"]] as const])
    if (isJsonObject(reference) && reference["file_id"] !== undefined)
      throw invalidValue(
        at === "mask" ? "mask.file_id" : `images.${at}.file_id`,
        "is not supported: send the image as a data URL in image_url",
      );
  return value;
}

function decodeReference(url: string, param: string) {
  const { mediaType, base64, size } = decodeImageParam(url, param);
  return { mediaType, size, bytes: Buffer.from(base64, "base64") };
}

/** `auto` leaves the choice to the provider, as an absent field does. */
function stated(value: string | null | undefined): string | undefined {
  return value == null || value === "auto" ? undefined : value;
}

function parametersIn(request: Readonly<Partial<Record<ImageParameter, unknown>>>): ImageCall["parameters"] {
  const sent = IMAGE_PARAMETERS.flatMap((name): [ImageParameter, string | number][] => {
    const value = request[name];
    return typeof value === "number" || (typeof value === "string" && value !== "auto") ? [[name, value]] : [];
  });
  return Object.fromEntries(sent);
}

/** As OpenAI documents it; providers would fail on it after they were charged for the input. */
function checkMask({ inputs: [first], mask }: FormImages): void {
  if (mask === undefined) return;
  if (mask.mediaType !== "image/png")
    throw invalidValue("mask", "must be a PNG, because its transparent part is edited");
  const [a, b] = [first?.size, mask.size];
  if (a != null && b !== null && (a.width !== b.width || a.height !== b.height))
    throw invalidValue(
      "mask",
      `must have the size of the first image: ${b.width}x${b.height} instead of ${a.width}x${a.height}`,
    );
}
