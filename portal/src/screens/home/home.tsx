import { useState } from "react";
import { useSearchParams, useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Guide } from "./guide.tsx";
import { Overview } from "./overview.tsx";

const RECENT = 6;
const WATCH_MS = 1500;
const LOOK_MS = 15_000;

/** The way to the first request while there is none, and how things stand afterwards. */
export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const permissions = usePermissions(workspace);
  const about = useManage("manageShowWorkspace", { params: { workspace } }).data;
  const [wasEmpty, setWasEmpty] = useState(false);
  const isAsked = search.get("guide") === "1";
  const isGuide = isAsked || wasEmpty;
  const asked = { params: { workspace }, query: { limit: RECENT } };
  const requests = useManage("manageListRequests", asked, { refetchMs: isGuide ? WATCH_MS : LOOK_MS });
  const rows = requests.data?.data;
  // Whoever began with the guide sees it turn green, and leaves it by hand.
  if (rows?.length === 0 && !wasEmpty) setWasEmpty(true);
  const [since] = useState(() => Date.now());
  const arrived = rows?.find(({ created_at }) => !isAsked || Date.parse(created_at) >= since);
  const leave = () => {
    setWasEmpty(false);
    search.set({ guide: null });
  };
  return (
    <>
      <PageHeader
        title={isGuide ? "Your first request" : (about?.name ?? workspace)}
        about={isGuide ? `Three steps, about a minute. Everything here can be changed later.` : undefined}
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageListRequests", args: asked, says: "The newest requests" },
                { id: "manageShowUsage", args: { params: { workspace } }, says: "Usage by day" },
              ]}
            />
            {!isGuide && rows !== undefined && (
              <Button icon="spark" onClick={() => search.set({ guide: "1" })}>
                First-request guide
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
        <Guide {...{ workspace, permissions, at, arrived }} onDone={leave} />
      ) : (
        <Overview {...{ workspace, permissions, at }} currency={about?.currency ?? "EUR"} requests={rows} />
      )}
    </>
  );
}
