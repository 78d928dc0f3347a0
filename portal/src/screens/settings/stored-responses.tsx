import { useState } from "react";
import { pathIn } from "../../address.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { bytesText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, KeyValue, Progress } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";

/** Responses that callers asked to be kept: how long, how many bytes, and a way to be rid of them. */
export function StoredResponses({ workspace }: { readonly workspace: string }) {
  const stored = useManage("manageListResponses", { params: { workspace }, query: { limit: 1 } });
  const [isAsking, setIsAsking] = useState(false);
  const purge = useManageMutation("managePurgeResponses", {
    onDone: ({ deleted }) => {
      toast(deleted === 1 ? "One response is deleted." : `${deleted} responses are deleted.`);
      setIsAsking(false);
    },
  });
  const { data } = stored;
  const newest = data?.data[0];
  return (
    <Card
      title="Stored responses"
      about="Kept, sealed, because a caller asked for it with store: true."
      actions={
        newest !== undefined && (
          <>
            <LinkButton size="small" to={pathIn(workspace, "responses")}>
              Look at them
            </LinkButton>
            <Button look="danger" size="small" onClick={() => setIsAsking(true)}>
              Delete all
            </Button>
          </>
        )
      }
    >
      {stored.error !== null && data === undefined ? (
        <ErrorState error={stored.error} onRetry={() => void stored.refetch()} />
      ) : data === undefined ? (
        <SkeletonLines count={3} />
      ) : (
        <KeyValue
          rows={[
            { name: "Each is kept for", value: <>{spanText(data.retention)}, as the operator set it</> },
            { name: "Newest", value: <Time at={newest?.created_at} none="there is none" /> },
            {
              name: "Room",
              value: (
                <div className="grid max-w-xs gap-1.5">
                  {bytesText(data.used_bytes)} of {bytesText(data.max_bytes)}
                  <Progress share={data.used_bytes / data.max_bytes} label="Room that stored responses take" />
                </div>
              ),
            },
          ]}
        />
      )}
      <Confirm
        open={isAsking}
        danger
        name={workspace}
        onClose={() => setIsAsking(false)}
        title="Delete all stored responses?"
        action="Delete them all"
        busy={purge.isPending}
        error={purge.error}
        onConfirm={() => purge.mutate({ params: { workspace } })}
      >
        <p>
          Conversations that go on from one of them cannot, and work in the background is cancelled. The request log
          stays.
        </p>
      </Confirm>
    </Card>
  );
}

const UNITS: Readonly<Record<string, string>> = { s: "second", m: "minute", h: "hour", d: "day" };

/** "30d" in words. */
function spanText(span: string): string {
  const [, count = "", unit = ""] = /^(\d+)([smhd])$/.exec(span) ?? [];
  const word = UNITS[unit];
  if (word === undefined) return span;
  return `${count} ${word}${count === "1" ? "" : "s"}`;
}
