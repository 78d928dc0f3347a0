import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useWorkspace } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Card, Progress } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Logged } from "../../ui/logged.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time, useNow } from "../../ui/values.tsx";

export type Window = Row<"manageListCaptures">;

const SECOND_MS = 1000;

/** "1:04:09", "4:09": what is left, to the second. */
function leftText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND_MS));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

export function ScopeText({ window }: { readonly window: Pick<Window, "scope"> }) {
  const { keys, surfaces, environment } = window.scope;
  const parts = [
    keys === null ? "every key" : `${keys.length} ${keys.length === 1 ? "key" : "keys"}`,
    surfaces === null ? "every surface" : surfaces.join(", "),
    environment === null ? "live and test" : environment,
  ];
  return <Logged text={parts.join(" · ")} wrap />;
}

/** A window that is open now: how long still, and a way to end it. */
export function RunningWindow({ window }: { readonly window: Window }) {
  const client = useQueryClient();
  const { at } = useWorkspace();
  const nowMs = useNow(true, SECOND_MS);
  const [openedMs, closesMs] = [Date.parse(window.opened_at), Date.parse(window.closes_at)];
  const leftMs = closesMs - nowMs;
  const isOver = leftMs <= 0;
  useEffect(() => {
    if (isOver) void client.invalidateQueries({ queryKey: ["manageListCaptures"] });
  }, [isOver, client]);
  const close = useChange("manageCloseCapture", {
    stale: ["manageListCaptures"],
    done: () => toast("The window is closed; what was kept stays until its time is over"),
  });
  return (
    <Card
      title={
        <span className="inline-flex items-center gap-2">
          <span aria-hidden="true" className="size-2 animate-[breathe_1.6s_ease-in-out_infinite] rounded-full bg-bad" />
          Content is being kept
        </span>
      }
      actions={
        <Button busy={close.isPending} onClick={() => close.mutate({ params: { id: window.id }, body: {} })}>
          Close now
        </Button>
      }
    >
      <div className="grid gap-3">
        <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
          <p className="text-soft">
            <ScopeText window={window} /> · {window.items} {window.items === 1 ? "call" : "calls"} so far ·{" "}
            <Link to={at(`requests?since=${encodeURIComponent(localText(openedMs))}`)}>requests since then</Link>
          </p>
          <p>
            <span role="timer" className="figures text-xl font-semibold tracking-tight">
              {leftText(leftMs)}
            </span>{" "}
            <span className="text-soft">
              left, until <Time at={window.closes_at} as="short" />
            </span>
          </p>
        </div>
        <Progress
          label="How much of its time is over"
          share={(nowMs - openedMs) / Math.max(1, closesMs - openedMs)}
          tone="bad"
        />
        {window.skipped > 0 && (
          <p className="text-warn">
            {window.skipped} {window.skipped === 1 ? "call was" : "calls were"} not kept: the window is full, or the
            store was away.
          </p>
        )}
        <ErrorNote error={close.error} />
      </div>
    </Card>
  );
}

/** As a field for date and time has it: "2026-11-15T14:00", in the reader's zone. */
function localText(atMs: number): string {
  const at = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 16);
}
