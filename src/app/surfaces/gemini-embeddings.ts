import type { z } from "zod";
import { type Fault, invalidValue } from "../../contract/faults.ts";
import { BatchEmbedContentsRequest, EmbedContentRequest } from "../../contract/schemas/gemini.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import { withCamelCase } from "../../language/dialects/gemini/field-names.ts";
import type { EmbeddingCall, EmbeddingReplyShape } from "../../language/embeddings/call.ts";
import type { Exchange, Handler } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type { DecodedRequest } from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { EmbeddingInferenceRequest } from "./embeddings.ts";

/** POST /v1beta/models/{model}:embedContent and :batchEmbedContents. */
export function geminiEmbeddingHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    embedContent: inferenceHandler(gateway, "embeddings", (bytes, exchange) => {
      const request = decodeBody(EmbedContentRequest, bytes);
      return decodeRequests([request], request, exchange, "one");
    }),
    batchEmbedContents: inferenceHandler(gateway, "embeddings", (bytes, exchange) => {
      const request = decodeBody(BatchEmbedContentsRequest, bytes);
      return decodeRequests(request.requests, request, exchange, "batch");
    }),
  };
}

function decodeBody<T>(schema: z.ZodType<T>, bytes: Buffer): T {
  return decodeWith(schema, withCamelCase(parseJson(bytes)));
}

type InnerRequest = BatchEmbedContentsRequest["requests"][number];

/** One provider request has one task and one length, so all requests of a batch must have the same. */
function decodeRequests(
  requests: readonly InnerRequest[],
  { provider, data_classes, cache }: Pick<EmbedContentRequest, "provider" | "data_classes" | "cache">,
  { params }: Exchange,
  shape: Exclude<EmbeddingReplyShape, "list">,
): DecodedRequest {
  const model = params["model"] ?? "";
  const pathOf = (at: number) => (shape === "one" ? "" : `requests.${at}.`);
  const [first] = requests;
  for (const [at, request] of requests.entries()) {
    if (request.model != null && request.model.replace(/^models\//, "") !== model)
      throw invalidValue(`${pathOf(at)}model`, `must be the model of the path, models/${model}`);
    for (const member of ["taskType", "title", "outputDimensionality"] as const)
      if ((request[member] ?? null) !== (first?.[member] ?? null))
        throw invalidValue(`${pathOf(at)}${member}`, "must be the same in all requests");
    if (textOf(request) === "") throw invalidValue(`${pathOf(at)}content.parts`, "must have a text");
  }
  const texts = requests.map(textOf);
  const { taskType, title, outputDimensionality } = first ?? {};
  const call: EmbeddingCall = {
    model,
    inputs: { is: "texts", texts },
    inputTokens: texts.map(conservativeTextTokens),
    dimensions: outputDimensionality ?? undefined,
    encoding: "float",
    user: undefined,
    routingHints: decodeRoutingHints({ provider, data_classes, cache }),
    replyShape: shape,
    ...(taskType == null && title == null
      ? {}
      : {
          task: {
            ...(taskType == null ? {} : { type: taskType }),
            ...(title == null ? {} : { title }),
            path: shape === "one" ? "" : "requests[].",
          },
        }),
  };
  return {
    request: new EmbeddingInferenceRequest(call),
    toCallerParameterNames: (problem) => withCallerNames(problem, pathOf),
  };
}

/** Several parts are one text. */
function textOf({ content }: InnerRequest): string {
  return content.parts.map(({ text }) => text).join("\n");
}

function withCallerNames(problem: Fault, pathOf: (at: number) => string): Fault {
  const { param, message } = problem;
  if (param === undefined) return problem;
  const input = /^input(?:\.(\d+))?$/.exec(param);
  const at = Number(input?.[1] ?? 0);
  const name =
    input === null ? (param === "dimensions" ? `${pathOf(0)}outputDimensionality` : param) : `${pathOf(at)}content`;
  return name === param
    ? problem
    : problem.reworded({ message: message.replaceAll(`"${param}"`, `"${name}"`), param: name });
}
