import { cx } from "./class-names.ts";
import { Unknown } from "./values.tsx";

/** A title that the browser would show whole is cut here: nobody reads ten thousand letters in one. */
const TITLE_MAX = 300;

/**
 * Text that came from outside: names of apps, models, keys, addresses. It is text and nothing else, its direction ends
 * where it ends, and however long it is it takes one line.
 */
export function Logged({
  text,
  mono = false,
  wrap = false,
  className,
}: {
  readonly text: string | null | undefined;
  readonly mono?: boolean | undefined;
  /** Break long words and go on instead of cutting. */
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
