import { envelopeOf, messagesEnvelopeOf } from "../../contract/error-envelope.ts";
import type { Fault } from "../../contract/faults.ts";
import type { BatchShape, StopReason } from "../../domain/batches/batch.ts";

/** A line of the results, with its line break. `id` is the request id. */
type ResultRef = { readonly shape: BatchShape; readonly customId: string; readonly id: string };

/** `body` is the response as JSON; providers may have sent it on several lines. */
export function successLine({ shape, customId, id }: ResultRef, body: string): string {
  const oneLine = body.replace(/[\r\n]+/g, " ");
  const name = JSON.stringify(customId);
  if (shape === "anthropic") return `{"custom_id":${name},"result":{"type":"succeeded","message":${oneLine}}}\n`;
  return `{"id":${JSON.stringify(lineId(id))},"custom_id":${name},"response":{"status_code":200,"request_id":${JSON.stringify(id)},"body":${oneLine}},"error":null}\n`;
}

export function faultLine(ref: ResultRef, problem: Fault): string {
  const { shape, customId: custom_id, id } = ref;
  if (shape === "anthropic") {
    const error = messagesEnvelopeOf(envelopeOf(problem, id, "messages"));
    return `${JSON.stringify({ custom_id, result: { type: "errored", error } })}\n`;
  }
  const response = { status_code: problem.status, request_id: id, body: envelopeOf(problem, id) };
  return `${JSON.stringify({ id: lineId(id), custom_id, response, error: null })}\n`;
}

const STOPPED: Readonly<Record<StopReason, { readonly code: string; readonly message: string }>> = {
  cancelled: { code: "batch_cancelled", message: "The batch was cancelled before this request ran." },
  expired: { code: "batch_expired", message: "The batch expired before this request ran." },
  key_invalid: {
    code: "invalid_api_key",
    message: "The key of the batch was no longer valid, or no longer permitted, when this request was due.",
  },
  retention_forbidden: {
    code: "zero_data_retention_required",
    message: "Zero data retention was required when this request was due, so its result could not be stored.",
  },
};

export const stopError = (reason: StopReason) => STOPPED[reason];

/** For a request that never ran. */
export function stoppedLine({ shape, customId: custom_id, id }: ResultRef, reason: StopReason): string {
  if (shape === "openai")
    return `${JSON.stringify({ id: lineId(id), custom_id, response: null, error: STOPPED[reason] })}\n`;
  if (reason === "expired") return `${JSON.stringify({ custom_id, result: { type: "expired" } })}\n`;
  return `${JSON.stringify({ custom_id, result: { type: "canceled" } })}\n`;
}

const lineId = (requestId: string) => `batch_req_${requestId.replace(/^[a-z]+[_-]/, "")}`;
