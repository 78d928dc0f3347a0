import { buffered, type Handler } from "../../exchange.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";

/** The response cache of a workspace: its size, never its content. */
export function cacheHandlers(context: ManageContext): Record<string, Handler> {
  const { responseCache } = context;
  return {
    manageShowCache: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { replies, bytes } = await responseCache.usage(workspace.id);
      const { maxBytes, ttlMaxSeconds } = responseCache;
      return {
        status: 200,
        json: { workspace: workspace.slug, replies, used_bytes: bytes, max_bytes: maxBytes, ttl_max: ttlMaxSeconds },
      };
    }),
    managePurgeCache: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      await responseCache.drop(workspace.id);
      const deleted = await commitWithAudit(scope, async ({ cachedReplies }) => {
        const count = await cachedReplies.purge(workspace.id);
        const audit = { action: "cache.purge", workspaceId: workspace.id, target: null, detail: { deleted: count } };
        return { answer: count, audit };
      });
      // Other instances know of the purge now; a write that they had begun may have come after it.
      const late = await responseCache.purge(workspace.id);
      return { status: 200, json: { workspace: workspace.slug, deleted: deleted + late } };
    }),
  };
}
