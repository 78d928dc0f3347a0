import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EditLimits } from "./edit-limits.tsx";
import { highestUsage, type Limits, nameOf, WARNING_SHARE } from "./limit-usage.ts";
import { PeriodBar } from "./period-bar.tsx";

const KINDS = { workspace: "Workspace", member: "Member", key: "Key" } as const;

/** The limits of a workspace, member or key, with inline editing. */
export function SpendLimitRow({ limits, mayEdit }: { readonly limits: Limits; readonly mayEdit: boolean }) {
  const [isEditing, setIsEditing] = useState(false);
  const name = nameOf(limits);
  const share = highestUsage(limits);
  const hasLimit = limits.day.limit !== null || limits.month.limit !== null;
  return (
    <li className="grid gap-3 border-b px-5 py-4 last:border-0">
      <div className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <p className="flex min-w-0 flex-wrap items-center gap-2">
          <span className="min-w-0 font-medium break-all">{name}</span>
          <Badge>{KINDS[limits.of]}</Badge>
          {share >= 1 ? (
            <Badge tone="bad">Limit reached</Badge>
          ) : (
            share >= WARNING_SHARE && <Badge tone="warn">Near limit</Badge>
          )}
        </p>
        {mayEdit && !isEditing && (
          <Button
            size="small"
            icon="edit"
            onClick={() => setIsEditing(true)}
            aria-label={hasLimit ? `Edit limits for ${name}` : `Set limit for ${name}`}
          >
            {hasLimit ? "Edit limits" : "Set limit"}
          </Button>
        )}
      </div>
      {isEditing ? (
        <EditLimits limits={limits} onDone={() => setIsEditing(false)} />
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
