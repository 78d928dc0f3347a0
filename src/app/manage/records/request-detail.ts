import { FAULTS } from "../../../contract/faults.ts";
import type { ChargeRecord, RequestRecord } from "../../../domain/record/record.ts";
import { OPEN_POLICY, type PolicyVersion } from "../../../domain/tenancy/policy.ts";
import { isJsonObject } from "../../../kit/json.ts";
import type { ManageContext } from "../deps.ts";
import { policyView, requestDetail } from "../views.ts";

/** One request with everything that is kept of it but its content: what decided, what it cost and why it failed. */
export async function requestDetailView(context: Pick<ManageContext, "directory" | "store">, record: RequestRecord) {
  const versions = await context.store.tenancy.policyHistory(record.workspaceId);
  return {
    ...requestDetail(record, context.directory),
    workspace: context.directory.workspace(record.workspaceId)?.slug ?? record.workspaceId,
    client_request_id: record.clientRequestId,
    upstream_id: record.upstreamId,
    charge: record.charge === null ? null : chargeView(record.charge),
    policies: policiesAt(versions, record),
    error: errorView(record.errorCode),
  };
}

function chargeView({ price, rate, margin }: ChargeRecord) {
  return {
    price: toApiFieldNames(price),
    rate:
      rate === null ? null : { from: rate.from, to: rate.to, per_eur_from: rate.perEurFrom, per_eur_to: rate.perEurTo },
    margin: margin ?? null,
  };
}

/** Figures of a price under the names they have everywhere else outside: `input_per_1m_tokens`. */
function toApiFieldNames(price: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(price).map(([name, value]) => [
      name.replaceAll(/(?<=[a-z])(?=[A-Z]|1[mh])/g, "_").toLowerCase(),
      Array.isArray(value) ? value.map((one) => (isJsonObject(one) ? toApiFieldNames(one) : one)) : value,
    ]),
  );
}

/** Demands of the workspace, and of the key on top of it, when the request came. */
function policiesAt(versions: readonly PolicyVersion[], { createdAtMs, keyId }: RequestRecord) {
  return [null, keyId].flatMap((subject) => {
    const own = versions.filter((one) => one.keyId === subject && one.createdAtMs <= createdAtMs);
    const last = own.at(-1);
    if (last === undefined) return [];
    const policy = policyView({ ...OPEN_POLICY, ...last.policy });
    return [{ subject: subject === null ? "workspace" : "key", version: last.version, policy }];
  });
}

/** What nobody was refused with stands in the log alone. */
const ERROR_EXPLANATIONS = new Map<string, { says: string; next: string }>([
  ...Object.entries(FAULTS),
  [
    "client_disconnected",
    {
      says: "The caller hung up before the answer was whole; what was used until then is charged.",
      next: "Give the caller more time, or ask for a stream.",
    },
  ],
  [
    "interrupted",
    {
      says: "The gateway was killed while it answered; nothing was charged.",
      next: "Send it again.",
    },
  ],
]);

function errorView(code: string | null) {
  if (code === null) return null;
  const { says, next } = ERROR_EXPLANATIONS.get(code) ?? { says: null, next: null };
  return { code, says, next };
}
