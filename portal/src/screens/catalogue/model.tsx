import { useEffect } from "react";
import { usePublic } from "../../api/hooks.ts";
import { AvailabilityBadge } from "../../ui/availability-badge.tsx";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Select } from "../../ui/field.tsx";
import { Callout, Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { ExternalLink, Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Money, Num } from "../../ui/values.tsx";
import { pathIn, useParam, useSearchParam, useSearchParams } from "../../url-state.ts";
import { AvailabilityAction } from "./availability.tsx";
import { capabilityName, distinctCapabilities } from "./capabilities.ts";
import {
  modelDetailPath,
  type PublicEndpointDetail,
  type PublicModel,
  type PublicModelDetail,
  useCapabilities,
  useCatalogueContext,
  useCurrencies,
  withAvailability,
} from "./catalogue.ts";
import { EndpointCard } from "./endpoint-card.tsx";
import { EvidenceList } from "./evidence-list.tsx";
import { useMeasurements } from "./measurements.tsx";
import { ModelCode } from "./model-code.tsx";
import { LISTED_CURRENCY } from "./model-filters.tsx";
import { Levels, PublicApiButton } from "./parts.tsx";
import { mainUnits, sortAmount } from "./prices.ts";

export function Screen() {
  const [creator, modelName] = [useParam("creator"), useParam("name")];
  const id = creator === "" ? "" : `${creator}/${modelName}`;
  const { get } = useSearchParams();
  const context = useCatalogueContext();
  const currency = get("currency", context.currency ?? "EUR");
  const path = `${modelDetailPath(id)}${currency === LISTED_CURRENCY ? "" : `?currency=${currency}`}`;
  const model = usePublic<PublicModelDetail>(withAvailability(path, context.workspace), {
    keepPrevious: true,
    enabled: id !== "",
  });
  const name = model.data?.name;
  useEffect(() => {
    if (name !== undefined) document.title = `${name} · Inference Gateway`;
  }, [name]);
  if (model.error !== null && model.data === undefined)
    return (
      <ErrorState
        error={model.error}
        title={model.error.status === 404 ? "Model not found" : undefined}
        {...(model.error.status === 404 ? {} : { onRetry: () => void model.refetch() })}
      >
        <LinkButton to="/app/models">All models</LinkButton>
      </ErrorState>
    );
  // The previous response is kept while the currency changes, but not that of another model.
  if (model.data?.id !== id) return <SkeletonLines count={8} />;
  return <Page model={model.data} path={path} currency={currency} workspace={context.workspace} />;
}

type PageProps = {
  readonly model: PublicModelDetail;
  readonly path: string;
  readonly currency: string;
  readonly workspace: string;
};

function Page({ model, path, currency, workspace }: PageProps) {
  return (
    <>
      <PageHeader
        title={model.name}
        mark={
          <span className="flex flex-wrap items-center gap-1.5">
            {model.sandbox && <Badge tone="info">Simulated</Badge>}
            {model.open_weights === true && <Badge>Open weights</Badge>}
            <Levels levels={model.levels} />
            <AvailabilityBadge of={model} />
          </span>
        }
        about={
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <code className="font-mono break-all">{model.id}</code>
            <CopyButton text={model.id} label="Copy model ID" />
            <span>
              by <Link to={`/app/models?creator=${encodeURIComponent(model.creator)}`}>{model.creator_name}</Link>
            </span>
          </span>
        }
        actions={
          <>
            <PublicApiButton paths={[{ path, description: "Show this model and its endpoints" }]} />
            <LinkButton to={`/app/models/compare?models=${encodeURIComponent(model.id)}`}>Compare</LinkButton>
            {model.available === false ? (
              <AvailabilityAction model={model} workspace={workspace} />
            ) : (
              <LinkButton to={playgroundPath(model, workspace)} variant="primary" icon="play">
                {workspace === "" ? "Sign in to try" : "Try in playground"}
              </LinkButton>
            )}
          </>
        }
      />
      <Stack>
        <StatRow>
          <Stat label="Context" value={<Num value={model.context_tokens} compact />} note="tokens" />
          <Stat label="Max output tokens" value={<Num value={model.max_output_tokens} compact />} note="tokens" />
          <LowestPrice price={model.lowest_price} />
          <Stat
            label="Quality"
            value={<Num value={model.quality?.score} />}
            note={model.quality === null ? "No score yet" : qualityNote(model.quality)}
          />
          <Stat
            label="Released"
            value={model.release_date ?? "–"}
            note={model.knowledge_cutoff === null ? undefined : `Knowledge cutoff ${model.knowledge_cutoff}`}
          />
        </StatRow>
        {model.available === false && <Unavailable model={model} workspace={workspace} />}
        <div className="grid items-start gap-5 xl:grid-cols-2">
          <About model={model} />
          <ModelCode model={model} />
        </div>
        <Endpoints model={model} currency={currency} workspace={workspace} />
      </Stack>
    </>
  );
}

function qualityNote({ source, release, estimated }: NonNullable<PublicModel["quality"]>): string {
  const name = source === "livebench" ? "LiveBench" : source;
  return [release === null ? name : `${name} ${release}`, ...(estimated ? ["estimated"] : [])].join(", ");
}

const UNAVAILABLE_TITLES = {
  not_connected: "No connected provider serves this model",
  excluded_by_policy: "Your policy excludes all endpoints",
  not_callable: "This model can't be called",
} as const;

function Unavailable({ model, workspace }: Pick<PageProps, "model" | "workspace">) {
  if (model.unavailable == null) return null;
  const { code, reason } = model.unavailable;
  return (
    <Callout
      tone={code === "not_connected" ? "info" : "warn"}
      title={UNAVAILABLE_TITLES[code]}
      action={<AvailabilityAction model={model} workspace={workspace} size="small" />}
    >
      {code === "not_connected" ? `Connect one of: ${model.providers.join(", ")}.` : sentenceOf(reason)}
    </Callout>
  );
}

/** API reasons are clauses. */
const sentenceOf = (clause: string) => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;

/** Input price large and output price below: both on one line are too wide for a tile. */
function LowestPrice({ price }: { readonly price: PublicModel["lowest_price"] }) {
  const [first, second] = price === null ? [] : mainUnits(price);
  if (price === null || first === undefined) return <Stat label="Lowest price" value="–" note="Unknown" />;
  return (
    <Stat
      label="Lowest price"
      value={<Money amount={first.amount} currency={price.currency} as="price" />}
      note={
        <>
          {first.label.toLowerCase()} per {first.per}
          {second !== undefined && (
            <>
              , output <Money amount={second.amount} currency={price.currency} as="price" />
            </>
          )}
        </>
      }
    />
  );
}

const PLAYABLE = [
  "chat",
  "messages",
  "responses",
  "embeddings",
  "rerank",
  "moderations",
  "images",
  "speech",
  "transcriptions",
  "decisions",
];

function playgroundPath(model: PublicModel, workspace: string): string {
  const surface = model.surfaces.find((one) => PLAYABLE.includes(one)) ?? "chat";
  const query = new URLSearchParams({ surface, model: model.id });
  if (workspace !== "") return `${pathIn(workspace, "playground")}?${query}`;
  return `/app/sign-in?${new URLSearchParams({ next: `/app/models/${model.id}` })}`;
}

function About({ model }: { readonly model: PublicModelDetail }) {
  const names = new Map(useCapabilities().map(({ slug, name }) => [slug, name]));
  const capabilities = distinctCapabilities(model.capabilities);
  return (
    <Card title="About">
      <div className="grid gap-4">
        <p className="max-w-prose text-pretty">{model.description}</p>
        <p className="flex flex-wrap gap-1.5">
          {capabilities.map((slug) => (
            <Link key={slug} plain to={`/app/models?capability=${encodeURIComponent(slug)}`} className="rounded-sm">
              <Badge tone="accent">{capabilityName(slug, names)}</Badge>
            </Link>
          ))}
          {capabilities.length === 0 && <span className="text-soft">No capabilities recorded.</span>}
        </p>
        <p className="text-soft">
          Input: {model.modalities_in.join(", ") || "unknown"}. Output: {model.modalities_out.join(", ") || "unknown"}.
          Surfaces: {model.surfaces.join(", ")}.
        </p>
        {model.evidence.length > 0 && <EvidenceList evidence={model.evidence} />}
        <Benchmarks model={model} />
        {model.sources.length > 0 && (
          <p className="flex flex-wrap gap-x-3 text-xs text-soft">
            Sources:
            {model.sources.map((source) => (
              <ExternalLink key={source} href={source} target="_blank" className="break-all">
                {source.replace(/^https?:\/\//, "")}
              </ExternalLink>
            ))}
          </p>
        )}
      </div>
    </Card>
  );
}

function Benchmarks({ model: { benchmarks } }: { readonly model: PublicModelDetail }) {
  if (benchmarks.length === 0) return null;
  return (
    <ul aria-label="Benchmarks" className="flex flex-wrap gap-x-6 gap-y-1.5">
      {benchmarks.map(({ name, score, metric, source, date }) => (
        <li key={`${name} ${source}`} className="text-soft">
          <ExternalLink href={source} target="_blank">
            {name}
          </ExternalLink>{" "}
          <Num value={score} className="text-ink" />{" "}
          <span className="text-xs">({date === null ? metric : `${metric}, ${date}`})</span>
        </li>
      ))}
    </ul>
  );
}

const ORDERS = [
  { value: "available", label: "Available first" },
  { value: "level", label: "Highest level first" },
  { value: "price", label: "Lowest price first" },
  { value: "provider", label: "Provider" },
];

function Endpoints({ model, currency, workspace }: Omit<PageProps, "path">) {
  const [order, setOrder] = useSearchParam("order", "available");
  const { set } = useSearchParams();
  const measured = useMeasurements({ model: model.id }, workspace !== "");
  const currencies = [
    { value: LISTED_CURRENCY, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const rows = model.endpoints.toSorted((a, b) => compare(a, b, order));
  return (
    <Card
      title={`${rows.length} ${rows.length === 1 ? "endpoint" : "endpoints"}`}
      about={<Link to="/app/sovereignty">About sovereignty levels</Link>}
      flush
      actions={
        <>
          <Select
            aria-label="Sort endpoints"
            value={order}
            options={ORDERS}
            onChange={(event) => setOrder(event.target.value)}
            className="w-48!"
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
      {rows.length === 0 ? (
        <EmptyState icon="server" title="No endpoints" hint="No provider currently serves this model.">
          <LinkButton to="/app/models">View all models</LinkButton>
        </EmptyState>
      ) : (
        rows.map((endpoint) => (
          <EndpointCard
            key={endpoint.id}
            endpoint={endpoint}
            page="model"
            isOpen={rows.length === 1}
            measured={measured}
          />
        ))
      )}
    </Card>
  );
}

function compare(a: PublicEndpointDetail, b: PublicEndpointDetail, order: string): number {
  const rank = ({ level }: PublicEndpointDetail) => (level === "UNCLASSIFIED" ? "" : level);
  const price = ({ price: row }: PublicEndpointDetail) => sortAmount(row) ?? Number.POSITIVE_INFINITY;
  const byName = a.id.localeCompare(b.id);
  if (order === "price") return price(a) - price(b) || byName;
  if (order === "provider") return byName;
  const byAvailability = Number(b.available === true) - Number(a.available === true);
  if (order === "available" && byAvailability !== 0) return byAvailability;
  return rank(b).localeCompare(rank(a)) || price(a) - price(b) || byName;
}
