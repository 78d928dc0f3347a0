import { cx } from "./class-names.ts";
import { Unknown } from "./values.tsx";

/** Limits the tooltip, as browsers show it in full. */
const TITLE_MAX = 300;

/**
 * User-provided text such as app, model and key names. Isolates its text direction and
 * truncates it to one line.
 */
export function UntrustedText({
  text,
  mono = false,
  wrap = false,
  className,
}: {
  readonly text: string | null | undefined;
  readonly mono?: boolean | undefined;
  /** Wraps instead of truncating. */
  readonly wrap?: boolean | undefined;
  readonly className?: string | undefined;
}) {
  if (text === null || text === undefined || text === "") return <Unknown />;
  return (
    <bdi
      title={wrap ? undefined : text.slice(0, TITLE_MAX)}
      className={cx(
        wrap ? "[overflow-wrap:anywhere]" : "inline-block min-w-0 truncate align-bottom",
        !wrap && className?.includes("max-w-") !== true && "max-w-full",
        mono && "font-mono text-[0.8125rem]",
        className,
      )}
    >
      {text}
    </bdi>
  );
}
