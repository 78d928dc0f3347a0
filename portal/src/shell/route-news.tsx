import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

/** Sets the document's title and tells screen readers where one has come to; the keyboard starts at the content. */
export function RouteNews({ title }: { readonly title: string }) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname ?? state.location.pathname });
  const [said, setSaid] = useState("");
  const before = useRef(path);
  useEffect(() => {
    document.title = `${title} · Inference Gateway`;
    if (before.current === path) return;
    before.current = path;
    setSaid(title);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [title, path]);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {said}
    </div>
  );
}
