import { useEffect } from "react";
import { usePublic } from "../../api/hooks.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Input, Select } from "../../ui/field.tsx";
import { Callout, Card, KeyValue, PageHeader, Stack } from "../../ui/layout.tsx";
import { ExternalLink, Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Country } from "../../ui/values.tsx";
import { useParam, useSearchParams } from "../../url-state.ts";
import { type PublicProviderDetail, useCatalogueContext, useCurrencies, withAvailability } from "./catalogue.ts";
import { EndpointCard } from "./endpoint-card.tsx";
import { EvidenceList } from "./evidence-list.tsx";
import { useMeasurements } from "./measurements.tsx";
import { LISTED_CURRENCY } from "./model-filters.tsx";
import { Countries, DataHandling, Levels, PublicApiButton } from "./parts.tsx";

export function Screen() {
  const slug = useParam("slug");
  const { get } = useSearchParams();
  const context = useCatalogueContext();
  const currency = get("currency", context.currency ?? "EUR");
  const path = `/v1/public/providers/${encodeURIComponent(slug)}${currency === LISTED_CURRENCY ? "" : `?currency=${currency}`}`;
  const provider = usePublic<PublicProviderDetail>(withAvailability(path, context.workspace), {
    keepPrevious: true,
    enabled: slug !== "",
  });
  const name = provider.data?.name;
  useEffect(() => {
    if (name !== undefined) document.title = `${name} · Inference Gateway`;
  }, [name]);
  if (provider.error !== null && provider.data === undefined)
    return (
      <ErrorState
        error={provider.error}
        title={provider.error.status === 404 ? "Provider not found" : undefined}
        {...(provider.error.status === 404 ? {} : { onRetry: () => void provider.refetch() })}
      >
        <LinkButton to="/app/providers">All providers</LinkButton>
      </ErrorState>
    );
  if (provider.data?.slug !== slug) return <SkeletonLines count={8} />;
  const { data } = provider;
  const staleCount = data.evidence.filter(({ stale }) => stale).length;
  return (
    <>
      <PageHeader
        title={data.name}
        mark={
          <span className="flex flex-wrap items-center gap-1.5">
            {data.sandbox && <Badge tone="info">Simulated</Badge>}
            <Levels levels={data.levels} />
          </span>
        }
        about={data.operator === data.name ? undefined : data.operator}
        actions={
          <>
            <PublicApiButton paths={[{ path, description: "Show this provider and its endpoints" }]} />
            <LinkButton to={`/app/models?provider=${encodeURIComponent(slug)}`}>View models</LinkButton>
          </>
        }
      />
      <Stack>
        {staleCount > 0 && (
          <Callout tone="warn" title="Stale evidence">
            {staleCount} of {data.evidence.length} sources were read more than 180 days ago and need to be reviewed.
          </Callout>
        )}
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <AboutProvider provider={data} />
          <Card title="Evidence" about={`Confidence: ${data.level_confidence}. Rates the evidence, not the provider.`}>
            <EvidenceList evidence={data.evidence} />
          </Card>
        </div>
        <Regions provider={data} />
        <Endpoints provider={data} currency={currency} workspace={context.workspace} />
      </Stack>
    </>
  );
}

const triStateText = (value: "yes" | "no" | "unknown") => ({ yes: "Yes", no: "No", unknown: "Unknown" })[value];

function AboutProvider({ provider }: { readonly provider: PublicProviderDetail }) {
  const rows = [
    { name: "Operator", value: provider.operator },
    { name: "Headquarters", value: <Country code={provider.seat_country} /> },
    { name: "Owner country", value: <Country code={provider.owner_country} /> },
    { name: "Operated in the EEA", value: provider.eea_operated ? "Yes" : "No" },
    { name: "Owned in the EEA", value: triStateText(provider.owner_eea) },
    { name: "EEA-controlled infrastructure", value: triStateText(provider.infrastructure_eea_controlled) },
    ...(provider.ownership === null ? [] : [{ name: "Ownership", value: provider.ownership }]),
    {
      name: "Certifications",
      value:
        provider.certifications.length === 0 ? (
          <span className="text-soft">None recorded</span>
        ) : (
          <span className="flex flex-wrap gap-1">
            {provider.certifications.map((one) => (
              <Badge key={one}>{one}</Badge>
            ))}
          </span>
        ),
    },
    { name: "Data handling", value: <DataHandling of={provider} /> },
    ...(provider.data_residency === null ? [] : [{ name: "Data residency", value: provider.data_residency }]),
    { name: "Price currency", value: provider.currency },
  ];
  const links = [
    { href: provider.docs_url, text: "Documentation" },
    { href: provider.pricing_url, text: "Price list" },
  ];
  return (
    <Card title="About">
      <div className="grid gap-4">
        <KeyValue rows={rows} />
        <p className="flex gap-4 text-xs">
          {links.map(
            ({ href, text }) =>
              href !== null && (
                <ExternalLink key={text} href={href} target="_blank">
                  {text}
                </ExternalLink>
              ),
          )}
        </p>
      </div>
    </Card>
  );
}

function Regions({ provider }: { readonly provider: PublicProviderDetail }) {
  return (
    <Card title="Regions" about={<Link to="/app/sovereignty">About sovereignty levels</Link>} flush>
      <ul>
        {provider.regions.map((region) => (
          <li key={region.id} className="grid gap-1.5 border-b px-5 py-3.5 last:border-0">
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="font-medium">{region.name}</span>
              <LevelBadge level={region.level} />
              <Countries codes={region.countries} />
              {region.location_committed === true && <Badge tone="good">Committed</Badge>}
              {region.countries_kind === "upper_bound" && <Badge>Region only</Badge>}
              {region.countries_kind === "unknown" && region.countries.length > 0 && (
                <Badge>Exact countries unknown</Badge>
              )}
            </p>
            <p className="text-soft text-pretty">{region.level_reason}.</p>
            {region.level_primary_evidence_only !== null && region.level_primary_evidence_only !== region.level && (
              <p className="text-xs text-soft">
                Based on provider sources alone: {region.level_primary_evidence_only}.
              </p>
            )}
            {region.level_if_ch_accepted !== null && region.level_if_ch_accepted !== region.level && (
              <p className="text-xs text-soft">If Switzerland counted as EEA: {region.level_if_ch_accepted}.</p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

const SHOWN_MAX = 60;

function Endpoints({
  provider,
  currency,
  workspace,
}: {
  readonly provider: PublicProviderDetail;
  readonly currency: string;
  readonly workspace: string;
}) {
  const { get, set } = useSearchParams();
  const measured = useMeasurements({ provider: provider.slug }, workspace !== "");
  const searchTerms = get("q").toLowerCase().split(/\s+/);
  const currencies = [
    { value: LISTED_CURRENCY, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const found = provider.endpoints.filter(({ id }) => searchTerms.every((word) => id.toLowerCase().includes(word)));
  return (
    <Card
      title={`${provider.model_count} ${provider.model_count === 1 ? "model" : "models"}`}
      flush
      actions={
        <>
          <Input
            type="search"
            aria-label="Search models"
            placeholder="Search models"
            value={get("q")}
            onChange={(event) => set({ q: event.target.value })}
            className="max-w-52"
          />
          <Select
            aria-label="Currency"
            value={currency}
            options={currencies}
            onChange={(event) => set({ currency: event.target.value })}
            className="w-28!"
          />
        </>
      }
    >
      {found.slice(0, SHOWN_MAX).map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} page="provider" measured={measured} />
      ))}
      {found.length === 0 && <p className="px-5 py-4 text-soft">No models match.</p>}
      {found.length > SHOWN_MAX && (
        <p className="px-5 py-3 text-soft">{found.length - SHOWN_MAX} more. Search to narrow the list.</p>
      )}
    </Card>
  );
}
