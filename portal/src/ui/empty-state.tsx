import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

type Props = {
  readonly icon?: IconName | undefined;
  readonly title: string;
  /** `h1` if it is the whole page. */
  readonly heading?: "h1" | "p" | undefined;
  readonly hint?: ReactNode | undefined;
  readonly children?: ReactNode | undefined;
};

/** An empty list or page with the next step. */
export function EmptyState({ icon = "list", title, heading: Heading = "p", hint, children }: Props) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] justify-items-center gap-3 px-6 py-12 text-center">
      <span className="grid size-10 place-items-center rounded-full border text-soft">
        <Icon name={icon} className="size-5" />
      </span>
      <div className="grid max-w-md gap-1">
        <Heading className="font-semibold text-balance">{title}</Heading>
        {hint !== undefined && <p className="text-soft text-pretty">{hint}</p>}
      </div>
      {children !== undefined && <div className="mt-1 flex max-w-full flex-wrap justify-center gap-2">{children}</div>}
    </div>
  );
}
