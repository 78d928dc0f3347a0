import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

/** Sets the document title, announces the screen to screen readers and moves focus to the content. */
export function RouteAnnouncer({ title }: { readonly title: string }) {
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
