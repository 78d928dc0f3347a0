import { Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { useCurrentPath, useNavigateTo, useParam } from "../address.ts";
import { useMe } from "../api/me.ts";
import type { Screen } from "../screen.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonLines } from "../ui/skeleton.tsx";
import { Toasts } from "../ui/toast.tsx";
import { BareFrame } from "./bare-frame.tsx";
import { FreshProvider } from "./fresh.tsx";
import { useStanding } from "./last-workspace.ts";
import { mayView } from "./may-view.ts";
import { NotAllowed, NoWorkspace } from "./not-found.tsx";
import { ProgressBar } from "./progress-bar.tsx";
import { RouteNews } from "./route-news.tsx";
import { SessionOver, useSessionOver } from "./session-over.tsx";
import { SideFrame } from "./side-frame.tsx";

/** The screen that the address leads to; undefined: there is none. */
function useScreen(): Screen | undefined {
  return useRouterState({ select: ({ matches }) => matches.at(-1)?.staticData.screen });
}

/** Around every screen: who may see it, the sidebar or the bare page, news for screen readers. */
export function Frame() {
  const screen = useScreen();
  return (
    <>
      <ProgressBar />
      <RouteNews title={screen?.title ?? "Not found"} />
      <Gate screen={screen}>
        <Outlet />
      </Gate>
      <Toasts />
    </>
  );
}

const SIGN_IN = "/app/sign-in";

function Gate({ screen, children }: { readonly screen: Screen | undefined; readonly children: ReactNode }) {
  const me = useMe();
  const here = useCurrentPath();
  const go = useNavigateTo();
  const workspace = useParam("workspace");
  const isSignedOut = me.data === null;
  const needsPerson = screen !== undefined && screen.visibleTo !== "anyone";
  // On the way the address is the next one's already, and the screen still the one that is left.
  const isLeaving = here.startsWith(SIGN_IN);
  const over = useSessionOver(me.data, needsPerson && !isLeaving);
  const isOver = over !== undefined;
  useEffect(() => {
    if (isSignedOut && needsPerson && !isLeaving && !isOver)
      go(`${SIGN_IN}?${new URLSearchParams({ next: here })}`, "replace");
  }, [isSignedOut, needsPerson, isLeaving, isOver, here, go]);

  const who = me.data ?? over ?? null;
  const standing = useStanding(workspace, who);
  const around = (inside: ReactNode) =>
    screen?.frame === "bare" ? <BareFrame>{inside}</BareFrame> : <SideFrame me={who}>{inside}</SideFrame>;
  if (!needsPerson) return around(children);
  if (me.isPending || (isSignedOut && !isOver)) return around(<SkeletonLines count={6} />);
  if (me.error !== null && me.data === undefined)
    return around(<ErrorState error={me.error} onRetry={() => void me.refetch()} />);
  if (who === null) return null;
  if (standing.is === "missing") return around(<NoWorkspace />);
  if (!mayView(screen.visibleTo, who, workspace)) return around(<NotAllowed visibleTo={screen.visibleTo} />);
  return around(
    <>
      <div hidden={isOver} className="contents">
        <FreshProvider me={who}>{children}</FreshProvider>
      </div>
      <SessionOver isOpen={isOver} here={here} onLook={() => void me.refetch()} />
    </>,
  );
}
