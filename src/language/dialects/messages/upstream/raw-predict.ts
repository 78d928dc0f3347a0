import { isJsonObject } from "../../../../kit/json.ts";
import { percentEncode } from "../../../../kit/percent-encode.ts";
import { decodeProblem as decodeGoogleProblem } from "../../gemini/upstream/errors.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { messagesUpstream } from "./dialect.ts";
import { decodeProblem as decodeOwnProblem } from "./errors.ts";
import { requestBody } from "./request.ts";

/** Quirk of Vertex AI hosts. */
export const RAW_PREDICT = "raw-predict";
/** Replaces the version header. */
export const RAW_PREDICT_VERSION = "vertex-2023-10-16";

export function rawPredictPath(upstreamModel: string, delivery: "whole" | "stream"): string {
  return `/models/${percentEncode(upstreamModel)}:${delivery === "stream" ? "streamRawPredict" : "rawPredict"}`;
}

/** The messages API on Vertex AI: the model is in the path, the version in the body. */
export const rawPredictUpstream: UpstreamDialect = {
  ...messagesUpstream,
  auth: "bearer",
  headers: {},
  path: ({ stream }, { upstreamModel }) => rawPredictPath(upstreamModel, stream ? "stream" : "whole"),
  encodeRequest: (call, facts) =>
    JSON.stringify({ anthropic_version: RAW_PREDICT_VERSION, ...requestBody(call, facts) }),
  decodeProblem: decodeRawPredictProblem,
};

/** Model errors use the messages format; credential, quota and routing errors use Google's. */
export function decodeRawPredictProblem(body: unknown, status: number | null) {
  const error = isJsonObject(body) ? body["error"] : undefined;
  const own = isJsonObject(error) && typeof error["type"] === "string";
  return own ? decodeOwnProblem(body, status) : decodeGoogleProblem(body, status);
}
