import type { Route } from "../../src/contract/route.ts";
import { ROUTES } from "../../src/contract/routes.ts";

/** A route of the table with a concrete path. */
export type Door = { readonly title: string; readonly route: Route; readonly path: string };

const VALUES: Readonly<Record<string, string>> = { id: "sandbox/chat", workspace: "demo" };

export const DOORS: readonly Door[] = ROUTES.map((route) => ({
  title: `${route.method} ${route.path}`,
  route,
  path: route.path.replace(/\{(\w+)(\+?)\}/g, (_, name: string, rest: string) =>
    rest === "+" ? (VALUES[name] ?? "nothing") : encodeURIComponent(VALUES[name] ?? "nothing"),
  ),
}));

export function doorsBy(access: Route["access"]["by"]): Door[] {
  return DOORS.filter(({ route }) => route.access.by === access);
}
