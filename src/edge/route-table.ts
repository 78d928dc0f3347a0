import type { Route } from "../contract/route.ts";

/** `params` are decoded. */
export type RouteMatch = { readonly route: Route; readonly params: Readonly<Record<string, string>> };

export type RouteLookup =
  | { readonly is: "found"; readonly match: RouteMatch }
  | { readonly is: "wrong_method"; readonly allow: readonly string[] }
  | { readonly is: "unknown" };

/** Also served without `/v1` and with a doubled `/v1`, since clients often misconfigure the base URL. */
const LENIENT_PATHS = ["/models", "/chat/completions", "/messages", "/responses", "/decisions"];

type RoutePattern = { readonly route: Route; readonly pattern: RegExp; readonly names: readonly string[] };

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** The routes, compiled: fixed paths as a map, then by method; paths with parameters as patterns. */
export class RouteTable {
  readonly fixed = new Map<string, Map<string, RouteLookup>>();
  readonly #patterns: RoutePattern[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      this.#add(route, route.path);
      const bare = route.path.replace(/^\/v1/, "");
      if (!LENIENT_PATHS.some((path) => bare === path || bare.startsWith(`${path}/`)) || !route.path.startsWith("/v1/"))
        continue;
      this.#add(route, bare);
      this.#add(route, `/v1${route.path}`);
    }
  }

  /** For a request that no fixed path serves. */
  findByPattern(method: string, path: string): RouteLookup {
    const allow = new Set(this.fixed.get(path)?.keys());
    let hasSuffix = false;
    let fewestNames = Infinity;
    for (const { route, pattern, names } of this.#patterns) {
      // A path with a known suffix is no id that ends with it.
      if (hasSuffix && greedOf(route.path) === 2) continue;
      // A word that a path has at this place is no name.
      if (names.length > fewestNames) continue;
      const found = pattern.exec(path);
      if (found === null) continue;
      const params = decodeParams(names, found);
      if (params === undefined) continue;
      if (route.method === method) return { is: "found", match: { route, params } };
      allow.add(route.method);
      hasSuffix ||= greedOf(route.path) === 1;
      fewestNames = names.length;
    }
    if (allow.size === 0) return { is: "unknown" };
    if (allow.has("GET")) allow.add("HEAD");
    return { is: "wrong_method", allow: [...allow].sort() };
  }

  #add(route: Route, path: string): void {
    if (path.includes("{")) {
      const names = [...path.matchAll(/\{(\w+)\+?\}/g)].map((match) => match[1] ?? "");
      const source = path
        .replace(/[.]/g, "\\.")
        .replace(/\{\w+\+\}/g, "(.+)")
        .replace(/\{\w+\}/g, "([^/]+)");
      this.#patterns.push({ route, pattern: new RegExp(`^${source}$`), names });
      // Patterns with a greedy parameter come last, because they would match fixed suffixes; more parameters match fixed words.
      this.#patterns.sort((a, b) => greedOf(a.route.path) - greedOf(b.route.path) || a.names.length - b.names.length);
      return;
    }
    const methods = this.fixed.get(path) ?? new Map<string, RouteLookup>();
    methods.set(route.method, { is: "found", match: { route, params: NO_PARAMS } });
    this.fixed.set(path, methods);
  }
}

/** How much of a path the pattern matches: segments, the middle, or everything to the end. */
function greedOf(path: string): 0 | 1 | 2 {
  return path.endsWith("+}") ? 2 : path.includes("+}") ? 1 : 0;
}

function decodeParams(names: readonly string[], found: RegExpExecArray): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    try {
      params[name] = decodeURIComponent(found[index + 1] ?? "");
    } catch {
      return undefined;
    }
  }
  return params;
}
