import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { parseSearch, stringifySearch } from "./address.ts";
import { lookForGateway } from "./api/client.ts";
import type { Screen } from "./screen.ts";
import { SCREENS } from "./screens.ts";
import { Crash } from "./shell/crash.tsx";
import { Frame } from "./shell/frame.tsx";
import { NotFound } from "./shell/not-found.tsx";

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    screen?: Screen;
  }
}

/** One route for each line of the list of screens; each loads its own chunk. */
export function makeRouter() {
  const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Crash });
  const routes = SCREENS.map((screen) =>
    createRoute({
      getParentRoute: () => root,
      path: screen.path,
      component: lazyRouteComponent(() => loaded(screen), "Screen"),
      staticData: { screen },
    }),
  );
  // Without it an unknown address would be taken for the screen that it begins like.
  const rest = createRoute({ getParentRoute: () => root, path: "$", component: NotFound });
  return createRouter({
    routeTree: root.addChildren([...routes, rest]),
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    // The same screen of another workspace, router or client is another one: nothing that was typed in it goes along.
    defaultRemountDeps: ({ params }) => params,
    defaultErrorComponent: Crash,
    notFoundMode: "root",
    scrollRestoration: true,
    trailingSlash: "never",
  });
}

/**
 * A part that cannot be loaded means a new version of the portal: the page is then loaded again. While the gateway is away
 * that would leave the browser's own error page, so it is said here instead.
 */
async function loaded(screen: Screen): ReturnType<Screen["load"]> {
  try {
    return await screen.load();
  } catch (thrown) {
    await lookForGateway();
    throw thrown;
  }
}
