import type { AuditEntry } from "../../domain/record/audit.ts";
import { isUnfinished, type ResponseSummary, type StoredResponse } from "../../domain/responses/response-store.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { endUnmade, type Unmaking } from "./end-orphaned-job.ts";
import type { ResponsesRoom } from "./responses-context.ts";

/** Cancels the response if it is still running, deletes it and writes an audit entry. False: no such response. */
export async function removeResponse(room: ResponsesRoom, by: Principal, id: string): Promise<boolean> {
  const workspaceId = by.workspace.id;
  await endWork(room, workspaceId, id);
  return room.change(async ({ responses }) => {
    const isRemoved = await responses.remove(workspaceId, id, room.clock.nowMs());
    const audit = isRemoved ? lineOf(room, by, "response.delete", id) : null;
    return { result: isRemoved, audit, needsReload: false };
  });
}

/** Cancels a running response and writes an audit entry. */
export async function cancelResponse(room: ResponsesRoom, by: Principal, stored: StoredResponse): Promise<void> {
  if (!isUnfinished(stored)) return;
  // The audit entry comes first, so that no cancellation goes unaudited if the write fails.
  const audit = lineOf(room, by, "response.cancel", stored.id);
  await room.change(async () => ({ result: undefined, audit, needsReload: false }));
  await endWork(room, stored.workspaceId, stored.id);
}

function lineOf({ ids, clock }: ResponsesRoom, by: Principal, action: string, target: string): AuditEntry {
  const { key, workspace } = by;
  const actor = `key:${key.id}`;
  return { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: workspace.id, target, detail: {} };
}

type Ending = Pick<ResponsesRoom, "jobs" | "store" | "clock" | "elsewhere"> & Unmaking;

/**
 * Cancels a response on whichever instance runs it; resolves when its end is stored. An unreachable instance stops at its
 * next check, and the instance that resumes its jobs ends the response.
 */
export async function endWork(room: Ending, workspaceId: string, id: string): Promise<void> {
  const { jobs, store, clock, elsewhere } = room;
  const job = jobs.find(workspaceId, id);
  if (job !== undefined) await jobs.cancel(job);
  const unfinished = async () => {
    const stored = await store.find(workspaceId, id, clock.nowMs());
    return stored !== undefined && isUnfinished(stored) ? stored : undefined;
  };
  // The end is not stored yet when this instance abandoned the job or another one took it over.
  if ((await unfinished()) === undefined) return;
  await store.cancel(workspaceId, id);
  await elsewhere?.end(workspaceId, id);
  if (await elsewhere?.isWorkedOn(id)) return;
  const left = await unfinished();
  if (left !== undefined) await endUnmade(room, left, { is: "cancelled" });
}

/** Operations of the management API on the stored responses of a workspace. */
export function overseenResponses(room: ResponsesRoom) {
  const { jobs, store, clock } = room;
  return {
    list: (
      workspaceId: string,
      limit: number,
      cursor: string | null,
    ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }> =>
      store.list(workspaceId, clock.nowMs(), limit, cursor),
    usage: (workspaceId: string) => ({ usedBytes: store.bytesOf(workspaceId), maxBytes: room.bytesMax }),
    stop: (workspaceId: string, id: string): Promise<void> => endWork(room, workspaceId, id),
    async stopAll(workspaceId: string): Promise<void> {
      await jobs.cancelAll(workspaceId);
      await room.elsewhere?.end(workspaceId, null);
    },
  };
}
