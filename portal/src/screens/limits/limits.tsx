import { useQueries } from "@tanstack/react-query";
import { useSearchParam, useWorkspace } from "../../address.ts";
import { call } from "../../api/client.ts";
import { queryKeyOf, useManage, usePages } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { AddLimit } from "./add.tsx";
import { type Limits, nearestFirst } from "./share.ts";
import { Spender } from "./spender.tsx";

const LOOK_MS = 15_000;

export function Screen() {
  const { workspace } = useWorkspace();
  return usePermissions(workspace).isAdmin ? <AllLimits /> : <OwnLimits />;
}

function Hard() {
  return (
    <Callout title="Limits are hard here">
      Before a provider is called, a request reserves the most it can cost. That must fit into the wallet and into every
      limit that counts for it: of the workspace, of its key and, for a personal key, of its member. Otherwise it is
      refused with 402 <code className="font-mono">spend_limit_reached</code>, and the answer names the limit.
    </Callout>
  );
}

/** The workspace, then whoever is nearest to a limit. */
function AllLimits() {
  const { workspace } = useWorkspace();
  const [open, setOpen] = useSearchParam("new");
  const params = { workspace };
  const own = useManage("manageShowLimits", { params }, { refetchMs: LOOK_MS });
  const all = usePages("manageListLimits", { params, query: { limit: 1000 } }, { refetchMs: LOOK_MS });
  const others = nearestFirst(all.rows.filter(({ of }) => of !== "workspace"));
  return (
    <>
      <PageHeader
        title="Limits"
        about="What the workspace, its members and its keys may spend in a day and in a month. Whoever is nearest to a limit comes first."
        actions={
          <>
            <CallButton
              calls={[
                { id: "manageListLimits", args: { params }, says: "Every limit" },
                { id: "managePutLimits", args: { params, body: { day: "5.00" } }, says: "Limit the workspace" },
              ]}
            />
            <Button look="primary" icon="plus" onClick={() => setOpen("1")}>
              Set a limit
            </Button>
          </>
        }
      />
      <Stack>
        <Hard />
        <Card title="Workspace" flush>
          {own.data !== undefined ? (
            <ul>
              <Spender limits={own.data} mayEdit />
            </ul>
          ) : (
            <Waiting error={own.error} onRetry={() => void own.refetch()} />
          )}
        </Card>
        <Card title="Members and keys" about="Each counts on top of the workspace's own limit" flush>
          {all.isPending || (all.error !== null && all.rows.length === 0) ? (
            <Waiting error={all.error} onRetry={all.refetch} />
          ) : others.length === 0 ? (
            <EmptyState
              icon="gauge"
              title="No member and no key has a limit of its own"
              hint="A limit on a key stops what runs wild before it spends what everybody needs."
            >
              <Button onClick={() => setOpen("1")}>Set a limit</Button>
            </EmptyState>
          ) : (
            <ul>
              {others.map((limits) => (
                <Spender key={`${limits.of} ${limits.key ?? limits.member}`} limits={limits} mayEdit />
              ))}
            </ul>
          )}
        </Card>
      </Stack>
      {open === "1" && <AddLimit open onClose={() => setOpen("")} currency={own.data?.currency ?? "EUR"} />}
    </>
  );
}

function Waiting({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (error !== null) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <div className="px-5 py-4">
      <SkeletonLines />
    </div>
  );
}

/** More own keys than this are not asked for one by one. */
const KEYS_MAX = 30;

/** What a member may spend, and each of their keys. */
function OwnLimits() {
  const { workspace } = useWorkspace();
  const email = useMe().data?.email ?? "";
  const params = { workspace };
  const query = { member: email };
  const own = useManage("manageShowLimits", { params, query }, { refetchMs: LOOK_MS, enabled: email !== "" });
  const keys = useManage("manageListKeys", { params, query: { limit: 1000 } });
  const ids = (keys.data?.data ?? []).filter(({ state }) => state !== "revoked").map(({ id }) => id);
  const ofKeys = useQueries({
    queries: ids.slice(0, KEYS_MAX).map((key) => ({
      queryKey: queryKeyOf("manageShowLimits", { params, query: { key } }),
      queryFn: () => call("manageShowLimits", { params, query: { key } }),
      refetchInterval: LOOK_MS,
    })),
  });
  const known: Limits[] = ofKeys.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return (
    <>
      <PageHeader
        title="Limits"
        about="What you and your keys may spend in a day and in a month. Admins of the workspace set them."
        actions={<CallButton calls={[{ id: "manageShowLimits", args: { params, query }, says: "Your limits" }]} />}
      />
      <Stack>
        <Hard />
        <Card title="You" flush>
          {own.data !== undefined ? (
            <ul>
              <Spender limits={own.data} mayEdit={false} />
            </ul>
          ) : (
            <Waiting error={own.error} onRetry={() => void own.refetch()} />
          )}
        </Card>
        {known.length > 0 && (
          <Card title="Your keys" flush>
            <ul>
              {nearestFirst(known).map((limits) => (
                <Spender key={limits.key} limits={limits} mayEdit={false} />
              ))}
            </ul>
          </Card>
        )}
      </Stack>
    </>
  );
}
