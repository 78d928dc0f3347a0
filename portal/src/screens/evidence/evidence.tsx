import { urlOf } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button, buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Callout, Card, PageHeader, Stack, Stat, StatRow, Toolbar } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Money, Num, Time } from "../../ui/values.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { PERIODS, type Span, usePeriod } from "./period.ts";
import { PolicyRejections, PolicyVersions, Routers, StoredContent } from "./policy-versions.tsx";
import type { Report } from "./report.ts";
import { Groups, ServedEndpoints } from "./served-endpoints.tsx";
import { Sources } from "./sources.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const span = usePeriod();
  const args = { params: { workspace }, query: span };
  const shown = useManage("manageShowEvidence", args, { keepPrevious: true });
  const report = shown.data;
  return (
    <>
      <PageHeader
        title="Evidence report"
        about="Which endpoints served this workspace, where and under which policy, with sources."
        actions={
          <>
            <ApiButton calls={[{ id: "manageShowEvidence", args }]} />
            <Downloads span={span} />
          </>
        }
      />
      <Period />
      {shown.isPending && (
        <Card>
          <SkeletonLines count={9} />
        </Card>
      )}
      {shown.error !== null && (
        <Card>
          <ErrorState error={shown.error} onRetry={() => void shown.refetch()} />
        </Card>
      )}
      {report !== undefined && shown.error === null && <Page report={report} />}
    </>
  );
}

function Downloads({ span }: { readonly span: Span }) {
  const { workspace } = useWorkspace();
  const href = (format: "json" | "html") =>
    urlOf("manageShowEvidence", { params: { workspace }, query: { ...span, format } });
  return (
    <>
      <a href={href("json")} download={`${workspace}-evidence.json`} className={buttonClass("plain")}>
        <Icon name="download" />
        JSON
      </a>
      <a href={href("html")} download={`${workspace}-evidence.html`} className={buttonClass("plain")}>
        <Icon name="download" />
        HTML
      </a>
      <Button variant="primary" icon="printer" onClick={() => window.print()}>
        Print
      </Button>
    </>
  );
}

function Period() {
  const { get, set } = useSearchParams();
  const isCustom = get("period") === "custom";
  return (
    <div data-print="no">
      <Toolbar>
        <Field label="Period" className="w-44">
          <Select
            value={get("period")}
            options={PERIODS}
            onChange={(event) => set({ period: event.target.value, from: null, to: null })}
          />
        </Field>
        {isCustom &&
          (["from", "to"] as const).map((name) => (
            <Field key={name} label={name === "from" ? "First day" : "Last day"} className="w-44">
              <Input type="date" value={get(name)} onChange={(event) => set({ [name]: event.target.value })} />
            </Field>
          ))}
      </Toolbar>
    </div>
  );
}

function Page({ report }: { readonly report: Report }) {
  const { at } = useWorkspace();
  const { totals, period } = report;
  // Partially served requests count as served and as failed; the note explains the overlap.
  const partiallyServed = totals.failed_in_part;
  const isCut = report.log_begins_at !== null && report.log_begins_at > period.from;
  if (totals.requests === 0)
    return (
      <Card>
        <EmptyState icon="seal" title="No requests in this period" hint="Choose another period or send a request.">
          <LinkButton to={at("connect")}>Connect client</LinkButton>
        </EmptyState>
      </Card>
    );
  return (
    <Stack>
      <p className="text-soft">
        <strong className="text-ink">{report.workspace.name}</strong>, <Time at={period.from} as="short" /> –{" "}
        <Time at={period.to} as="short" />. Generated <Time at={report.generated_at} as="exact" /> from catalogue{" "}
        <span className="font-mono text-xs">{report.catalogue.version.slice(0, 12)}</span>.
      </p>
      {isCut && (
        <Callout tone="info">
          The log starts at <Time at={report.log_begins_at} as="short" />. Earlier requests are not included.
        </Callout>
      )}
      <StatRow>
        <Stat label="Requests" value={<Num value={totals.requests} />} />
        <Stat
          label="Served"
          value={<Num value={totals.served} />}
          {...(totals.repeated > 0 ? { note: `${totals.repeated.toLocaleString()} more were idempotent replays` } : {})}
        />
        <Stat
          label="Rejected by policy"
          value={<Num value={totals.refused_by_policy} />}
          {...(totals.refused_by_policy > 0 ? { tone: "warn" as const } : {})}
        />
        <Stat
          label="Failed"
          value={<Num value={totals.failed} />}
          {...(partiallyServed > 0 ? { note: `${partiallyServed.toLocaleString()} partially served` } : {})}
        />
        <Stat label="Cost" value={<Money amount={totals.cost} currency={totals.currency} />} />
      </StatRow>
      <div className="grid items-start gap-5 lg:grid-cols-3">
        <Groups title="By level" kind="level" rows={report.by_level} />
        <Groups title="By country" kind="country" rows={report.by_country} />
        <Groups title="By provider" kind="provider" rows={report.by_provider} />
      </div>
      <ServedEndpoints report={report} />
      <PolicyVersions report={report} />
      <PolicyRejections report={report} />
      <Routers report={report} />
      <Sources report={report} />
      <StoredContent report={report} />
    </Stack>
  );
}
