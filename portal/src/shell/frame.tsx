import { Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useMe } from "../api/me.ts";
import type { Screen } from "../screen.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { later, Nothing } from "../ui/later.tsx";
import { ModalsHidden } from "../ui/modals-hidden.ts";
import { SkeletonLines } from "../ui/skeleton.tsx";
import { useCurrentPath, useNavigateTo, useParam } from "../url-state.ts";
import { BareFrame } from "./bare-frame.tsx";
import { canView } from "./can-view.ts";
import { useWorkspaceAccess } from "./last-workspace.ts";
import { NotAllowed, NoWorkspace } from "./not-found.tsx";
import { ReauthenticationProvider } from "./reauthentication-provider.tsx";
import { SessionExpired, useExpiredSession } from "./session-expired.tsx";
import { SideFrame } from "./side-frame.tsx";

const Toasts = later(async () => (await import("../ui/toast-list.tsx")).Toasts, Nothing);

/** The screen of the current route; undefined: not found. */
function useScreen(): Screen | undefined {
  return useRouterState({ select: ({ matches }) => matches.at(-1)?.staticData.screen });
}

/** Wraps every screen: access check, layout and route announcements. */
export function Frame() {
  const screen = useScreen();
  return (
    <>
      <ProgressBar />
      <RouteAnnouncer title={screen?.title ?? "Not found"} />
      <AccessGate screen={screen}>
        <Outlet />
      </AccessGate>
      <Toasts />
    </>
  );
}

const SIGN_IN = "/app/sign-in";

function AccessGate({ screen, children }: { readonly screen: Screen | undefined; readonly children: ReactNode }) {
  const me = useMe();
  const currentPath = useCurrentPath();
  const navigateTo = useNavigateTo();
  const workspace = useParam("workspace");
  const isSignedOut = me.data === null;
  const needsPerson = screen !== undefined && screen.visibleTo !== "anyone";
  // During navigation the URL has already changed while the old screen is still shown.
  const isLeaving = currentPath.startsWith(SIGN_IN);
  const expiredSession = useExpiredSession(me.data, needsPerson && !isLeaving);
  const isExpired = expiredSession !== undefined;
  useEffect(() => {
    if (isSignedOut && needsPerson && !isLeaving && !isExpired)
      navigateTo(`${SIGN_IN}?${new URLSearchParams({ next: currentPath })}`, "replace");
  }, [isSignedOut, needsPerson, isLeaving, isExpired, currentPath, navigateTo]);

  const person = me.data ?? expiredSession ?? null;
  const access = useWorkspaceAccess(workspace, person);
  const inFrame = (inside: ReactNode) =>
    screen?.frame === "bare" ? <BareFrame>{inside}</BareFrame> : <SideFrame me={person}>{inside}</SideFrame>;
  if (!needsPerson) return inFrame(children);
  if (me.isPending || (isSignedOut && !isExpired)) return inFrame(<SkeletonLines count={6} />);
  if (me.error !== null && me.data === undefined)
    return inFrame(<ErrorState error={me.error} onRetry={() => void me.refetch()} />);
  if (person === null) return null;
  if (access.state === "missing") return inFrame(<NoWorkspace />);
  if (!canView(screen.visibleTo, person, workspace))
    return inFrame(<NotAllowed visibleTo={screen.visibleTo} workspace={workspace} />);
  return inFrame(
    <>
      <ModalsHidden value={isExpired}>
        <div hidden={isExpired} className="contents">
          <ReauthenticationProvider me={person}>{children}</ReauthenticationProvider>
        </div>
      </ModalsHidden>
      <SessionExpired isOpen={isExpired} currentPath={currentPath} onRecheck={() => void me.refetch()} />
    </>,
  );
}

/** Sets the document title, announces the screen to screen readers and moves focus to the content. */
function RouteAnnouncer({ title }: { readonly title: string }) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname ?? state.location.pathname });
  const [announcement, setAnnouncement] = useState("");
  const previousPath = useRef(path);
  useEffect(() => {
    document.title = `${title} · Inference Gateway`;
    if (previousPath.current === path) return;
    previousPath.current = path;
    setAnnouncement(title);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [title, path]);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {announcement}
    </div>
  );
}

const SHOWN_AFTER_MS = 150;

/** Shown when loading a screen takes noticeably long. */
function ProgressBar() {
  const isLoading = useRouterState({ select: (state) => state.isLoading });
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    if (!isLoading) {
      setIsShown(false);
      return;
    }
    const timer = setTimeout(() => setIsShown(true), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isLoading]);
  if (!isShown) return null;
  return (
    <div aria-hidden="true" className="fixed inset-x-0 top-0 z-50 h-0.5 overflow-hidden">
      <div className="h-full w-1/3 animate-[sweep_1s_ease-in-out_infinite] bg-accent" />
    </div>
  );
}
