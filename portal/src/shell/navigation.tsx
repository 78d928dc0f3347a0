import { useRouterState } from "@tanstack/react-router";
import { useLayoutEffect } from "react";
import type { Me } from "../api/me.ts";
import { GROUPS, type Group, type Screen } from "../screen.ts";
import { SCREENS } from "../screens.ts";
import { cx } from "../ui/class-names.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { scrollIntoView } from "../ui/scroll-into-view.ts";
import { pathIn } from "../url-state.ts";
import { canView } from "./can-view.ts";
import { ENTRIES_MAX, fittingGroups, useOpenedGroups } from "./sidebar-groups.ts";

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

/** The first screen of the operator area. */
export const OPERATOR_AREA = "/app/operator";

type LinkGroup = ReturnType<typeof linksFor>[number];

/** Workspace screens in collapsible groups, or the operator area. */
export function Navigation({ me, workspace }: { readonly me: Me | null; readonly workspace: string }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const groups = linksFor(me, workspace).filter(({ group }) => group !== "Account");
  const current = currentLink(groups, path, workspace);
  const operator = groups.find(({ group }) => group === "Operator");
  const isOperatorArea = operator !== undefined && path.startsWith(OPERATOR_AREA);
  return (
    <nav aria-label="Main" className="flex min-h-0 flex-col">
      <div className="min-h-0 flex-1 scroll-py-6 overflow-y-auto px-3 pb-4">
        {isOperatorArea ? (
          <OperatorLinks links={operator.links} current={current} />
        ) : (
          <WorkspaceGroups
            groups={groups.filter(({ group }) => group !== "Operator")}
            current={current}
            max={operator === undefined ? ENTRIES_MAX : ENTRIES_MAX - 1}
          />
        )}
      </div>
      {operator !== undefined && (
        <div className="border-t px-3 py-2">
          {isOperatorArea ? (
            <NavLink to={workspace === "" ? "/app" : pathIn(workspace)} icon="left" title="Back to workspace" />
          ) : (
            <NavLink to={OPERATOR_AREA} icon="shield" title="Operator" />
          )}
        </div>
      )}
    </nav>
  );
}

/** The longest matching link; Home only matches its exact path. */
function currentLink(groups: readonly LinkGroup[], path: string, workspace: string): string | undefined {
  return groups
    .flatMap(({ links }) => links.map(({ to }) => to))
    .filter((to) => path === to || (to !== pathIn(workspace) && path.startsWith(`${to}/`)))
    .toSorted((a, b) => b.length - a.length)[0];
}

function WorkspaceGroups({
  groups,
  current,
  max,
}: {
  readonly groups: readonly LinkGroup[];
  readonly current: string | undefined;
  readonly max: number;
}) {
  const { opened, setOpen } = useOpenedGroups();
  const sizes = groups.map(({ group, links }) => ({ group, count: links.length }));
  const open = fittingGroups(sizes, opened, max);
  const currentGroup = groups.find(({ links }) => links.some(({ to }) => to === current))?.group;
  const isCurrentClosed = currentGroup !== undefined && !open.has(currentGroup);
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation opens the group, closing it again is allowed
  useLayoutEffect(() => {
    if (isCurrentClosed) setOpen(currentGroup, true);
  }, [current]);
  return groups.map(({ group, links }) => (
    <section key={group} aria-label={group} className="mt-2 first:mt-0">
      <button
        type="button"
        aria-expanded={open.has(group)}
        onClick={() => setOpen(group, !open.has(group))}
        className="label-mark group flex h-7 w-full items-center gap-1 rounded-md px-2 outline-offset-[-2px] hover:bg-hover hover:text-ink pointer-coarse:h-10"
      >
        <span className="flex-1 text-left">{group}</span>
        <Icon name="right" className="size-3 transition-transform group-aria-expanded:rotate-90" />
      </button>
      {open.has(group) && <NavLinks links={links} current={current} />}
    </section>
  ));
}

function OperatorLinks({
  links,
  current,
}: {
  readonly links: LinkGroup["links"];
  readonly current: string | undefined;
}) {
  return (
    <section aria-label="Operator">
      <p aria-hidden="true" className="label-mark flex h-7 items-center px-2">
        Operator
      </p>
      <NavLinks links={links} current={current} />
    </section>
  );
}

function NavLinks({ links, current }: { readonly links: LinkGroup["links"]; readonly current: string | undefined }) {
  return (
    <ul>
      {links.map(({ screen, to }) => (
        // The list is longer than small windows.
        <li key={screen.path} ref={to === current ? scrollIntoView : undefined}>
          <NavLink to={to} icon={screen.nav?.icon ?? "arrow"} title={screen.title} isCurrent={to === current} />
        </li>
      ))}
    </ul>
  );
}

function NavLink({
  to,
  icon,
  title,
  isCurrent = false,
}: {
  readonly to: string;
  readonly icon: IconName;
  readonly title: string;
  readonly isCurrent?: boolean | undefined;
}) {
  return (
    <Link
      plain
      to={to}
      aria-current={isCurrent ? "page" : undefined}
      className={cx(
        "relative flex h-8 items-center gap-2.5 rounded-md px-2 outline-offset-[-2px] pointer-coarse:h-10",
        isCurrent
          ? "bg-accent-soft font-medium text-accent-strong before:absolute before:inset-y-1.5 before:-left-3 before:w-[3px] before:rounded-r-full before:bg-accent"
          : "text-soft hover:bg-hover hover:text-ink",
      )}
    >
      <Icon name={icon} />
      {title}
    </Link>
  );
}
