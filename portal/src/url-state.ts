import { useLocation, useNavigate, useParams, useRouter, useRouterState } from "@tanstack/react-router";
import { useCallback } from "react";

/** URL state: path parameters, query parameters and navigation. */

type Search = Readonly<Record<string, string>>;

/** Values stay strings: the router's default parser would turn `1` into a number. */
export function parseSearch(search: string): Search {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: object): string {
  const kept = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

/** A parameter of the path: `useParam("id")` on `/app/w/$workspace/keys/$id`. */
export function useParam(name: string): string {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  return params[name] ?? "";
}

/** The workspace slug of the path, and paths inside the workspace: `at("keys")`. */
export function useWorkspace(): { readonly workspace: string; readonly at: (path?: string) => string } {
  const workspace = useParam("workspace");
  return { workspace, at: useCallback((path = "") => pathIn(workspace, path), [workspace]) };
}

export function pathIn(workspace: string, path = ""): string {
  const home = `/app/w/${encodeURIComponent(workspace)}`;
  return path === "" ? home : `${home}/${path}`;
}

export type SearchChange = Readonly<Record<string, string | null | undefined>>;

/** Query parameters: `search.get("state")`, `search.set({ state: "active", page: null })`; null removes one. */
export function useSearchParams() {
  const { search }: { readonly search: Search } = useLocation();
  const navigate = useNavigate();
  const set = useCallback(
    (change: SearchChange, how: "push" | "replace" = "replace") =>
      void navigate({
        to: ".",
        search: (before: Search) => dropEmpty({ ...before, ...change }),
        replace: how === "replace",
        resetScroll: false,
      }),
    [navigate],
  );
  return { get: (name: string, fallback = "") => search[name] ?? fallback, all: search, set };
}

/** One query parameter, used like useState: `const [state, setState] = useSearchParam("state", "all")`. */
export function useSearchParam(name: string, fallback = ""): [string, (value: string) => void] {
  const { get, set } = useSearchParams();
  return [get(name, fallback), (value) => set({ [name]: value === fallback ? null : value })];
}

function dropEmpty(search: SearchChange): Search {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(search)) if (value) kept[name] = value;
  return kept;
}

/** Navigates to a path of the portal, query included: `navigateTo("/app/w/demo/keys?state=active")`. */
export function useNavigateTo(): (to: string, how?: "push" | "replace") => void {
  const router = useRouter();
  return useCallback(
    (to, how = "push") => {
      if (how === "replace") router.history.replace(to);
      else router.history.push(to);
    },
    [router],
  );
}

/** The current path with its query. */
export function useCurrentPath(): string {
  return useRouterState({ select: (state) => state.location.href });
}
