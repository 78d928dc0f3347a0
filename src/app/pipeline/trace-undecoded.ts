import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import { tryParseJson } from "../request-input.ts";
import type { RequestTrace } from "./record.ts";

/** Fills the trace from the raw body of a request that was not decoded, valid or not. */
export function traceUndecoded(trace: RequestTrace, body: Buffer): void {
  const { model, stream } = tryParseJson(body) ?? {};
  if (typeof model === "string" && model.length <= MODEL_NAME_CHARS_MAX) trace.modelRequested = model;
  trace.streaming = stream === true;
}
