import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { type Answer, type Args, call, type OperationId } from "./client.ts";
import type { ApiError } from "./error.ts";
import { keyOf } from "./hooks.ts";

/** Asks a route that looks at what is sent and changes nothing. The answer before stays until the new one is there. */
export function useAsk<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  { enabled = true }: { readonly enabled?: boolean } = {},
): UseQueryResult<Answer<Id>, ApiError> {
  return useQuery<Answer<Id>, ApiError>({
    queryKey: [...keyOf(id, args), args.body ?? null],
    queryFn: ({ signal }) => call(id, args, signal),
    placeholderData: keepPreviousData,
    enabled,
    retry: false,
  });
}
