import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { Time } from "../../ui/values.tsx";
import type { PublicEndpointDetail } from "./catalogue.ts";

export type Statement = PublicEndpointDetail["evidence"][number];
type Source = Pick<Statement, "status" | "url" | "see_also" | "kind" | "read" | "missing" | "stale">;
type Criterion = PublicEndpointDetail["criteria"][number];

const STATUSES: Readonly<
  Record<Source["status"], { readonly label: string; readonly tone: Tone; readonly title: string }>
> = {
  verified: { label: "Verified", tone: "good", title: "Stated on the provider's own page" },
  claimed: { label: "Claimed", tone: "neutral", title: "Stated elsewhere, or not for this service" },
  doubtful: { label: "Doubtful", tone: "warn", title: "Sources disagree or are incomplete" },
};

export function StatusBadge({ status }: { readonly status: Source["status"] }) {
  const { label, tone, title } = STATUSES[status];
  return (
    <Badge tone={tone} title={title}>
      {label}
    </Badge>
  );
}

/** Names between backticks are code. */
function Claim({ text }: { readonly text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={part} className="font-mono text-[0.9em]">
        {part}
      </code>
    ),
  );
}

/** Status, source and date on one line, and what is missing on the next. */
export function SourceLine({ source }: { readonly source: Source }) {
  const pages = [source.url, ...source.see_also];
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
        <StatusBadge status={source.status} />
        <span>{source.kind === "primary" ? "Provider source" : "Third-party source"}</span>
        {pages.map((url) => (
          <ExternalLink key={url} href={url} target="_blank" title={url} className="[overflow-wrap:anywhere]">
            {pageName(url)}
          </ExternalLink>
        ))}
        <span className="whitespace-nowrap">
          Read <Time at={source.read} as="day" />
        </span>
        {source.stale && (
          <Badge tone="warn" title="Read more than 180 days ago">
            Stale
          </Badge>
        )}
      </p>
      {source.missing !== null && <p className="text-xs text-soft text-pretty">Missing: {source.missing}</p>}
    </>
  );
}

/** The host, or the repository with the number of an issue. */
function pageName(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    if (host !== "github.com") return host.replace(/^www\./, "");
    const [owner = "", repository = "", kind, number] = pathname.split("/").slice(1);
    return kind === "issues" ? `${owner}/${repository}#${number}` : `${owner}/${repository}`;
  } catch {
    return url;
  }
}

const SUBJECTS: Readonly<Record<Statement["subject"], string>> = {
  location: "Location",
  operator: "Operator",
  certification: "Certification",
  ownership: "Ownership",
  infrastructure: "Infrastructure",
  retention: "Data retention",
  training: "Training",
  price: "Price",
  availability: "Availability",
  interface: "API behaviour",
  limits: "Limits",
  licence: "Licence",
  release: "Release",
};

/** Statements grouped by subject. */
export function EvidenceList({ evidence }: { readonly evidence: readonly Statement[] }) {
  if (evidence.length === 0) return <p className="text-soft">No evidence on record.</p>;
  const groups = [...Map.groupBy(evidence, ({ subject }) => subject)];
  return (
    <dl className="grid gap-4">
      {groups.map(([subject, statements]) => (
        <div key={subject} className="grid gap-1.5">
          <dt className="text-xs font-medium text-soft">{SUBJECTS[subject]}</dt>
          {statements.map((one) => (
            <dd key={`${one.url} ${one.claim}`} className="grid gap-1 border-l-2 pl-3">
              <p className="text-pretty [overflow-wrap:anywhere]">
                <Claim text={one.claim} />
              </p>
              <SourceLine source={one} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

const CRITERIA: Readonly<Record<Criterion["criterion"], string>> = {
  location: "Inference in the EEA only",
  operator: "Operator in the EEA",
  certification: "Certified",
  ownership: "Owned in the EEA",
  infrastructure: "EEA-controlled infrastructure",
};

const OUTCOMES: Readonly<
  Record<Criterion["met"], { readonly icon: IconName; readonly classes: string; readonly label: string }>
> = {
  yes: { icon: "check", classes: "text-good", label: "Met" },
  no: { icon: "close", classes: "text-bad", label: "Not met" },
  unknown: { icon: "help", classes: "text-soft", label: "Unknown" },
};

/** The requirements of the levels, with the statement behind each. */
export function LevelCriteria({ criteria }: { readonly criteria: readonly Criterion[] }) {
  return (
    <ul className="grid gap-3">
      {criteria.map(({ criterion, level, met, fact, evidence }) => {
        const { icon, classes, label } = OUTCOMES[met];
        return (
          <li key={criterion} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 gap-y-1">
            <Icon name={icon} className={classes} />
            <p className="flex flex-wrap items-center gap-x-2">
              <span className="font-medium">{CRITERIA[criterion]}</span>
              <span className="text-xs text-soft">{label}</span>
              <LevelBadge level={level} />
            </p>
            <div className="col-start-2 grid gap-1">
              {evidence === null ? (
                <>
                  {fact !== null && <p className="text-pretty text-soft">{fact}</p>}
                  <p className="text-xs text-soft">No source on record.</p>
                </>
              ) : (
                <>
                  <p className="text-pretty text-soft">
                    <Claim text={evidence.claim} />
                  </p>
                  <SourceLine source={evidence} />
                </>
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
