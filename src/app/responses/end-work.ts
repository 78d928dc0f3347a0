import type { AuditEntry } from "../../domain/record/audit.ts";
import { isUnfinished, type ResponseSummary, type StoredResponse } from "../../domain/responses/response-store.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { endOrphaned, type OrphanDeps } from "./end-orphaned-job.ts";
import type { ResponsesContext } from "./responses-context.ts";
import { visibleResponses } from "./visible-responses.ts";

/** Cancels the response if it is still running, deletes it and writes an audit entry. False: no such response. */
export async function removeResponse(context: ResponsesContext, principal: Principal, id: string): Promise<boolean> {
  const workspaceId = principal.workspace.id;
  const stored = await visibleResponses(context, principal).find(workspaceId, id, context.clock.nowMs());
  if (stored === undefined) return false;
  await endWork(context, workspaceId, id);
  return context.change(async ({ responses }) => {
    const isRemoved = await responses.remove(workspaceId, id, context.clock.nowMs());
    const audit = isRemoved ? auditEntry(context, principal, "response.delete", id) : null;
    return { result: isRemoved, audit, needsReload: false };
  });
}

/** Cancels a running response and writes an audit entry. */
export async function cancelResponse(
  context: ResponsesContext,
  principal: Principal,
  stored: StoredResponse,
): Promise<void> {
  if (!isUnfinished(stored)) return;
  // The audit entry comes first, so that no cancellation goes unaudited if the write fails.
  const audit = auditEntry(context, principal, "response.cancel", stored.id);
  await context.change(async () => ({ result: undefined, audit, needsReload: false }));
  await endWork(context, stored.workspaceId, stored.id);
}

function auditEntry(
  { ids, clock }: ResponsesContext,
  principal: Principal,
  action: string,
  target: string,
): AuditEntry {
  const { key, workspace } = principal;
  const actor = `key:${key.id}`;
  return { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: workspace.id, target, detail: {} };
}

type EndWorkDeps = Pick<ResponsesContext, "jobs" | "store" | "clock" | "remoteJobs"> & OrphanDeps;

/**
 * Cancels a response on whichever instance runs it; resolves when its end is stored. An unreachable instance stops at its
 * next check, and the instance that resumes its jobs ends the response.
 */
export async function endWork(context: EndWorkDeps, workspaceId: string, id: string): Promise<void> {
  const { jobs, store, clock, remoteJobs } = context;
  const job = jobs.find(workspaceId, id);
  if (job !== undefined) await jobs.cancel(job);
  const unfinished = async () => {
    const stored = await store.find(workspaceId, id, clock.nowMs());
    return stored !== undefined && isUnfinished(stored) ? stored : undefined;
  };
  // The end is not stored yet when this instance abandoned the job or another one took it over.
  if ((await unfinished()) === undefined) return;
  await store.cancel(workspaceId, id);
  await remoteJobs?.end(workspaceId, id);
  if (await remoteJobs?.isAnnounced(id)) return;
  const remaining = await unfinished();
  if (remaining !== undefined) await endOrphaned(context, remaining, { is: "cancelled" });
}

/** Operations of the management API on the stored responses of a workspace. */
export function managedResponses(context: ResponsesContext) {
  const { jobs, store, clock } = context;
  return {
    list: (
      workspaceId: string,
      limit: number,
      cursor: string | null,
    ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }> =>
      store.list(workspaceId, clock.nowMs(), limit, cursor),
    usage: (workspaceId: string) => ({ usedBytes: store.bytesOf(workspaceId), maxBytes: context.bytesMax }),
    stop: (workspaceId: string, id: string): Promise<void> => endWork(context, workspaceId, id),
    async stopAll(workspaceId: string): Promise<void> {
      await jobs.cancelAll(workspaceId);
      await context.remoteJobs?.end(workspaceId, null);
    },
  };
}
