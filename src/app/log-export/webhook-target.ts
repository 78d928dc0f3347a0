import { webhookSignature } from "../../domain/alerts/webhook-signature.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import {
  type ExportResult,
  exportResultOf,
  type PostRequest,
  type PostResult,
} from "../../io/telemetry/export-result.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";

type WebhookTargetDeps = {
  readonly url: string;
  /** Each one signs, so that a secret can be rotated without a gap. */
  readonly secrets: readonly string[];
  readonly post: (message: PostRequest) => Promise<PostResult>;
  readonly line: (record: RequestRecord) => object;
  readonly clock: Clock;
  readonly ids: IdGenerator;
};

/** Posts batches of the log to the operator's URL, signed like alerts. */
export function webhookTarget({ url, secrets, post, line, clock, ids }: WebhookTargetDeps) {
  return async (records: readonly RequestRecord[], signal: AbortSignal): Promise<ExportResult> => {
    const id = ids.next("batch_");
    const timestamp = Math.floor(clock.nowMs() / 1000);
    const body = JSON.stringify({ id, type: "request_log", records: records.map(line) });
    const headers = {
      "content-type": "application/json",
      "user-agent": "inference-gateway",
      "x-svc-batch-id": id,
      "x-svc-timestamp": String(timestamp),
      "x-svc-signature": secrets.map((secret) => `v1=${webhookSignature(secret, timestamp, body)}`).join(","),
    };
    return exportResultOf(await post({ url, headers, body, signal }));
  };
}
