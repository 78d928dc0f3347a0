import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type {
  PublicCapability,
  PublicCreator,
  PublicCurrency,
  PublicEndpoint,
  PublicLevel,
  PublicModel,
  PublicProvider,
} from "../../../../src/contract/schemas/catalogue.ts";
import type {
  PublicEndpointDetail,
  PublicModelDetail,
  PublicProviderDetail,
} from "../../../../src/contract/schemas/catalogue-detail.ts";
import { send } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { type Pages, pagesOf, usePublic } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { useLastWorkspace } from "../../shell/last-workspace.ts";

export type {
  PublicEndpoint,
  PublicEndpointDetail,
  PublicLevel,
  PublicModel,
  PublicModelDetail,
  PublicProvider,
  PublicProviderDetail,
};

type Page<T> = { readonly data: readonly T[]; readonly next: string | null };

/** Filter options; they only change with the catalogue. */
export const useCreators = () =>
  usePublic<Page<PublicCreator>>("/v1/public/model-creators?limit=1000").data?.data ?? [];
export const useCapabilities = () =>
  usePublic<Page<PublicCapability>>("/v1/public/capabilities?limit=1000").data?.data ?? [];
export const useCurrencies = () => usePublic<Page<PublicCurrency>>("/v1/public/currencies?limit=1000").data?.data ?? [];
export const useProviders = (query = "") =>
  usePublic<Page<PublicProvider>>(`/v1/public/providers?limit=1000${query}`, { keepPrevious: true });
export const useLevels = () => usePublic<Page<PublicLevel>>("/v1/public/sovereignty");

const PAGE_SIZE = 50;

export function modelsPath(query: URLSearchParams): string {
  return `/v1/public/models?${query}`;
}

/** Available models come first for people with a workspace. */
export function useModels(query: URLSearchParams, workspace: string, available: string): Pages<PublicModel> {
  const full = new URLSearchParams(query);
  if (workspace !== "") {
    full.set("workspace", workspace);
    if (available === "") full.set("available_first", "true");
    else full.set("available", available);
  }
  const path = modelsPath(full);
  const result = useInfiniteQuery<
    Page<PublicModel>,
    ApiError,
    { pages: Page<PublicModel>[] },
    readonly unknown[],
    string | null
  >({
    queryKey: ["public", path, "pages"],
    queryFn: ({ pageParam, signal }) =>
      send("GET", `${path}&limit=${PAGE_SIZE}${pageParam === null ? "" : `&cursor=${pageParam}`}`, undefined, signal),
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  return pagesOf(result);
}

/** The workspace whose currency and policy apply; empty for visitors. */
export function useCatalogueContext(): { readonly workspace: string; readonly currency: string | undefined } {
  const me = useMe().data ?? null;
  const workspace = useLastWorkspace("", me);
  const currency = me?.workspaces.find(({ slug }) => slug === workspace)?.currency;
  return { workspace, currency };
}

/** Adds what the workspace can call now; visitors get the public answer. */
export function withAvailability(path: string, workspace: string): string {
  return workspace === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ workspace })}`;
}

export const modelDetailPath = (id: string) => `/v1/public/models/${id.split("/").map(encodeURIComponent).join("/")}`;
export const modelPath = (id: string) => `/app/models/${id.split("/").map(encodeURIComponent).join("/")}`;
export const providerPath = (slug: string) => `/app/providers/${encodeURIComponent(slug)}`;
