import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { pathIn } from "../address.ts";
import type { Me } from "../api/me.ts";
import { GROUPS, type Group, type Screen } from "../screen.ts";
import { SCREENS } from "../screens.ts";
import { cx } from "../ui/class-names.ts";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { mayView } from "./may-view.ts";

/** Where a screen's link leads from the workspace that is chosen; undefined when it needs one and there is none. */
export function placeOf(screen: Screen, workspace: string): string | undefined {
  if (!screen.path.includes("$")) return screen.path;
  const rest = /^\/app\/w\/\$workspace\/?(?<rest>[^$]*)$/.exec(screen.path)?.groups?.["rest"];
  return rest === undefined || workspace === "" ? undefined : pathIn(workspace, rest);
}

/** Screens with a link that this person sees, group by group. */
export function linksFor(
  me: Me | null,
  workspace: string,
): { group: Group; links: { screen: Screen; to: string }[] }[] {
  return GROUPS.map((group) => ({
    group,
    links: SCREENS.flatMap((screen) => {
      if (screen.nav?.group !== group || !mayView(screen.visibleTo, me, workspace)) return [];
      const to = placeOf(screen, workspace);
      return to === undefined ? [] : [{ screen, to }];
    }),
  })).filter(({ links }) => links.length > 0);
}

export function Navigation({ me, workspace }: { readonly me: Me | null; readonly workspace: string }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const groups = linksFor(me, workspace).filter(({ group }) => group !== "Account");
  const places = groups.flatMap(({ links }) => links.map(({ to }) => to));
  // The longest place that the path is in: Home is current on itself alone, as what is in no list is not inside it.
  const current = places
    .filter((to) => path === to || (to !== pathIn(workspace) && path.startsWith(`${to}/`)))
    .toSorted((a, b) => b.length - a.length)[0];
  const list = useRef<HTMLElement>(null);
  // The list is longer than most windows: the link of this screen comes into sight.
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
