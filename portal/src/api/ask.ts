import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { type ApiResponse, type Args, call, type OperationId } from "./client.ts";
import type { ApiError } from "./error.ts";
import { queryKeyOf } from "./hooks.ts";

/** Calls a POST route that changes nothing, such as a policy preview; the previous response stays while loading. */
export function usePreview<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  { enabled = true }: { readonly enabled?: boolean } = {},
): UseQueryResult<ApiResponse<Id>, ApiError> {
  return useQuery<ApiResponse<Id>, ApiError>({
    queryKey: [...queryKeyOf(id, args), args.body ?? null],
    queryFn: ({ signal }) => call(id, args, signal),
    placeholderData: keepPreviousData,
    enabled,
    retry: false,
  });
}
