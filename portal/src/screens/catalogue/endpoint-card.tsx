import { AvailabilityBadge } from "../../ui/availability-badge.tsx";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Link } from "../../ui/link.tsx";
import { Num } from "../../ui/values.tsx";
import { dialectName, featureName } from "./capabilities.ts";
import { modelPath, type PublicEndpoint, type PublicEndpointDetail, providerPath } from "./catalogue.ts";
import { EvidenceList, LevelCriteria } from "./evidence-list.tsx";
import { type Measured, MeasuredFacts } from "./measurements.tsx";
import { Countries, DataHandling, MainPrice, PriceDetails } from "./parts.tsx";
import { PriceHistory } from "./price-history.tsx";

type Props = {
  readonly endpoint: PublicEndpointDetail;
  /** The page that shows the card; the card links to the other one. */
  readonly page: "model" | "provider";
  readonly isOpen?: boolean | undefined;
  /** Absent: signed out, or still loading. */
  readonly measured?: Measured | undefined;
};

export function EndpointCard({ endpoint, page, isOpen = false, measured }: Props) {
  const hasStale = endpoint.criteria.some(({ evidence }) => evidence?.stale === true);
  return (
    <details open={isOpen} className="group border-b last:border-0">
      <summary className="grid cursor-pointer list-none grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 px-4 py-3 outline-offset-[-2px] hover:bg-hover/60 [&::-webkit-details-marker]:hidden">
        <Icon name="right" className="text-soft transition-transform group-open:rotate-90" />
        <span className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <span className="font-medium break-all">{page === "model" ? endpoint.provider : endpoint.model}</span>
          <span className="text-soft">{endpoint.region}</span>
          <LevelBadge level={endpoint.level} />
          <Countries codes={endpoint.countries} />
          {endpoint.status !== "active" && <Badge tone="warn">{endpoint.status}</Badge>}
          {endpoint.sandbox && <Badge tone="info">Simulated</Badge>}
          {hasStale && <Badge tone="warn">Stale evidence</Badge>}
          <AvailabilityBadge of={endpoint} />
        </span>
        <span className="figures text-right">
          <MainPrice price={endpoint.price} />
        </span>
      </summary>
      <div className="grid gap-6 border-t bg-paper/60 px-4 py-4 sm:px-11 lg:grid-cols-2">
        <Part title={endpoint.level === "UNCLASSIFIED" ? "Why unclassified" : `Evidence for ${endpoint.level}`}>
          <p className="text-pretty">{endpoint.level_reason}.</p>
          {!endpoint.sandbox && (
            <>
              <p className="text-xs text-soft">Evidence confidence: {endpoint.level_confidence}</p>
              <LevelCriteria criteria={endpoint.criteria} />
            </>
          )}
        </Part>
        <div className="grid content-start gap-5">
          <Facts endpoint={endpoint} page={page} />
          <Part title="Price">
            {endpoint.price === null ? (
              <p className="text-soft">Price unknown. This endpoint can't be called.</p>
            ) : (
              <PriceDetails price={endpoint.price} />
            )}
          </Part>
          <Part title="Price history">
            <PriceHistory endpoint={endpoint} />
          </Part>
          {measured !== undefined && (
            <Part title="Measured">
              <MeasuredFacts measured={measured} endpoint={endpoint.id} />
            </Part>
          )}
          {endpoint.evidence.length > 0 && (
            <Part title="Details">
              <EvidenceList evidence={endpoint.evidence} />
            </Part>
          )}
        </div>
      </div>
    </details>
  );
}

function Facts({ endpoint, page }: Pick<Props, "endpoint" | "page">) {
  const features = Object.entries(endpoint.features);
  return (
    <div className="grid content-start gap-5">
      {endpoint.unavailable != null && <p className="text-warn text-pretty">{endpoint.unavailable.reason}</p>}
      <Part title="Location">
        <Countries codes={endpoint.countries} all />
        <p className="text-xs text-soft">{locationText(endpoint)}</p>
      </Part>
      <Part title="Data handling">
        <DataHandling of={endpoint} />
      </Part>
      <Part title="Capabilities">
        <p>
          Context <Num value={endpoint.context_tokens} /> tokens, max output tokens{" "}
          <Num value={endpoint.max_output_tokens} />
        </p>
        <p className="flex flex-wrap gap-1">
          {features.map(([name, has]) => (
            <Badge key={name} tone={has === true ? "good" : "neutral"}>
              <span className={has === false ? "line-through" : undefined}>{featureName(name)}</span>
              {has === null && " ?"}
              <span className="sr-only">{has === null ? "unknown" : has ? "" : ", not supported"}</span>
            </Badge>
          ))}
        </p>
        <p className="text-xs text-soft">
          Provider APIs:{" "}
          {[...endpoint.dialects.map(dialectName), ...(endpoint.responses_api ? ["Responses"] : [])].join(", ") ||
            "not listed"}
        </p>
      </Part>
      <p className="flex flex-wrap items-center gap-x-3 text-xs">
        <Link to={page === "model" ? providerPath(endpoint.provider) : modelPath(endpoint.model)}>
          {page === "model" ? "View provider" : "View model"}
        </Link>
        <code className="font-mono break-all text-soft">{endpoint.id}</code>
      </p>
    </div>
  );
}

function locationText({ countries_kind, location_committed }: PublicEndpoint): string {
  const kind = {
    exact: "Exact countries",
    upper_bound: "Region only, no specific countries",
    unknown: "Exact countries unknown",
  }[countries_kind];
  const promise =
    location_committed === null
      ? ""
      : location_committed
        ? ", committed by the provider"
        : ", not committed by the provider";
  return `${kind}${promise}.`;
}

function Part({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <section className="grid content-start gap-1.5">
      <h3 className="label-mark">{title}</h3>
      {children}
    </section>
  );
}
