import { useRouterState } from "@tanstack/react-router";
import { docsUrlOf, errorDocsUrl } from "../screen-docs.ts";
import { buttonClass } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";

/** URL of the guide of the current screen. */
export function useDocsUrl(): string | undefined {
  return useRouterState({ select: ({ matches }) => docsUrlOf(matches.at(-1)?.staticData.screen?.path) });
}

/** Opens the guide of the current screen. */
export function DocsLink() {
  const url = useDocsUrl();
  if (url === undefined) return null;
  return (
    <a href={url} className={buttonClass("quiet")}>
      <Icon name="book" />
      Docs
    </a>
  );
}

/** An error code that opens its section of the error reference. */
export function ErrorCode({ code, className }: { readonly code: string; readonly className?: string | undefined }) {
  return (
    <a href={errorDocsUrl(code)} className={cx("font-mono underline underline-offset-2", className)}>
      {code}
    </a>
  );
}
