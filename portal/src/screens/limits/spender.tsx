import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EditLimits } from "./edit.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { fullest, type Limits, NEAR, nameOf } from "./share.ts";

const KINDS = { workspace: "Workspace", member: "Member", key: "Key" } as const;

/** One spender: what is taken of its limits; they are changed where they stand. */
export function Spender({ limits, mayEdit }: { readonly limits: Limits; readonly mayEdit: boolean }) {
  const [isEdited, setIsEdited] = useState(false);
  const name = nameOf(limits);
  const share = fullest(limits);
  const hasOne = limits.day.limit !== null || limits.month.limit !== null;
  return (
    <li className="grid gap-3 border-b px-5 py-4 last:border-0">
      <div className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <p className="flex min-w-0 flex-wrap items-center gap-2">
          <span className="min-w-0 font-medium break-all">{name}</span>
          <Badge>{KINDS[limits.of]}</Badge>
          {share >= 1 ? <Badge tone="bad">Stopped</Badge> : share >= NEAR && <Badge tone="warn">Near the limit</Badge>}
        </p>
        {mayEdit && !isEdited && (
          <Button
            size="small"
            icon="edit"
            onClick={() => setIsEdited(true)}
            aria-label={hasOne ? `Change limits of ${name}` : `Set a limit: ${name}`}
          >
            {hasOne ? "Change" : "Set a limit"}
          </Button>
        )}
      </div>
      {isEdited ? (
        <EditLimits limits={limits} onDone={() => setIsEdited(false)} />
      ) : (
        <div className="grid gap-x-8 gap-y-3 sm:grid-cols-2">
          {(["day", "month"] as const).map((unit) => (
            <div key={unit} className="grid content-start gap-0.5">
              <p className="label-mark">{unit === "day" ? "Today (UTC)" : "This month (UTC)"}</p>
              <PeriodBar period={limits[unit]} unit={unit} currency={limits.currency} of={name} />
            </div>
          ))}
        </div>
      )}
    </li>
  );
}
