import type { ResponseSummary } from "../../domain/responses/stored.ts";
import type { ResponsesRoom } from "./room.ts";

/** Deletes a response, whatever is still being made of it. False: there is none. */
export async function removeResponse(
  { jobs, store, clock }: ResponsesRoom,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const job = jobs.find(workspaceId, id);
  if (job !== undefined) await jobs.cancel(job);
  return store.remove(workspaceId, id, clock.nowMs());
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
    async stop(workspaceId: string, id: string): Promise<void> {
      const job = jobs.find(workspaceId, id);
      if (job !== undefined) await jobs.cancel(job);
    },
    stopAll: (workspaceId: string): Promise<void> => jobs.cancelAll(workspaceId),
  };
}
