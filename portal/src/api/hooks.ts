import {
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { type ApiResponse, type Args, call, type OperationId, type Row, send } from "./client.ts";
import type { ApiError } from "./error.ts";
import { useReauthentication } from "./reauthentication.ts";

export type QueryOptions = {
  readonly enabled?: boolean;
  /** Refetch interval while the screen is visible. */
  readonly refetchMs?: number;
  /** Keeps the previous response while a new one loads, for filters. */
  readonly keepPrevious?: boolean;
};

/** Queries a management route. */
export function useManage<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  queryOptions: QueryOptions = {},
): UseQueryResult<ApiResponse<Id>, ApiError> {
  return useQuery<ApiResponse<Id>, ApiError>({
    queryKey: queryKeyOf(id, args),
    queryFn: ({ signal }) => call(id, args, signal),
    ...toQueryOptions(queryOptions),
  });
}

/** Queries a public route (`/v1/public/…`) by its path. */
export function usePublic<T>(path: string, queryOptions: QueryOptions = {}): UseQueryResult<T, ApiError> {
  return useQuery<T, ApiError>({
    queryKey: ["public", path],
    queryFn: ({ signal }) => send<T>("GET", path, undefined, signal),
    ...toQueryOptions(queryOptions),
  });
}

export type Pages<T> = {
  readonly rows: readonly T[];
  readonly isPending: boolean;
  readonly isFetching: boolean;
  readonly error: ApiError | null;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  readonly refetch: () => void;
};

/** A cursor-paginated list: `rows` holds all loaded pages. */
export function usePages<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  queryOptions: QueryOptions = {},
): Pages<Row<Id>> {
  type Page = { readonly data: readonly Row<Id>[]; readonly next: string | null };
  const result = useInfiniteQuery<Page, ApiError, { pages: Page[] }, readonly unknown[], string | null>({
    queryKey: [...queryKeyOf(id, args), "pages"],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...args.query, ...(pageParam === null ? {} : { cursor: pageParam }) };
      const answer: unknown = await call(id, { ...args, query }, signal);
      return pageOf<Row<Id>>(answer);
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    ...toQueryOptions(queryOptions),
  });
  return pagesOf(result);
}

export function pagesOf<T>(
  result: UseInfiniteQueryResult<{ pages: { readonly data: readonly T[] }[] }, ApiError>,
): Pages<T> {
  return {
    rows: result.data?.pages.flatMap((page) => page.data) ?? [],
    isPending: result.isPending,
    isFetching: result.isFetching,
    error: result.error,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    loadMore: () => void result.fetchNextPage(),
    refetch: () => void result.refetch(),
  };
}

/** Lists respond with `{ data, next }`; a list without pages has no `next`. */
function pageOf<T>(answer: unknown): { data: readonly T[]; next: string | null } {
  if (typeof answer !== "object" || answer === null) return { data: [], next: null };
  const data = Reflect.get(answer, "data");
  const next = Reflect.get(answer, "next");
  return { data: Array.isArray(data) ? data : [], next: typeof next === "string" ? next : null };
}

export type MutationOptions<Id extends OperationId> = {
  /** Queries to invalidate; default: all of them. */
  readonly stale?: readonly OperationId[];
  readonly onDone?: (answer: ApiResponse<Id>, args: Args<Id>) => void;
};

/**
 * Calls a mutating route: `change.mutate({ params, body })`, then invalidates queries. If the route requires a recent
 * sign-in, the reauthentication dialog opens first.
 */
export function useManageMutation<Id extends OperationId>(
  id: Id,
  { stale, onDone }: MutationOptions<Id> = {},
): UseMutationResult<ApiResponse<Id>, ApiError, Args<Id>> {
  const client = useQueryClient();
  const runReauthenticated = useReauthentication();
  return useMutation<ApiResponse<Id>, ApiError, Args<Id>>({
    mutationFn: (args) => runReauthenticated(() => call(id, args)),
    onSuccess: async (answer, args) => {
      onDone?.(answer, args);
      if (stale === undefined) await client.invalidateQueries();
      else await Promise.all(stale.map((one) => client.invalidateQueries({ queryKey: [one] })));
    },
  });
}

/** The query key of a call, for optimistic updates: `client.setQueryData(keyOf(id, args), …)`. */
export function queryKeyOf<Id extends OperationId>(id: Id, args: Args<Id>): readonly unknown[] {
  return [id, args.params ?? {}, args.query ?? {}];
}

function toQueryOptions({ enabled = true, refetchMs, keepPrevious = false }: QueryOptions) {
  return {
    enabled,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  };
}

/** Calls a POST route that changes nothing, such as a policy preview; the previous response stays while loading. */
export function usePreview<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  { enabled = true, refetchMs }: { readonly enabled?: boolean; readonly refetchMs?: number } = {},
): UseQueryResult<ApiResponse<Id>, ApiError> {
  return useQuery<ApiResponse<Id>, ApiError>({
    refetchInterval: refetchMs ?? false,
    queryKey: [...queryKeyOf(id, args), args.body ?? null],
    queryFn: ({ signal }) => call(id, args, signal),
    placeholderData: keepPreviousData,
    enabled,
    retry: false,
  });
}
