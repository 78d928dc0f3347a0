import type { Route } from "../../src/contract/route.ts";
import { ROUTES } from "../../src/contract/routes.ts";

/** A route of the table with a concrete path. */
export type RouteExample = { readonly title: string; readonly route: Route; readonly path: string };

const VALUES: Readonly<Record<string, string>> = { id: "sandbox/chat", model: "sandbox/chat", workspace: "demo" };
const EMBEDDING_VALUES = { ...VALUES, model: "sandbox/embed" };

const valuesFor = ({ access }: Route): Readonly<Record<string, string>> =>
  access.by === "key" && access.scope === "inference:embeddings" ? EMBEDDING_VALUES : VALUES;

export const ROUTE_EXAMPLES: readonly RouteExample[] = ROUTES.map((route) => ({
  title: `${route.method} ${route.path}`,
  route,
  path: route.path.replace(/\{(\w+)(\+?)\}/g, (_, name: string, rest: string) =>
    rest === "+" ? (valuesFor(route)[name] ?? "nothing") : encodeURIComponent(valuesFor(route)[name] ?? "nothing"),
  ),
}));

export function routesWithAccess(access: Route["access"]["by"]): RouteExample[] {
  return ROUTE_EXAMPLES.filter(({ route }) => route.access.by === access);
}
