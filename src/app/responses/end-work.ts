import type { AuditEntry } from "../../domain/record/audit.ts";
import { isUnfinished, type ResponseSummary, type StoredResponse } from "../../domain/responses/response-store.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { endUnmade, type Unmaking } from "./end-orphaned-job.ts";
import type { ResponsesRoom } from "./responses-context.ts";

/** Deletes a response, whatever is still being made of it, and writes down who did. False: there is none. */
export async function removeResponse(room: ResponsesRoom, by: Principal, id: string): Promise<boolean> {
  const workspaceId = by.workspace.id;
  await endWork(room, workspaceId, id);
  return room.change(async ({ responses }) => {
    const isRemoved = await responses.remove(workspaceId, id, room.clock.nowMs());
    const audit = isRemoved ? lineOf(room, by, "response.delete", id) : null;
    return { answer: isRemoved, audit, concerns: "nobody" };
  });
}

/** Ends what is still being made of a response, and writes down who wanted that. */
export async function cancelResponse(room: ResponsesRoom, by: Principal, stored: StoredResponse): Promise<void> {
  if (!isUnfinished(stored)) return;
  // First: of what has ended nobody could tell any more, should the line then fail.
  const audit = lineOf(room, by, "response.cancel", stored.id);
  await room.change(async () => ({ answer: undefined, audit, concerns: "nobody" }));
  await endWork(room, stored.workspaceId, stored.id);
}

function lineOf({ ids, clock }: ResponsesRoom, by: Principal, action: string, target: string): AuditEntry {
  const { key, workspace } = by;
  const actor = `key:${key.id}`;
  return { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: workspace.id, target, detail: {} };
}

type Ending = Pick<ResponsesRoom, "jobs" | "store" | "clock" | "elsewhere"> & Unmaking;

/**
 * Ends what is still being made of a response, on whichever instance, and resolves when its end is in the store. One that
 * is not heard of stops when it next looks, and whoever takes up its work ends it.
 */
export async function endWork(room: Ending, workspaceId: string, id: string): Promise<void> {
  const { jobs, store, clock, elsewhere } = room;
  const job = jobs.find(workspaceId, id);
  if (job !== undefined) await jobs.cancel(job);
  const unfinished = async () => {
    const stored = await store.find(workspaceId, id, clock.nowMs());
    return stored !== undefined && isUnfinished(stored) ? stored : undefined;
  };
  // Where it was given up here, or taken up elsewhere, its end is not in the store yet.
  if ((await unfinished()) === undefined) return;
  await store.cancel(workspaceId, id);
  await elsewhere?.end(workspaceId, id);
  if (await elsewhere?.isWorkedOn(id)) return;
  const left = await unfinished();
  if (left !== undefined) await endUnmade(room, left, { is: "cancelled" });
}

/** What an operator sees of the stored responses of a workspace, and how the work on them is ended. */
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
