import { useEffect, useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Link } from "../../ui/link.tsx";
import { Logged } from "../../ui/logged.tsx";
import { Country, Time } from "../../ui/values.tsx";
import type { Client } from "./client-kind.ts";

type Request = Row<"manageListRequests">;

const LOOK_MS = 2000;
const LOOKED_AT = 20;

/** Looks for the first request of this client since the page was opened; nothing of before counts. */
function useArrival(
  workspace: string,
  client: Client,
): { readonly own: Request | undefined; readonly other: Request | undefined } {
  const args = { params: { workspace }, query: { limit: LOOKED_AT } };
  const rows = useManage("manageListRequests", args, { refetchMs: LOOK_MS }).data?.data;
  // By ids and not by the clock: the reader's may be wrong.
  const [before, setBefore] = useState<ReadonlySet<string>>();
  useEffect(() => {
    if (before === undefined && rows !== undefined) setBefore(new Set(rows.map(({ id }) => id)));
  }, [before, rows]);
  const fresh =
    before === undefined ? [] : (rows ?? []).filter(({ id, app }) => !before.has(id) && app !== "Playground");
  const own = fresh.find(({ app }) => client.app === null || (app !== null && client.app.includes(app)));
  return { own, other: own === undefined ? fresh[0] : undefined };
}

/** "Waiting for a request", until one comes: then it says who served it, or what went wrong. */
export function LiveCheck({
  workspace,
  client,
  requestPath,
}: {
  readonly workspace: string;
  readonly client: Client;
  readonly requestPath: (id: string) => string;
}) {
  const { own, other } = useArrival(workspace, client);
  const isGood = own !== undefined && own.status < 400;
  return (
    <section
      role="status"
      aria-label="Live check"
      className={cx(
        "grid gap-2 rounded-lg border px-5 py-4",
        own === undefined ? "bg-card" : isGood ? "border-good/40 bg-good-soft" : "border-bad/40 bg-bad-soft",
      )}
    >
      {own === undefined ? (
        <>
          <p className="flex items-center gap-2.5 font-semibold">
            <span aria-hidden="true" className="size-2.5 animate-pulse rounded-full bg-accent" />
            Waiting for a request from {client.title}
          </p>
          <p className="text-soft">This page looks every two seconds. Leave it open and run the last step.</p>
          {client.app === null && (
            <p className="text-xs text-soft">{client.title} does not say who it is: any new request counts.</p>
          )}
          {other !== undefined && (
            <p className="text-xs text-soft">
              A request of <Logged text={other.app ?? "another client"} /> came meanwhile.{" "}
              <Link to={requestPath(other.id)}>Look at it</Link>
            </p>
          )}
        </>
      ) : (
        <Arrived request={own} title={client.title} to={requestPath(own.id)} />
      )}
    </section>
  );
}

function Arrived({ request, title, to }: { readonly request: Request; readonly title: string; readonly to: string }) {
  const isGood = request.status < 400;
  return (
    <>
      <p className={cx("flex items-center gap-2.5 font-semibold", isGood ? "text-good" : "text-bad")}>
        <Icon name={isGood ? "check" : "warning"} />
        {isGood ? `${title} is connected` : `A request of ${title} came and was refused (${request.status})`}
      </p>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Logged text={request.model ?? request.model_requested} mono />
        {request.provider !== null && <span>served by {request.provider}</span>}
        {request.level !== null && <LevelBadge level={request.level} />}
        {request.countries?.map((code) => (
          <Country key={code} code={code} />
        ))}
        {request.error_code !== null && <code className="font-mono text-xs">{request.error_code}</code>}
        <span className="text-soft">
          <Time at={request.created_at} />
        </span>
        <Link to={to}>The request</Link>
      </p>
    </>
  );
}
