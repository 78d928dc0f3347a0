import type { SharedState } from "../../domain/admission/shared-state.ts";
import { outputItems } from "../../domain/responses/response-items.ts";
import {
  type CompletedResponse,
  responseStatusOf,
  type StoredResponse,
} from "../../domain/responses/response-store.ts";
import { errorFields } from "../../language/dialects/responses/client/errors.ts";
import { eventOf, eventsOf, missingDoneEvents } from "./response-events.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

type OrphanEnd = { readonly is: "cancelled" } | { readonly is: "failed"; readonly message: string };

export type OrphanDeps = Pick<ResponsesDeps, "store"> & {
  readonly gateway: { readonly state: Pick<SharedState, "releaseHold"> };
};

/** Ends an orphaned response after its stored events and releases its hold. */
export async function endOrphaned(
  { store, gateway: { state } }: OrphanDeps,
  stored: StoredResponse,
  end: OrphanEnd,
): Promise<void> {
  const { id, workspaceId, background, runs: lastRun } = stored;
  const status = end.is;
  const error = end.is === "failed" ? { code: "interrupted", message: end.message } : null;
  const response = { ...stored.response, status, error };
  const { count } = await eventsOf(store, stored);
  const errorEvents = error === null ? [] : [errorFields({ ...error, type: "api_error", request_id: id })];
  const events = [
    ...errorEvents.map((fields) => eventOf("error", count, fields)),
    eventOf(`response.${status}`, count + errorEvents.length, { response }),
  ];
  const storedEvents = background === "streamed" ? events : [];
  const outcome = await store.finish({ id, workspaceId, lastRun, status, response, events: storedEvents });
  if (outcome === "finished") await state.releaseHold({ requestId: id, workspaceId });
}

/** Completes an orphaned response with the reply that was stored before it was charged. */
export async function completeOrphaned(
  { store, gateway: { state } }: OrphanDeps,
  stored: StoredResponse,
  { response, servedBy }: CompletedResponse,
): Promise<void> {
  const { id, workspaceId, background, runs: lastRun } = stored;
  const status = responseStatusOf(response);
  const summary = await eventsOf(store, stored);
  const done = missingDoneEvents(outputItems(response), summary);
  const events = [...done, eventOf(`response.${status}`, summary.count + done.length, { response })];
  const storedEvents = background === "streamed" ? events : [];
  const outcome = await store.finish({ id, workspaceId, lastRun, status, response, events: storedEvents, servedBy });
  if (outcome === "finished") await state.releaseHold({ requestId: id, workspaceId });
}
