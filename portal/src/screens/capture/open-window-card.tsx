import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Row } from "../../api/client.ts";
import { useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Card, Progress } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { toast } from "../../ui/toast.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Time, useNow } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";

export type CaptureWindow = Row<"manageListCaptures">;

const SECOND_MS = 1000;

/** "1:04:09" or "4:09". */
function remainingText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND_MS));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

export function ScopeText({ window }: { readonly window: Pick<CaptureWindow, "scope"> }) {
  const { keys, surfaces, environment } = window.scope;
  const parts = [
    keys === null ? "All keys" : `${keys.length} ${keys.length === 1 ? "key" : "keys"}`,
    surfaces === null ? "all surfaces" : surfaces.join(", "),
    environment === null ? "live and test" : environment,
  ];
  return <UntrustedText text={parts.join(" · ")} wrap />;
}

export function OpenWindowCard({ window }: { readonly window: CaptureWindow }) {
  const client = useQueryClient();
  const { at } = useWorkspace();
  const nowMs = useNow(true, SECOND_MS);
  const [openedMs, closesMs] = [Date.parse(window.opened_at), Date.parse(window.closes_at)];
  const remainingMs = closesMs - nowMs;
  const isOver = remainingMs <= 0;
  useEffect(() => {
    if (isOver) void client.invalidateQueries({ queryKey: ["manageListCaptures"] });
  }, [isOver, client]);
  const close = useManageMutation("manageCloseCapture", {
    stale: ["manageListCaptures"],
    onDone: () => toast("Capture window closed. Stored content is kept until its retention ends."),
  });
  return (
    <Card
      title={
        <span className="inline-flex items-center gap-2">
          <span aria-hidden="true" className="size-2 animate-[breathe_1.6s_ease-in-out_infinite] rounded-full bg-bad" />
          Capturing content
        </span>
      }
      actions={
        <Button busy={close.isPending} onClick={() => close.mutate({ params: { id: window.id }, body: {} })}>
          Close window
        </Button>
      }
    >
      <div className="grid gap-3">
        <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
          <p className="text-soft">
            <ScopeText window={window} /> · {window.items} {window.items === 1 ? "request" : "requests"} so far ·{" "}
            <Link to={at(`requests?since=${encodeURIComponent(localText(openedMs))}`)}>View requests</Link>
          </p>
          <p>
            <span role="timer" className="figures text-xl font-semibold tracking-tight">
              {remainingText(remainingMs)}
            </span>{" "}
            <span className="text-soft">
              left, until <Time at={window.closes_at} as="short" />
            </span>
          </p>
        </div>
        <Progress label="Elapsed time" share={(nowMs - openedMs) / Math.max(1, closesMs - openedMs)} tone="bad" />
        {window.skipped > 0 && (
          <p className="text-warn">
            {window.skipped} {window.skipped === 1 ? "request was" : "requests were"} not captured: the window is full
            or the store was unavailable.
          </p>
        )}
        <ErrorNote error={close.error} />
      </div>
    </Card>
  );
}

/** The value of a datetime-local field: "2026-11-15T14:00" in the reader's time zone. */
function localText(atMs: number): string {
  const at = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 16);
}
