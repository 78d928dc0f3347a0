import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Link } from "../../ui/link.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { modelPath, type PublicEndpoint, providerPath, type Verdict } from "./catalogue.ts";
import { Countries, DataHandling, EvidenceList, MainPrice, PriceDetails } from "./parts.tsx";

type Props = {
  readonly endpoint: PublicEndpoint;
  /** Absent: signed out, or still loading. */
  readonly verdict?: Verdict | undefined;
  /** The page that shows the card; the card links to the other one. */
  readonly page: "model" | "provider";
  readonly isOpen?: boolean | undefined;
};

export function EndpointCard({ endpoint, verdict, page, isOpen = false }: Props) {
  const hasStale = endpoint.evidence.some(({ stale }) => stale);
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
          {verdict !== undefined && <PolicyBadge verdict={verdict} />}
        </span>
        <span className="figures text-right">
          <MainPrice price={endpoint.price} />
        </span>
      </summary>
      <div className="grid gap-6 border-t bg-paper/60 px-4 py-4 sm:px-11 lg:grid-cols-2">
        <Facts endpoint={endpoint} verdict={verdict} page={page} />
        <div className="grid content-start gap-5">
          <Part title="Price">
            {endpoint.price === null ? (
              <p className="text-soft">Price unknown. This endpoint can't be called.</p>
            ) : (
              <PriceDetails price={endpoint.price} />
            )}
            {endpoint.upcoming_prices.map((price) => (
              <p key={price.from} className="text-xs text-warn">
                A new price applies from <Time at={price.from} as="day" />.
              </p>
            ))}
          </Part>
          <Part title="Evidence">
            <EvidenceList evidence={endpoint.evidence} />
          </Part>
        </div>
      </div>
    </details>
  );
}

function PolicyBadge({ verdict }: { readonly verdict: Verdict }) {
  return verdict.after ? (
    <Badge tone="good">Allowed by your policy</Badge>
  ) : (
    <Badge tone="bad" title={verdict.reason ?? undefined}>
      Excluded by your policy
    </Badge>
  );
}

function Facts({ endpoint, verdict, page }: Pick<Props, "endpoint" | "verdict" | "page">) {
  const features = Object.entries(endpoint.features);
  return (
    <div className="grid content-start gap-5">
      {verdict !== undefined && !verdict.after && verdict.reason !== null && (
        <p className="text-bad text-pretty">{verdict.reason}</p>
      )}
      <Part title={`Reason for ${endpoint.level}`}>
        <p className="text-pretty">{endpoint.level_reason}</p>
        <p className="text-xs text-soft">Evidence confidence: {endpoint.level_confidence}</p>
      </Part>
      <Part title="Location">
        <Countries codes={endpoint.countries} all />
        <p className="text-xs text-soft">{locationText(endpoint)}</p>
      </Part>
      <Part title="Data handling">
        <DataHandling of={endpoint} />
      </Part>
      <Part title="Capabilities">
        <p>
          Context <Num value={endpoint.context_tokens} /> tokens, output <Num value={endpoint.max_output_tokens} />{" "}
          tokens
        </p>
        <p className="flex flex-wrap gap-1">
          {features.map(([name, has]) => (
            <Badge key={name} tone={has === true ? "good" : "neutral"}>
              <span className={has === false ? "line-through" : undefined}>{name.replaceAll("_", " ")}</span>
              {has === null && " ?"}
              <span className="sr-only">{has === null ? "unknown" : has ? "" : ", not supported"}</span>
            </Badge>
          ))}
        </p>
        <p className="text-xs text-soft">
          APIs: {[...endpoint.dialects, ...(endpoint.responses_api ? ["responses"] : [])].join(", ")}
        </p>
      </Part>
      {endpoint.note !== null && <p className="text-xs text-soft text-pretty">{endpoint.note}</p>}
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
