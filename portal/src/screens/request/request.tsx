import { useManage } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, KeyValue, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Country, Money, Num, Time, Unknown } from "../../ui/values.tsx";
import { useParam, useWorkspace } from "../../url-state.ts";
import { Milliseconds, statusTone } from "../requests/columns.tsx";
import { Attempts } from "./attempts.tsx";
import { CapturedContent } from "./captured.tsx";
import { Cost } from "./cost.tsx";
import { Decision } from "./decision.tsx";
import type { RequestDetail } from "./detail.ts";
import { Failure } from "./failure.tsx";
import { Policies } from "./policies.tsx";

export function Screen() {
  const { at } = useWorkspace();
  const id = useParam("id");
  const args = { params: { id }, query: { content: "leave" as const } };
  // Captured content is excluded: loading it is audited.
  const shown = useManage("manageShowRequest", args);
  const request = shown.data;
  return (
    <>
      <p className="mb-2 text-xs" data-print="no">
        <Link to={at("requests")}>All requests</Link>
      </p>
      <PageHeader
        title={
          <span className="inline-flex max-w-full items-center gap-2">
            <UntrustedText text={id} mono className="text-lg" />
            <CopyButton text={id} label="Copy request ID" />
          </span>
        }
        mark={
          request !== undefined && <Badge tone={statusTone(request.status, request.error_code)}>{request.status}</Badge>
        }
        about={request !== undefined && <Time at={request.created_at} as="exact" />}
        actions={<ApiButton calls={[{ id: "manageShowRequest", args }]} />}
      />
      {shown.isPending && (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      )}
      {shown.error !== null && request === undefined && (
        <Card>
          <ErrorState
            error={shown.error}
            title={shown.error.status === 404 ? "Request not found" : undefined}
            {...(shown.error.status === 404 ? {} : { onRetry: () => void shown.refetch() })}
          >
            <LinkButton to={at("requests")}>View all requests</LinkButton>
          </ErrorState>
        </Card>
      )}
      {request !== undefined && <Detail request={request} />}
    </>
  );
}

function Detail({ request }: { readonly request: RequestDetail }) {
  const { usage, cost, currency } = request;
  return (
    <Stack>
      <Failure request={request} />
      <StatRow>
        <Stat
          label="Cost"
          value={request.own_key ? "Your key" : <Money amount={cost} currency={currency} as="price" />}
          note={request.own_key ? "Billed by the provider" : `Exactly ${cost ?? "0"} ${currency}`}
        />
        <Stat
          label="Tokens (in → out)"
          value={
            <>
              <Num value={usage.input_tokens} /> → <Num value={usage.output_tokens} />
            </>
          }
          {...(usage.input_tokens === null && usage.output_tokens === null
            ? {}
            : { note: usage.estimated ? "Counted by the gateway" : "Reported by the provider" })}
        />
        <Stat label="TTFB" value={<Milliseconds ms={request.ttfb_ms} />} />
        <Stat
          label="Total"
          value={<Milliseconds ms={request.total_ms} />}
          note={
            <>
              <Milliseconds ms={request.overhead_ms} /> in the gateway
            </>
          }
        />
      </StatRow>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <RequestCard request={request} />
        <ServedByCard request={request} />
      </div>
      <Attempts request={request} />
      <Decision request={request} />
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Cost request={request} />
        <Policies request={request} />
      </div>
      <CapturedContent request={request} />
    </Stack>
  );
}

function RequestCard({ request }: { readonly request: RequestDetail }) {
  const { at } = useWorkspace();
  const rows = [
    { name: "Requested model", value: <UntrustedText text={request.model_requested} wrap mono /> },
    { name: "Surface", value: request.streaming ? `${request.surface}, streaming` : request.surface },
    {
      name: "Key",
      value: (
        <Link to={at(`requests?key=${encodeURIComponent(request.key_id)}`)}>
          <UntrustedText text={request.key_name ?? request.key_id} wrap />
        </Link>
      ),
    },
    { name: "Member", value: <UntrustedText text={request.member} wrap /> },
    { name: "App", value: <UntrustedText text={request.app} wrap /> },
    { name: "Environment", value: request.environment },
    { name: "Client request ID", value: <UntrustedText text={request.client_request_id} wrap mono /> },
    ...(request.omitted.length === 0
      ? []
      : [{ name: "Omitted fields", value: <UntrustedText text={request.omitted.join(", ")} wrap mono /> }]),
  ];
  return (
    <Card title="Request">
      <KeyValue rows={rows} />
    </Card>
  );
}

function ServedByCard({ request }: { readonly request: RequestDetail }) {
  const countries = request.countries ?? [];
  const rows = [
    { name: "Model", value: <UntrustedText text={request.model} wrap mono /> },
    { name: "Provider", value: <UntrustedText text={request.provider} wrap /> },
    { name: "Endpoint", value: <UntrustedText text={request.endpoint} wrap mono /> },
    {
      name: "Level",
      value:
        request.endpoint === null ? (
          <Unknown />
        ) : (
          <LevelBadge level={request.level} isAttested={request.level_attested} />
        ),
    },
    {
      name: "Country",
      value:
        countries.length === 0 ? (
          <UntrustedText text={null} />
        ) : (
          <span className="flex flex-wrap gap-x-3 gap-y-1">
            {countries.map((code) => (
              <Country key={code} code={code} />
            ))}
          </span>
        ),
    },
    { name: "Router", value: <UntrustedText text={request.router} wrap mono /> },
    { name: "Upstream request ID", value: <UntrustedText text={request.upstream_id} wrap mono /> },
  ];
  return (
    <Card title="Served by">
      <KeyValue rows={rows} />
    </Card>
  );
}
