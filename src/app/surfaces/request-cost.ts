import type { z } from "zod";
import { fault } from "../../contract/faults.ts";
import type { RequestCost } from "../../contract/schemas/requests.ts";
import type { LogStore, RequestRecord } from "../../domain/record/record.ts";
import { maySeeRequestsOf, type Principal } from "../../domain/tenancy/key.ts";
import { formatNanos } from "../../kit/money.ts";
import { buffered, type Handler, principalOf } from "../exchange.ts";
import { type IngestBarrier, requireIngested } from "../ingest-barrier.ts";
import { printable } from "../printable.ts";
import { usageView } from "../usage-view.ts";

export type RequestsDeps = IngestBarrier & { readonly log: Pick<LogStore, "find"> };

/** `GET /v1/requests/{id}`: outcome and cost of a request, for keys of its workspace. */
export function requestHandlers(deps: RequestsDeps): Record<string, Handler> {
  return {
    getRequest: buffered(async (exchange) => {
      const principal = principalOf(exchange);
      requireAnyScope(principal);
      const record = await find(deps, exchange.params["id"] ?? "", principal);
      return { status: 200, json: requestCost(record, principal.workspace.currency) };
    }),
  };
}

/** Any scope is enough. */
function requireAnyScope({ key: { scopes } }: Principal): void {
  if (scopes !== null && scopes.length === 0)
    throw fault("insufficient_scope", {
      message: "This key has no scopes. Use another key, or ask an admin to add one.",
    });
}

function isVisibleTo(principal: Principal, record: RequestRecord | undefined): record is RequestRecord {
  return record?.workspaceId === principal.workspace.id && maySeeRequestsOf(principal, record.memberId);
}

async function find(deps: RequestsDeps, id: string, principal: Principal): Promise<RequestRecord> {
  const known = await deps.log.find(id);
  // Unknown, deleted and foreign requests are indistinguishable, in the response and in its timing.
  const record = isVisibleTo(principal, known) ? known : await findAfterIngest(deps, id);
  if (!isVisibleTo(principal, record))
    throw fault("not_found", {
      message: `There is no finished request with the id "${printable(id)}". Use the X-Svc-Request-Id of a completed response.`,
      param: "id",
    });
  return record;
}

async function findAfterIngest(deps: RequestsDeps, id: string): Promise<RequestRecord | undefined> {
  await requireIngested(
    deps,
    "The request log is behind, so the outcome of this request is still unknown. Try again shortly.",
  );
  return deps.log.find(id);
}

function requestCost(record: RequestRecord, walletCurrency: string): z.infer<typeof RequestCost> {
  const { charge } = record;
  return {
    id: record.id,
    object: "request",
    created_at: new Date(record.createdAtMs).toISOString(),
    environment: record.environment,
    surface: record.surface,
    model_requested: record.modelRequested,
    model: record.model,
    provider: record.provider,
    level: record.level,
    countries: record.countries === null ? null : [...record.countries],
    router: record.router,
    streaming: record.streaming,
    status: record.status,
    error_code: record.errorCode,
    usage: usageView(record.usage),
    cost: record.ownKey === true ? null : formatNanos(BigInt(charge?.nanos ?? "0")),
    currency: charge?.currency ?? walletCurrency,
    attempts: record.attempts.length,
    ttfb_ms: record.ttfbMs,
    total_ms: record.totalMs,
    overhead_ms: record.overheadMs,
  };
}
