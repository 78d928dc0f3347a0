import { useEffect, useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Link } from "../../ui/link.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Country, Time } from "../../ui/values.tsx";
import type { Client } from "./client-kind.ts";

type Request = Row<"manageListRequests">;

const REFETCH_MS = 2000;
const RECENT_MAX = 20;

/** The client's first request since the page was opened. */
function useFirstRequest(
  workspace: string,
  client: Client,
): { readonly own: Request | undefined; readonly other: Request | undefined } {
  const args = { params: { workspace }, query: { limit: RECENT_MAX } };
  const rows = useManage("manageListRequests", args, { refetchMs: REFETCH_MS }).data?.data;
  // Compares IDs instead of times: the reader's clock may be wrong.
  const [knownIds, setKnownIds] = useState<ReadonlySet<string>>();
  useEffect(() => {
    if (knownIds === undefined && rows !== undefined) setKnownIds(new Set(rows.map(({ id }) => id)));
  }, [knownIds, rows]);
  const newRequests =
    knownIds === undefined ? [] : (rows ?? []).filter(({ id, app }) => !knownIds.has(id) && app !== "Playground");
  const own = newRequests.find(({ app }) => client.app === null || (app !== null && client.app.includes(app)));
  return { own, other: own === undefined ? newRequests[0] : undefined };
}

/** Waits for the client's first request, then shows which endpoint served it or the error. */
export function LiveCheck({
  workspace,
  client,
  requestPath,
}: {
  readonly workspace: string;
  readonly client: Client;
  readonly requestPath: (id: string) => string;
}) {
  const { own, other } = useFirstRequest(workspace, client);
  const isSuccess = own !== undefined && own.status < 400;
  return (
    <section
      role="status"
      aria-label="Live check"
      className={cx(
        "grid gap-2 rounded-lg border px-5 py-4",
        own === undefined ? "bg-card" : isSuccess ? "border-good/40 bg-good-soft" : "border-bad/40 bg-bad-soft",
      )}
    >
      {own === undefined ? (
        <>
          <p className="flex items-center gap-2.5 font-semibold">
            <span aria-hidden="true" className="size-2.5 animate-pulse rounded-full bg-accent" />
            Waiting for a request from {client.title}
          </p>
          <p className="text-soft">Run the last step. This page checks every two seconds.</p>
          {client.app === null && (
            <p className="text-xs text-soft">{client.title} does not identify itself, so any new request counts.</p>
          )}
          {other !== undefined && (
            <p className="text-xs text-soft">
              Received a request from <UntrustedText text={other.app ?? "another client"} />.{" "}
              <Link to={requestPath(other.id)}>View request</Link>
            </p>
          )}
        </>
      ) : (
        <FirstRequestResult request={own} title={client.title} to={requestPath(own.id)} />
      )}
    </section>
  );
}

function FirstRequestResult({
  request,
  title,
  to,
}: {
  readonly request: Request;
  readonly title: string;
  readonly to: string;
}) {
  const isSuccess = request.status < 400;
  return (
    <>
      <p className={cx("flex items-center gap-2.5 font-semibold", isSuccess ? "text-good" : "text-bad")}>
        <Icon name={isSuccess ? "check" : "warning"} />
        {isSuccess ? `${title} is connected` : `A request from ${title} was rejected (${request.status})`}
      </p>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <UntrustedText text={request.model ?? request.model_requested} mono />
        {request.provider !== null && <span>Served by {request.provider}</span>}
        {request.level !== null && <LevelBadge level={request.level} />}
        {request.countries?.map((code) => (
          <Country key={code} code={code} />
        ))}
        {request.error_code !== null && <code className="font-mono text-xs">{request.error_code}</code>}
        <span className="text-soft">
          <Time at={request.created_at} />
        </span>
        <Link to={to}>View request</Link>
      </p>
    </>
  );
}
