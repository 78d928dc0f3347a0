import { useState } from "react";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { Guide } from "./guide.tsx";
import { Overview } from "./overview.tsx";

const RECENT_ROWS = 6;
const GUIDE_REFETCH_MS = 1500;
const REFETCH_MS = 15_000;

/** Onboarding until the first request, then the overview. */
export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const about = useManage("manageShowWorkspace", { params: { workspace } }).data;
  const [wasEmpty, setWasEmpty] = useState(false);
  const isGuideRequested = search.get("guide") === "1";
  const isGuide = isGuideRequested || wasEmpty;
  const requestArgs = { params: { workspace }, query: { limit: RECENT_ROWS } };
  const requests = useManage("manageListRequests", requestArgs, { refetchMs: isGuide ? GUIDE_REFETCH_MS : REFETCH_MS });
  const rows = requests.data?.data;
  // The guide stays open after the first request until the reader leaves it.
  if (rows?.length === 0 && !wasEmpty) setWasEmpty(true);
  const [since] = useState(() => Date.now());
  const firstRequest = rows?.find(({ created_at }) => !isGuideRequested || Date.parse(created_at) >= since);
  const leave = () => {
    setWasEmpty(false);
    search.set({ guide: null });
  };
  return (
    <>
      <PageHeader
        title={isGuide ? "Send your first request" : (about?.name ?? workspace)}
        about={isGuide ? "Three steps, about a minute. You can change everything later." : undefined}
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageListRequests", args: requestArgs, description: "List recent requests" },
                { id: "manageShowUsage", args: { params: { workspace } }, description: "Show usage by day" },
              ]}
            />
            {!isGuide && rows !== undefined && (
              <Button icon="spark" onClick={() => search.set({ guide: "1" })}>
                Setup guide
              </Button>
            )}
          </>
        }
      />
      {requests.error !== null && rows === undefined ? (
        <ErrorState error={requests.error} onRetry={() => void requests.refetch()} />
      ) : rows === undefined ? (
        <SkeletonLines count={8} />
      ) : isGuide ? (
        <Guide {...{ workspace, permissions, at, firstRequest }} onDone={leave} />
      ) : (
        <Overview {...{ workspace, permissions, at }} currency={about?.currency ?? "EUR"} requests={rows} />
      )}
    </>
  );
}
