import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { checkGatewayReachable } from "./api/client.ts";
import type { Screen } from "./screen.ts";
import { SCREENS } from "./screens.ts";
import { Frame } from "./shell/frame.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { ScreenError } from "./shell/screen-error.tsx";
import { parseSearch, stringifySearch } from "./url-state.ts";

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    screen?: Screen;
  }
}

/** One lazily loaded route per screen. */
export function makeRouter() {
  const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: ScreenError });
  const routes = SCREENS.map((screen) =>
    createRoute({
      getParentRoute: () => root,
      path: screen.path,
      component: lazyRouteComponent(() => loadScreen(screen), "Screen"),
      staticData: { screen },
    }),
  );
  // Without a catch-all route, an unknown path would match a screen with the same prefix.
  const catchAll = createRoute({ getParentRoute: () => root, path: "$", component: NotFound });
  return createRouter({
    routeTree: root.addChildren([...routes, catchAll]),
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    // Remount when a path parameter changes, so that form state does not carry over.
    defaultRemountDeps: ({ params }) => params,
    defaultErrorComponent: ScreenError,
    notFoundMode: "root",
    scrollRestoration: true,
    trailingSlash: "never",
  });
}

/**
 * A chunk that fails to load usually means a new portal version, and the page reloads. If the gateway is unreachable, a
 * reload would end on the browser's error page, so an error is thrown instead.
 */
async function loadScreen(screen: Screen): ReturnType<Screen["load"]> {
  try {
    return await screen.load();
  } catch (thrown) {
    await checkGatewayReachable();
    throw thrown;
  }
}
