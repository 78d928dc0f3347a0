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
import { type ApiResponse, send } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { type Pages, pagesOf, usePreview, usePublic } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { useLastWorkspace } from "../../shell/last-workspace.ts";

export type { PublicEndpoint, PublicLevel, PublicModel, PublicProvider };
export type ProviderDetail = PublicProvider & { readonly endpoints: readonly PublicEndpoint[] };

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

export function useModels(query: URLSearchParams): Pages<PublicModel> {
  const path = modelsPath(query);
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

export type Verdict = ApiResponse<"managePreviewPolicy">["models"][number]["endpoints"][number];

/** The policy verdict per endpoint; empty while loading and for visitors. */
export function useVerdicts(workspace: string): ReadonlyMap<string, Verdict> {
  const preview = usePreview(
    "managePreviewPolicy",
    { params: { workspace }, query: { scope: "catalogue" }, body: {} },
    { enabled: workspace !== "" },
  ).data;
  if (workspace === "" || preview === undefined) return new Map();
  return new Map(preview.models.flatMap(({ endpoints }) => endpoints.map((one) => [one.id, one])));
}

export const modelPath = (id: string) => `/app/models/${id.split("/").map(encodeURIComponent).join("/")}`;
export const providerPath = (slug: string) => `/app/providers/${encodeURIComponent(slug)}`;
