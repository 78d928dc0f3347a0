import { useQueries } from "@tanstack/react-query";
import { type Answer, call } from "./client.ts";
import { keyOf, usePages } from "./hooks.ts";

type Limits = Answer<"manageShowLimits">;

/** More keys than this are not asked for one by one. */
const ASKED_MAX = 30;

/** The spend limits of keys, by the key's id: admins get them all at once, a member may ask for each key of their own. */
export function useKeyLimits(
  workspace: string,
  keyIds: readonly string[],
  isAdmin: boolean,
): ReadonlyMap<string, Limits> {
  const params = { workspace };
  const all = usePages("manageListLimits", { params, query: { limit: 1000 } }, { enabled: isAdmin });
  const each = useQueries({
    queries: (isAdmin ? [] : keyIds.slice(0, ASKED_MAX)).map((key) => ({
      queryKey: keyOf("manageShowLimits", { params, query: { key } }),
      queryFn: () => call("manageShowLimits", { params, query: { key } }),
    })),
  });
  const known = isAdmin ? all.rows : each.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return new Map(known.flatMap((limits) => (limits.key === null ? [] : [[limits.key, limits]])));
}
