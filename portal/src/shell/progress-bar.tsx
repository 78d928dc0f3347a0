import { useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";

const SHOWN_AFTER_MS = 150;

/** Shown when loading a screen takes noticeably long. */
export function ProgressBar() {
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
