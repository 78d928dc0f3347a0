import { FAULTS, type Fault, fault } from "../../../contract/faults.ts";
import { RequestQuery, RequestShowQuery } from "../../../contract/schemas/manage-log.ts";
import type { ChargeRecord, RequestRecord } from "../../../domain/record/record.ts";
import { OPEN_POLICY, type PolicyVersion } from "../../../domain/tenancy/policy.ts";
import { isJsonObject } from "../../../kit/json.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { policyView, requestDetail, requestView } from "../views.ts";
import { capturedOf } from "./captures.ts";
import { exportHandlers } from "./log-export.ts";
import { parseLogFilter, restrictToCaller } from "./log-filter.ts";
import { usageHandlers } from "./usage.ts";

export function requestNotFound(id: string): Fault {
  return fault("not_found", { message: `The log has no request with the id "${printable(id)}".` });
}

export function logHandlers(context: ManageContext): Record<string, Handler> {
  return {
    ...exportHandlers(context),
    ...usageHandlers(context),
    manageListRequests: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const query = readQuery(exchange, RequestQuery);
      const filter = restrictToCaller(parseLogFilter(query, workspace, context.directory), exchange);
      await context.waitForIngest();
      const { rows, next } = await context.store.log.list(workspace.id, filter, query.limit, query.cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => requestView(row, context.directory)), next } };
    }),
    manageShowRequest: mutation(context, async (exchange, scope) => {
      const id = exchange.params["id"] ?? "";
      await scope.waitForIngest();
      const record = await scope.store.log.find(id);
      if (record === undefined) throw requestNotFound(id);
      const { content } = readQuery(exchange, RequestShowQuery);
      const detail = await requestDetailView(scope, record);
      return { status: 200, json: { ...detail, ...(await capturedOf(scope, record.workspaceId, id, content)) } };
    }),
  };
}

/** One request with its routing decision, charge, policies and error, without its content. */
async function requestDetailView(context: Pick<ManageContext, "directory" | "store">, record: RequestRecord) {
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

/** Price fields under their API names, such as `input_per_1m_tokens`. */
function toApiFieldNames(price: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(price).map(([name, value]) => [
      name.replaceAll(/(?<=[a-z])(?=[A-Z]|1[mh])/g, "_").toLowerCase(),
      Array.isArray(value) ? value.map((one) => (isJsonObject(one) ? toApiFieldNames(one) : one)) : value,
    ]),
  );
}

/** The policies of the workspace and the key when the request arrived. */
function policiesAt(versions: readonly PolicyVersion[], { createdAtMs, keyId }: RequestRecord) {
  return [null, keyId].flatMap((subject) => {
    const own = versions.filter((one) => one.keyId === subject && one.createdAtMs <= createdAtMs);
    const last = own.at(-1);
    if (last === undefined) return [];
    const policy = policyView({ ...OPEN_POLICY, ...last.policy });
    return [{ subject: subject === null ? "workspace" : "key", version: last.version, policy }];
  });
}

/** The fault catalogue, and codes that only appear in the log. */
const ERROR_EXPLANATIONS = new Map<string, { says: string; next: string }>([
  ...Object.entries(FAULTS),
  [
    "client_disconnected",
    {
      says: "The client disconnected before the response was complete. The usage until then is charged.",
      next: "Increase the client's timeout, or use streaming.",
    },
  ],
  [
    "interrupted",
    {
      says: "The gateway was killed while it served the request. Nothing was charged.",
      next: "Retry.",
    },
  ],
]);

function errorView(code: string | null) {
  if (code === null) return null;
  const { says, next } = ERROR_EXPLANATIONS.get(code) ?? { says: null, next: null };
  return { code, says, next };
}
