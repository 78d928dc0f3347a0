import { spanText } from "../../format/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { policyRequirements } from "../request/policies.tsx";
import type { Report } from "./report.ts";

type PolicyVersion = Report["policies"][number];

function EffectivePeriod({ from, until }: { readonly from: string; readonly until: string | null }) {
  return (
    <span>
      <Time at={from} as="short" /> – {until === null ? "now" : <Time at={until} as="short" />}
    </span>
  );
}

const POLICY_COLUMNS: readonly Column<PolicyVersion>[] = [
  {
    id: "whose",
    header: "Subject",
    cell: (row) =>
      row.subject === "workspace" ? (
        "Workspace"
      ) : (
        <UntrustedText text={`Key ${row.key_name ?? row.key_id}`} className="max-w-40" />
      ),
  },
  {
    id: "version",
    header: "Version",
    sortValue: (row) => row.version,
    align: "end",
    cell: (row) => <Num value={row.version} />,
  },
  {
    id: "time",
    header: "Effective",
    sortValue: (row) => row.in_force_from,
    cell: (row) => <EffectivePeriod from={row.in_force_from} until={row.in_force_until} />,
  },
  {
    id: "demands",
    header: "Requirements",
    className: "min-w-48",
    cell: (row) => <UntrustedText text={policyRequirements(row.policy).join("; ") || "No restrictions"} wrap />,
  },
  {
    id: "excluded",
    header: "Excluded endpoints",
    cell: (row) =>
      row.excluded.length === 0 ? (
        "None"
      ) : (
        <span className="grid gap-0.5">
          {row.excluded.map(({ rule, endpoints, providers }) => (
            <span key={rule} title={providers.join(", ")}>
              <Num value={endpoints} /> <span className="font-mono text-xs text-soft">{rule}</span>
            </span>
          ))}
        </span>
      ),
  },
  {
    id: "requests",
    header: "Requests",
    sortValue: (row) => row.requests,
    align: "end",
    cell: (row) => <Num value={row.requests} />,
  },
];

export function PolicyVersions({ report }: { readonly report: Report }) {
  return (
    <section className="grid gap-3">
      <h2 className="text-base">Policies</h2>
      <Table
        label="Policies"
        columns={POLICY_COLUMNS}
        rows={report.policies}
        keyOf={(row) => `${row.key_id} ${row.version}`}
        empty={<p className="px-5 py-4 text-soft">No policy versions in this period.</p>}
      />
    </section>
  );
}

export function PolicyRejections({ report }: { readonly report: Report }) {
  return (
    <Card title="Rejected by policy">
      {report.refused.length === 0 ? (
        <p className="text-soft">No requests were rejected by a policy.</p>
      ) : (
        <ul className="grid gap-2">
          {report.refused.map(({ policy_version, rule, requests }) => (
            <li key={`${policy_version} ${rule}`} className="flex flex-wrap items-baseline gap-x-3">
              <Num value={requests} className="font-semibold" />
              <span className="font-mono text-[0.8125rem]">{rule}</span>
              <span className="text-soft">
                {policy_version === null ? <Unknown /> : `policy version ${policy_version}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

export function Routers({ report }: { readonly report: Report }) {
  if (report.routers.length === 0) return null;
  return (
    <Card title="Routers">
      <KeyValue
        rows={report.routers.map(({ slug, version, in_force_from, in_force_until, requests }) => ({
          name: `${slug}, version ${version}`,
          value: (
            <>
              <EffectivePeriod from={in_force_from} until={in_force_until} />, <Num value={requests} unit="requests" />
            </>
          ),
        }))}
      />
    </Card>
  );
}

/** Capture windows and stored responses. */
export function StoredContent({ report }: { readonly report: Report }) {
  const { capture_windows: windows, stored_responses: stored } = report;
  return (
    <Card title="Stored content">
      <div className="grid gap-3">
        <p>
          {stored.allowed
            ? `Responses sent with store: true are kept for ${spanText(stored.retention)}.`
            : "Stored responses are disabled: the policy requires zero data retention."}
        </p>
        {windows.length === 0 ? (
          <p className="text-soft">No capture windows in this period.</p>
        ) : (
          <ul className="grid gap-2">
            {windows.map((window) => (
              <li key={window.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
                <EffectivePeriod from={window.opened_at} until={window.closed_at ?? window.closes_at} />
                <span>
                  <Num value={window.items} /> {window.items === 1 ? "request" : "requests"}
                </span>
                <span className="text-soft">
                  by <UntrustedText text={window.opened_by} />
                </span>
                {window.reason !== null && <UntrustedText text={window.reason} wrap className="text-soft" />}
                {window.purged_at !== null && <Badge tone="info">Purged</Badge>}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}
