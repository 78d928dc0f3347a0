import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./record.ts";

/** Journals a committed stream. It is not awaited: settlement waits for the journal. */
export function recordOpened({ clock, journal }: Pick<GatewayDeps, "clock" | "journal">, trace: RequestTrace): void {
  const { requestId, principal } = trace;
  const atMs = clock.nowMs();
  journal
    .append({ t: "open", id: requestId, workspaceId: principal.workspace.id, atMs, record: trace.openRecord() })
    .catch(() => undefined);
}
