import type { Route } from "../contract/route.ts";

/** A route that was found, with its decoded path parameters. */
export type Match = { readonly route: Route; readonly params: Readonly<Record<string, string>> };

export type Lookup =
  | { readonly is: "found"; readonly match: Match }
  | { readonly is: "wrong_method"; readonly allow: readonly string[] }
  | { readonly is: "unknown" };

/** Paths that clients get wrong by a base address without the version, or with one too many: they answer all the same. */
const VERSIONED = ["/models", "/chat/completions", "/messages", "/responses", "/decisions"];

type Compiled = { readonly route: Route; readonly pattern: RegExp; readonly names: readonly string[] };

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Finds routes: fixed paths by one look-up, paths with parameters by their patterns. */
export class Router {
  readonly #fixed = new Map<string, Map<string, Lookup>>();
  readonly #patterns: Compiled[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      this.#add(route, route.path);
      const bare = route.path.replace(/^\/v1/, "");
      if (!VERSIONED.some((path) => bare === path || bare.startsWith(`${path}/`)) || !route.path.startsWith("/v1/"))
        continue;
      this.#add(route, bare);
      this.#add(route, `/v1${route.path}`);
    }
  }

  find(method: string, path: string): Lookup {
    // A HEAD is a GET whose body is not sent.
    const wanted = method === "HEAD" ? "GET" : method;
    const clean = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
    const fixed = this.#fixed.get(clean);
    const hit = fixed?.get(wanted);
    if (hit !== undefined) return hit;
    const allow = new Set(fixed?.keys());
    for (const { route, pattern, names } of this.#patterns) {
      const found = pattern.exec(clean);
      if (found === null) continue;
      const params = decodeParams(names, found);
      if (params === undefined) continue;
      if (route.method === wanted) return { is: "found", match: { route, params } };
      allow.add(route.method);
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
      // A fixed tail is tried before a parameter that would swallow it.
      this.#patterns.sort((a, b) => Number(a.route.path.includes("+}")) - Number(b.route.path.includes("+}")));
      return;
    }
    const methods = this.#fixed.get(path) ?? new Map<string, Lookup>();
    methods.set(route.method, { is: "found", match: { route, params: NO_PARAMS } });
    this.#fixed.set(path, methods);
  }
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
