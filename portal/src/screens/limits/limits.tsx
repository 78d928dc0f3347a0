import { useQueries } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { queryKeyOf, useManage, usePages } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { AddLimit } from "./add-limit.tsx";
import { type Limits, sortByUsage } from "./limit-usage.ts";
import { SpendLimitRow } from "./spend-limit-row.tsx";

const REFETCH_MS = 15_000;

export function Screen() {
  const { workspace } = useWorkspace();
  return usePermissions(workspace).isAdmin ? <AllLimits /> : <OwnLimits />;
}

function LimitsNotice() {
  return (
    <Callout title="Limits are enforced before each request">
      A request reserves its maximum cost before it is sent to a provider. The amount must fit into the wallet and into
      every limit that applies: workspace, key and, for personal keys, member. Otherwise the request is rejected with
      402 <code className="font-mono">spend_limit_reached</code>, and the error names the limit.
    </Callout>
  );
}

/** The workspace first, then by usage of the limit. */
function AllLimits() {
  const { workspace } = useWorkspace();
  const [open, setOpen] = useSearchParam("new");
  const params = { workspace };
  const own = useManage("manageShowLimits", { params }, { refetchMs: REFETCH_MS });
  const all = usePages("manageListLimits", { params, query: { limit: 1000 } }, { refetchMs: REFETCH_MS });
  const others = sortByUsage(all.rows.filter(({ of }) => of !== "workspace"));
  return (
    <>
      <PageHeader
        title="Limits"
        about="Daily and monthly spend limits of the workspace, its members and its keys, sorted by usage."
        actions={
          <>
            <ApiButton
              calls={[
                { id: "manageListLimits", args: { params }, description: "List limits" },
                {
                  id: "managePutLimits",
                  args: { params, body: { day: "5.00" } },
                  description: "Set a workspace limit",
                },
              ]}
            />
            <Button variant="primary" icon="plus" onClick={() => setOpen("1")}>
              Set limit
            </Button>
          </>
        }
      />
      <Stack>
        <LimitsNotice />
        <Card title="Workspace" flush>
          {own.data !== undefined ? (
            <ul>
              <SpendLimitRow limits={own.data} mayEdit />
            </ul>
          ) : (
            <LoadingOrError error={own.error} onRetry={() => void own.refetch()} />
          )}
        </Card>
        <Card title="Members and keys" about="Apply in addition to the workspace limit" flush>
          {all.isPending || (all.error !== null && all.rows.length === 0) ? (
            <LoadingOrError error={all.error} onRetry={all.refetch} />
          ) : others.length === 0 ? (
            <EmptyState
              icon="gauge"
              title="No member or key limits"
              hint="A key limit stops a runaway client before it uses up the wallet."
            >
              <Button onClick={() => setOpen("1")}>Set limit</Button>
            </EmptyState>
          ) : (
            <ul>
              {others.map((limits) => (
                <SpendLimitRow key={`${limits.of} ${limits.key ?? limits.member}`} limits={limits} mayEdit />
              ))}
            </ul>
          )}
        </Card>
      </Stack>
      {open === "1" && <AddLimit open onClose={() => setOpen("")} currency={own.data?.currency ?? "EUR"} />}
    </>
  );
}

function LoadingOrError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (error !== null) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <div className="px-5 py-4">
      <SkeletonLines />
    </div>
  );
}

/** Bounds the number of requests for members with many keys. */
const KEYS_MAX = 30;

/** The limits of the signed-in member and their keys. */
function OwnLimits() {
  const { workspace } = useWorkspace();
  const email = useMe().data?.email ?? "";
  const params = { workspace };
  const query = { member: email };
  const own = useManage("manageShowLimits", { params, query }, { refetchMs: REFETCH_MS, enabled: email !== "" });
  const keys = useManage("manageListKeys", { params, query: { limit: 1000 } });
  const ids = (keys.data?.data ?? []).filter(({ state }) => state !== "revoked").map(({ id }) => id);
  const keyQueries = useQueries({
    queries: ids.slice(0, KEYS_MAX).map((key) => ({
      queryKey: queryKeyOf("manageShowLimits", { params, query: { key } }),
      queryFn: () => call("manageShowLimits", { params, query: { key } }),
      refetchInterval: REFETCH_MS,
    })),
  });
  const keyLimits: Limits[] = keyQueries.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return (
    <>
      <PageHeader
        title="Limits"
        about="Daily and monthly spend limits for you and your keys, set by workspace admins."
        actions={
          <ApiButton calls={[{ id: "manageShowLimits", args: { params, query }, description: "Show your limits" }]} />
        }
      />
      <Stack>
        <LimitsNotice />
        <Card title="You" flush>
          {own.data !== undefined ? (
            <ul>
              <SpendLimitRow limits={own.data} mayEdit={false} />
            </ul>
          ) : (
            <LoadingOrError error={own.error} onRetry={() => void own.refetch()} />
          )}
        </Card>
        {keyLimits.length > 0 && (
          <Card title="Your keys" flush>
            <ul>
              {sortByUsage(keyLimits).map((limits) => (
                <SpendLimitRow key={limits.key} limits={limits} mayEdit={false} />
              ))}
            </ul>
          </Card>
        )}
      </Stack>
    </>
  );
}
