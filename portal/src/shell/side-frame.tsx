import { type ReactNode, useEffect, useState } from "react";
import type { Me } from "../api/me.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { later, Nothing } from "../ui/later.tsx";
import { Link, LinkButton } from "../ui/link.tsx";
import { useCurrentPath, useParam } from "../url-state.ts";
import { AccountMenu } from "./account-menu.tsx";
import { ConnectionNotice } from "./connection-notice.tsx";
import { Help } from "./help.tsx";
import { useLastWorkspace } from "./last-workspace.ts";
import { Logo } from "./logo.tsx";
import { Navigation, OPERATOR_AREA } from "./navigation.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { SkipLink } from "./skip-link.tsx";
import { ThemeMenu } from "./theme-menu.tsx";
import { WorkspaceSwitcher } from "./workspace-switcher.tsx";

const Modal = later(async () => (await import("../ui/modal.tsx")).Modal, Nothing);
const Palette = later(async () => (await import("./palette.tsx")).Palette, Nothing);

type OpenOverlay = "palette" | "help" | "drawer" | null;

/** Sidebar layout; on phones the sidebar is a drawer. */
export function SideFrame({ me, children }: { readonly me: Me | null; readonly children: ReactNode }) {
  const [open, setOpen] = useState<OpenOverlay>(null);
  const currentPath = useCurrentPath();
  const workspace = useLastWorkspace(useParam("workspace"), me);
  const close = () => setOpen(null);
  useShortcuts({ onPalette: () => setOpen("palette"), onHelp: () => setOpen("help"), workspace });
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the drawer
  useEffect(() => setOpen((now) => (now === "drawer" ? null : now)), [currentPath]);
  const sidebar = (
    <Sidebar me={me} workspace={workspace} onPalette={() => setOpen("palette")} onHelp={() => setOpen("help")} />
  );
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)] print:block">
      <SkipLink />
      <aside data-print="no" className="sticky top-0 hidden h-dvh border-r bg-card lg:block">
        {sidebar}
      </aside>
      <header
        data-print="no"
        className="sticky top-0 z-20 flex items-center justify-between gap-2 border-b bg-card px-2 py-2 lg:hidden"
      >
        <IconButton icon="menu" label="Open navigation" onClick={() => setOpen("drawer")} />
        <Link plain to="/" className="flex rounded-sm">
          <Logo />
        </Link>
        <div className="flex items-center gap-1">
          {me?.operator === true && <OperatorLink />}
          <IconButton icon="search" label="Search and commands" onClick={() => setOpen("palette")} />
        </div>
      </header>
      <Modal
        open={open === "drawer"}
        onClose={close}
        label="Navigation"
        place="left"
        className="h-dvh w-72 max-w-[85vw] border-r"
      >
        {sidebar}
      </Modal>
      <main id="main" tabIndex={-1} className="mx-auto w-full max-w-7xl min-w-0 px-4 py-6 outline-none sm:px-8 lg:py-8">
        <ConnectionNotice />
        {children}
      </main>
      <Palette
        isOpen={open === "palette"}
        onClose={close}
        onHelp={() => setOpen("help")}
        me={me}
        workspace={workspace}
      />
      <Help isOpen={open === "help"} onClose={close} />
    </div>
  );
}

/** In the header of small windows, where the sidebar is a drawer. */
function OperatorLink() {
  return (
    <Link
      plain
      to={OPERATOR_AREA}
      className="inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-soft hover:bg-hover hover:text-ink"
    >
      <Icon name="shield" />
      <span className="max-sm:sr-only">Operator</span>
    </Link>
  );
}

type SidebarProps = {
  readonly me: Me | null;
  readonly workspace: string;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
};

function Sidebar({ me, workspace, onPalette, onHelp }: SidebarProps) {
  return (
    <div className="grid h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_1fr_auto]">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3 px-3 pt-4 pb-3">
        <Link plain to="/" className="w-fit rounded-sm px-2">
          <Logo />
        </Link>
        {me !== null && <WorkspaceSwitcher me={me} workspace={workspace} />}
        <button
          type="button"
          onClick={onPalette}
          className="flex h-8 items-center gap-2 rounded-md border bg-paper px-2.5 text-soft hover:border-line-strong hover:text-ink"
        >
          <Icon name="search" className="size-3.5" />
          <span className="flex-1 text-left">Search</span>
          <kbd className="font-mono text-2xs">{isApple() ? "⌘K" : "Ctrl K"}</kbd>
        </button>
      </div>
      <Navigation me={me} workspace={workspace} />
      <div className="flex min-w-0 items-center gap-1 border-t px-3 py-2.5">
        {me === null ? (
          <LinkButton to="/app/sign-in" variant="primary" size="small" className="mr-auto">
            Sign in
          </LinkButton>
        ) : (
          <AccountMenu me={me} />
        )}
        <ThemeMenu />
        <IconButton icon="help" label="Help and shortcuts" onClick={onHelp} />
      </div>
    </div>
  );
}

function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}
