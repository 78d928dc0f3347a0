import { cx } from "./class-names.ts";

/** A placeholder while loading. */
export function Skeleton({ className }: { readonly className?: string | undefined }) {
  return (
    <span
      aria-hidden="true"
      className={cx("block h-4 animate-[breathe_1.6s_ease-in-out_infinite] rounded-sm bg-line/70", className)}
    />
  );
}

export function SkeletonLines({ count = 3 }: { readonly count?: number | undefined }) {
  return (
    <div role="status" className="grid w-full max-w-3xl gap-2.5">
      <span className="sr-only">Loading</span>
      {Array.from({ length: count }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholder lines have no other identity
        <Skeleton key={line} className={line % 3 === 2 ? "w-2/5" : line % 3 === 1 ? "w-4/5" : "w-3/5"} />
      ))}
    </div>
  );
}
