import { useRouterState } from "@tanstack/react-router";
import type { Me } from "../api/me.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import type { MenuItem } from "../ui/menu-items.ts";
import { pathIn } from "../url-state.ts";
import { useWorkspaceAccess } from "./last-workspace.ts";

/** Switches the workspace and keeps the current screen. */
export function WorkspaceSwitcher({ me, workspace }: { readonly me: Me; readonly workspace: string }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const screen = /^\/app\/w\/[^/]+\/(?<screen>[^/]+)/.exec(path)?.groups?.["screen"] ?? "";
  const access = useWorkspaceAccess(workspace, me);
  const items: MenuItem[] = me.workspaces.map((one) => ({
    label: one.name,
    hint: one.role,
    isCurrent: one.slug === workspace,
    to: pathIn(one.slug, screen),
  }));
  if (me.operator) items.push({ label: "All workspaces", icon: "grid", to: "/app/operator/workspaces" });
  if (items.length === 0) return null;
  const name = workspace === "" ? "No workspace" : access.name;
  return (
    <Menu
      label="Switch workspace"
      items={items}
      align="start"
      className="flex h-10 w-full items-center gap-2.5 rounded-md border px-2 text-left hover:border-line-strong"
    >
      <span
        aria-hidden="true"
        className="grid size-6 place-items-center rounded-sm bg-accent-soft font-mono text-xs font-semibold text-accent-strong uppercase"
      >
        {name.slice(0, 1)}
      </span>
      <span className="min-w-0 flex-1 truncate font-medium">
        <span className="sr-only">Workspace: </span>
        {name}
      </span>
      <Icon name="down" className="text-soft" />
    </Menu>
  );
}
