import type { ResponseStore } from "../../domain/responses/response-store.ts";
import { maySeeRequestsOf, type Principal } from "../../domain/tenancy/key.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** The stored responses that one key reads. */
export type VisibleResponses = Pick<ResponseStore, "find" | "chain" | "items">;

/**
 * Restricts reads to what the key may see, by the rule of the request log: a member's personal key sees the member's own
 * responses, any other key all of the workspace. Responses of others are indistinguishable from unknown ones.
 */
export function visibleResponses(
  { store, memberOf }: Pick<ResponsesDeps, "store" | "memberOf">,
  principal: Principal,
): VisibleResponses {
  const mayRead = (keyId: string) => maySeeRequestsOf(principal, memberOf(keyId));
  return {
    async find(workspaceId, id, nowMs) {
      const stored = await store.find(workspaceId, id, nowMs);
      return stored !== undefined && mayRead(stored.keyId) ? stored : undefined;
    },
    chain: (workspaceId, id, nowMs) => store.chain(workspaceId, id, nowMs, mayRead),
    items: (workspaceId, ids, nowMs) => store.items(workspaceId, ids, nowMs, mayRead),
  };
}
