import { isJsonObject } from "../../../../kit/json.ts";
import { percentEncode } from "../../../../kit/percent-encode.ts";
import { decodeProblem as decodeGoogleProblem } from "../../gemini/upstream/errors.ts";
import type { UpstreamDialect } from "../../upstream-dialect.ts";
import { messagesUpstream } from "./dialect.ts";
import { decodeProblem as decodeOwnProblem } from "./errors.ts";
import { requestBody } from "./request.ts";

/** The name of the deviation in the catalogue. */
export const RAW_PREDICT = "raw-predict";
/** What the body says in the place of the header. */
export const RAW_PREDICT_VERSION = "vertex-2023-10-16";

export function rawPredictPath(upstreamModel: string, delivery: "whole" | "stream"): string {
  return `/models/${percentEncode(upstreamModel)}:${delivery === "stream" ? "streamRawPredict" : "rawPredict"}`;
}

/** The messages API behind Google's door for other makers' models: the model is in the path, the version in the body. */
export const rawPredictUpstream: UpstreamDialect = {
  ...messagesUpstream,
  auth: "bearer",
  headers: {},
  path: ({ stream }, { upstreamModel }) => rawPredictPath(upstreamModel, stream ? "stream" : "whole"),
  encodeRequest: (call, facts) =>
    JSON.stringify({ anthropic_version: RAW_PREDICT_VERSION, ...requestBody(call, facts) }),
  decodeProblem: decodeRawPredictProblem,
};

/** The model's own errors come in its dialect, those of the door (credential, quota, address) in Google's. */
export function decodeRawPredictProblem(body: unknown, status: number | null) {
  const error = isJsonObject(body) ? body["error"] : undefined;
  const own = isJsonObject(error) && typeof error["type"] === "string";
  return own ? decodeOwnProblem(body, status) : decodeGoogleProblem(body, status);
}
