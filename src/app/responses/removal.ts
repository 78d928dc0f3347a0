import { isUnfinished, type ResponseSummary } from "../../domain/responses/stored.ts";
import { endUnmade, type Unmaking } from "./end-unmade.ts";
import type { ResponsesRoom } from "./room.ts";

/** Deletes a response, whatever is still being made of it. False: there is none. */
export async function removeResponse(room: ResponsesRoom, workspaceId: string, id: string): Promise<boolean> {
  await endWork(room, workspaceId, id);
  return room.store.remove(workspaceId, id, room.clock.nowMs());
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
  await store.callOff(workspaceId, id);
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
