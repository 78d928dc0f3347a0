import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { bytesText } from "../../format/number.ts";
import { spanText } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, KeyValue, Progress } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { pathIn } from "../../url-state.ts";

/** Retention and storage of stored responses. */
export function StoredResponses({ workspace }: { readonly workspace: string }) {
  const stored = useManage("manageListResponses", { params: { workspace }, query: { limit: 1 } });
  const [isConfirming, setIsConfirming] = useState(false);
  const purge = useManageMutation("managePurgeResponses", {
    onDone: ({ deleted }) => {
      toast(deleted === 1 ? "1 response deleted" : `${deleted} responses deleted`);
      setIsConfirming(false);
    },
  });
  const { data } = stored;
  const newest = data?.data[0];
  return (
    <Card
      title="Stored responses"
      about="Encrypted responses stored with store: true"
      actions={
        newest !== undefined && (
          <>
            <LinkButton size="small" to={pathIn(workspace, "responses")}>
              View responses
            </LinkButton>
            <Button variant="danger" size="small" onClick={() => setIsConfirming(true)}>
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
            { name: "Retention", value: <>{spanText(data.retention)}, set by the operator</> },
            { name: "Newest", value: <Time at={newest?.created_at} none="None" /> },
            {
              name: "Storage",
              value: (
                <div className="grid max-w-xs gap-1.5">
                  {bytesText(data.used_bytes)} of {bytesText(data.max_bytes)}
                  <Progress share={data.used_bytes / data.max_bytes} label="Storage used" />
                </div>
              ),
            },
          ]}
        />
      )}
      <Confirm
        open={isConfirming}
        danger
        name={workspace}
        onClose={() => setIsConfirming(false)}
        title="Delete all stored responses?"
        action="Delete all responses"
        busy={purge.isPending}
        error={purge.error}
        onConfirm={() => purge.mutate({ params: { workspace } })}
      >
        <p>
          Conversations can't continue from deleted responses, and background responses are cancelled. The request log
          is kept.
        </p>
      </Confirm>
    </Card>
  );
}
