import type { RememberedUse } from "../../domain/admission/idempotency.ts";
import type { RequestRecord } from "../../domain/record/record.ts";

/** The use of a key that a record tells of; undefined for one that nothing was charged for. */
export function rememberedUse(record: RequestRecord): RememberedUse | undefined {
  const { id, workspaceId, status, charge, idempotency } = record;
  if (idempotency === undefined || charge === null) return undefined;
  const { key, body, untilMs: expiresAtMs } = idempotency;
  const { currency } = charge;
  return { key, body, workspaceId, requestId: id, status, nanos: BigInt(charge.nanos), currency, expiresAtMs };
}
