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
import { type Answer, type Args, call, type OperationId, type Row, send } from "./client.ts";
import type { ApiError } from "./error.ts";
import { useFresh } from "./fresh.ts";

export type Look = {
  /** False: not asked yet. */
  readonly enabled?: boolean;
  /** Asked again this often while somebody looks. */
  readonly everyMs?: number;
  /** The answer to the question before stays until the new one is there: for filters. */
  readonly keep?: boolean;
};

/** Asks a management route and keeps the answer fresh. */
export function useManage<Id extends OperationId>(
  id: Id,
  args: Args<Id>,
  look: Look = {},
): UseQueryResult<Answer<Id>, ApiError> {
  return useQuery<Answer<Id>, ApiError>({
    queryKey: keyOf(id, args),
    queryFn: ({ signal }) => call(id, args, signal),
    ...options(look),
  });
}

/** Asks an open route (`/v1/public/…`) by its path. */
export function usePublic<T>(path: string, look: Look = {}): UseQueryResult<T, ApiError> {
  return useQuery<T, ApiError>({
    queryKey: ["public", path],
    queryFn: ({ signal }) => send<T>("GET", path, undefined, signal),
    ...options(look),
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

/** A list that comes in pages with a cursor: `rows` are those of all pages that were loaded. */
export function usePages<Id extends OperationId>(id: Id, args: Args<Id>, look: Look = {}): Pages<Row<Id>> {
  type Page = { readonly data: readonly Row<Id>[]; readonly next: string | null };
  const asked = useInfiniteQuery<Page, ApiError, { pages: Page[] }, readonly unknown[], string | null>({
    queryKey: [...keyOf(id, args), "pages"],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...args.query, ...(pageParam === null ? {} : { cursor: pageParam }) };
      const answer: unknown = await call(id, { ...args, query }, signal);
      return pageOf<Row<Id>>(answer);
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    ...options(look),
  });
  return pagesOf(asked);
}

export function pagesOf<T>(
  asked: UseInfiniteQueryResult<{ pages: { readonly data: readonly T[] }[] }, ApiError>,
): Pages<T> {
  return {
    rows: asked.data?.pages.flatMap((page) => page.data) ?? [],
    isPending: asked.isPending,
    isFetching: asked.isFetching,
    error: asked.error,
    hasMore: asked.hasNextPage,
    isLoadingMore: asked.isFetchingNextPage,
    loadMore: () => void asked.fetchNextPage(),
    refetch: () => void asked.refetch(),
  };
}

/** Lists answer `{ data, next }`; one without pages has no `next`. */
function pageOf<T>(answer: unknown): { data: readonly T[]; next: string | null } {
  if (typeof answer !== "object" || answer === null) return { data: [], next: null };
  const data = Reflect.get(answer, "data");
  const next = Reflect.get(answer, "next");
  return { data: Array.isArray(data) ? data : [], next: typeof next === "string" ? next : null };
}

export type Change<Id extends OperationId> = {
  /** Asked again after the change; absent: everything on the screen, which is always right. */
  readonly stale?: readonly OperationId[];
  readonly done?: (answer: Answer<Id>, args: Args<Id>) => void;
};

/**
 * Changes something: `change.mutate({ params, body })`, then what is on the screen is asked again. Where it needs a recent
 * sign-in, the person is asked for one first.
 */
export function useChange<Id extends OperationId>(
  id: Id,
  { stale, done }: Change<Id> = {},
): UseMutationResult<Answer<Id>, ApiError, Args<Id>> {
  const client = useQueryClient();
  const fresh = useFresh();
  return useMutation<Answer<Id>, ApiError, Args<Id>>({
    mutationFn: (args) => fresh(() => call(id, args)),
    onSuccess: async (answer, args) => {
      done?.(answer, args);
      if (stale === undefined) await client.invalidateQueries();
      else await Promise.all(stale.map((one) => client.invalidateQueries({ queryKey: [one] })));
    },
  });
}

/** The name of an answer in the cache, for optimistic changes: `client.setQueryData(keyOf(id, args), …)`. */
export function keyOf<Id extends OperationId>(id: Id, args: Args<Id>): readonly unknown[] {
  return [id, args.params ?? {}, args.query ?? {}];
}

function options({ enabled = true, everyMs, keep = false }: Look) {
  return {
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  };
}
