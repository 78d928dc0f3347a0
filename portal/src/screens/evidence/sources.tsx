import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Country, Time, Unknown } from "../../ui/values.tsx";
import { StatusBadge } from "../catalogue/evidence-list.tsx";
import type { Report } from "./report.ts";

type Evidence = Report["evidence"][number];
type Source = NonNullable<Evidence["sources"]>[number];

/** The sources behind the level of each serving endpoint. */
export function Sources({ report }: { readonly report: Report }) {
  return (
    <section className="grid gap-3">
      <h2 className="text-base">Sources</h2>
      {report.evidence.length === 0 && <p className="text-soft">No requests were served in this period.</p>}
      {report.evidence.map((one) => (
        <Endpoint key={one.endpoint} evidence={one} />
      ))}
    </section>
  );
}

function Endpoint({ evidence }: { readonly evidence: Evidence }) {
  const levels = evidence.recorded_levels.map((level) => <LevelBadge key={level ?? ""} level={level} />);
  const served = { name: "Level when served", value: <span className="inline-flex gap-1.5">{levels}</span> };
  const rows =
    evidence.level !== undefined
      ? [
          served,
          {
            name: "Current level",
            value: (
              <>
                <LevelBadge level={evidence.level} /> {evidence.reason}; confidence {evidence.confidence}
              </>
            ),
          },
          { name: "Operated by", value: <Operator evidence={evidence} /> },
          { name: "Countries", value: <ComputeCountries evidence={evidence} /> },
          { name: "Zero data retention", value: evidence.zero_data_retention ?? <Unknown /> },
          { name: "Trains on data", value: evidence.trains_on_data ?? <Unknown /> },
          ...(evidence.attestations ?? []).map((one) => ({
            name: "Attestation",
            value: (
              <>
                <LevelBadge level={one.level} /> {one.name}, <Time at={one.at} />
                {one.ended_at !== null && (
                  <>
                    {" until "}
                    <Time at={one.ended_at} />
                  </>
                )}
                : {one.reason}
              </>
            ),
          })),
        ]
      : [served, { name: "Status", value: evidence.own_node === true ? REMOVED_NODE : NOT_LISTED }];
  return (
    <Card title={<UntrustedText text={evidence.endpoint} mono wrap />}>
      <div className="grid gap-4">
        <KeyValue rows={rows} />
        {evidence.sources !== undefined && evidence.sources.length > 0 && (
          <ul className="grid gap-2 border-t pt-3">
            {evidence.sources.map((source) => (
              <SourceLine key={`${source.claim} ${source.url}`} source={source} />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

const NOT_LISTED = "No longer in the catalogue";
const REMOVED_NODE = "A node of this workspace that has been removed";

function Operator({ evidence }: { readonly evidence: Evidence }) {
  return (
    <span className="inline-flex flex-wrap items-baseline gap-x-3">
      {evidence.operator ?? evidence.provider}
      {evidence.seat_country && <Country code={evidence.seat_country} />}
    </span>
  );
}

function ComputeCountries({ evidence }: { readonly evidence: Evidence }) {
  const countries = evidence.countries ?? [];
  if (countries.length === 0) return "Unknown";
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-1">
      {countries.map((code) => (
        <Country key={code} code={code} />
      ))}
      {evidence.countries_kind === "upper_bound" && <span className="text-soft">At most these</span>}
    </span>
  );
}

function SourceLine({ source }: { readonly source: Source }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
      <StatusBadge status={source.status} />
      <span className="min-w-0">{source.claim}</span>
      <span className="text-xs text-soft">{source.kind === "primary" ? "Provider source" : "Third-party source"}</span>
      <SourceLink url={source.url} />
      <span className="text-xs whitespace-nowrap text-soft">Read {source.read}</span>
      {source.stale && <Badge tone="warn">Stale</Badge>}
      {source.missing !== null && <span className="basis-full text-xs text-soft">Missing: {source.missing}</span>}
    </li>
  );
}

/** Only HTTP URLs become links. */
function SourceLink({ url }: { readonly url: string }) {
  if (!/^https?:\/\//.test(url)) return <UntrustedText text={url} wrap mono />;
  return (
    <ExternalLink href={url} target="_blank" className="min-w-0 [overflow-wrap:anywhere]">
      {url.replace(/^https?:\/\//, "")}
    </ExternalLink>
  );
}
