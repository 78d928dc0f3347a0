import { useQueries } from "@tanstack/react-query";
import { type ApiResponse, call } from "./client.ts";
import { queryKeyOf, usePages } from "./hooks.ts";

type Limits = ApiResponse<"manageShowLimits">;

/** Bounds the number of requests for members, who can't list all limits at once. */
const KEYS_MAX = 30;

/** Spend limits by key ID. Admins fetch all in one request; members fetch one per own key. */
export function useKeyLimits(
  workspace: string,
  keyIds: readonly string[],
  isAdmin: boolean,
): ReadonlyMap<string, Limits> {
  const params = { workspace };
  const all = usePages("manageListLimits", { params, query: { limit: 1000 } }, { enabled: isAdmin });
  const each = useQueries({
    queries: (isAdmin ? [] : keyIds.slice(0, KEYS_MAX)).map((key) => ({
      queryKey: queryKeyOf("manageShowLimits", { params, query: { key } }),
      queryFn: () => call("manageShowLimits", { params, query: { key } }),
    })),
  });
  const limitsOfKeys = isAdmin ? all.rows : each.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return new Map(limitsOfKeys.flatMap((limits) => (limits.key === null ? [] : [[limits.key, limits]])));
}
