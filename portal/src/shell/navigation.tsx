import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Me } from "../api/me.ts";
import { GROUPS, type Group, type Screen } from "../screen.ts";
import { SCREENS } from "../screens.ts";
import { cx } from "../ui/class-names.ts";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { pathIn } from "../url-state.ts";
import { canView } from "./can-view.ts";

/** The path of a screen in the workspace; undefined: it needs a workspace or other parameters. */
export function screenPath(screen: Screen, workspace: string): string | undefined {
  if (!screen.path.includes("$")) return screen.path;
  const rest = /^\/app\/w\/\$workspace\/?(?<rest>[^$]*)$/.exec(screen.path)?.groups?.["rest"];
  return rest === undefined || workspace === "" ? undefined : pathIn(workspace, rest);
}

/** Sidebar links visible to this person, by group. */
export function linksFor(
  me: Me | null,
  workspace: string,
): { group: Group; links: { screen: Screen; to: string }[] }[] {
  return GROUPS.map((group) => ({
    group,
    links: SCREENS.flatMap((screen) => {
      if (screen.nav?.group !== group || !canView(screen.visibleTo, me, workspace)) return [];
      const to = screenPath(screen, workspace);
      return to === undefined ? [] : [{ screen, to }];
    }),
  })).filter(({ links }) => links.length > 0);
}

export function Navigation({ me, workspace }: { readonly me: Me | null; readonly workspace: string }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const groups = linksFor(me, workspace).filter(({ group }) => group !== "Account");
  const paths = groups.flatMap(({ links }) => links.map(({ to }) => to));
  // The longest matching link; Home only matches its exact path.
  const current = paths
    .filter((to) => path === to || (to !== pathIn(workspace) && path.startsWith(`${to}/`)))
    .toSorted((a, b) => b.length - a.length)[0];
  const list = useRef<HTMLElement>(null);
  // Scrolls the current link into view, as the list is longer than most windows.
  useEffect(() => {
    if (current !== undefined)
      list.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <nav ref={list} aria-label="Main" className="min-h-0 scroll-py-6 overflow-y-auto px-3 pb-4">
      {groups.map(({ group, links }) => (
        <section key={group} aria-label={group} className="mt-2.5 first:mt-0">
          <p aria-hidden="true" className="label-mark px-2 pb-1">
            {group}
          </p>
          <ul>
            {links.map(({ screen, to }) => {
              const isCurrent = to === current;
              return (
                <li key={screen.path}>
                  <Link
                    plain
                    to={to}
                    aria-current={isCurrent ? "page" : undefined}
                    className={cx(
                      "relative flex h-7 items-center gap-2.5 rounded-md px-2 outline-offset-[-2px]",
                      isCurrent
                        ? "bg-accent-soft font-medium text-accent-strong before:absolute before:inset-y-1.5 before:-left-3 before:w-[3px] before:rounded-r-full before:bg-accent"
                        : "text-soft hover:bg-hover hover:text-ink",
                    )}
                  >
                    {screen.nav !== undefined && <Icon name={screen.nav.icon} />}
                    {screen.title}
                  </Link>
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </nav>
  );
}
