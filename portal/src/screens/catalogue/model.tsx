import { useEffect } from "react";
import { usePublic } from "../../api/hooks.ts";
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
import {
  type PublicEndpoint,
  type PublicModel,
  useCapabilities,
  useCatalogueContext,
  useCurrencies,
  useVerdicts,
} from "./catalogue.ts";
import { EndpointCard } from "./endpoint-card.tsx";
import { LISTED_CURRENCY } from "./model-filters.tsx";
import { Levels, PublicApiButton } from "./parts.tsx";
import { mainUnits, sortAmount } from "./prices.ts";

export function Screen() {
  const [creator, modelName] = [useParam("creator"), useParam("name")];
  const id = creator === "" ? "" : `${creator}/${modelName}`;
  const { get } = useSearchParams();
  const context = useCatalogueContext();
  const currency = get("currency", context.currency ?? "EUR");
  const path = `/v1/public/models/${id.split("/").map(encodeURIComponent).join("/")}${currency === LISTED_CURRENCY ? "" : `?currency=${currency}`}`;
  const model = usePublic<PublicModel>(path, { keepPrevious: true, enabled: id !== "" });
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
  readonly model: PublicModel;
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
          </span>
        }
        about={
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <code className="font-mono break-all">{model.id}</code>
            <CopyButton text={model.id} label="Copy model ID" />
            <span>
              by <Link to={`/app/models?creator=${encodeURIComponent(model.creator)}`}>{model.creator}</Link>
            </span>
          </span>
        }
        actions={
          <>
            <PublicApiButton paths={[{ path, description: "Show this model and its endpoints" }]} />
            <LinkButton to={playgroundPath(model, workspace)} variant="primary" icon="play">
              {workspace === "" ? "Sign in to try" : "Try in playground"}
            </LinkButton>
          </>
        }
      />
      <Stack>
        <StatRow>
          <Stat label="Context" value={<Num value={model.context_tokens} compact />} note="tokens" />
          <Stat label="Max output" value={<Num value={model.max_output_tokens} compact />} note="tokens" />
          <LowestPrice price={model.lowest_price} />
          <Stat
            label="Quality"
            value={<Num value={model.quality?.score} />}
            note={model.quality?.source ?? "Not measured"}
          />
          <Stat
            label="Released"
            value={model.release_date ?? "–"}
            note={model.knowledge_cutoff === null ? undefined : `Knowledge cutoff ${model.knowledge_cutoff}`}
          />
        </StatRow>
        <About model={model} />
        <Endpoints model={model} currency={currency} workspace={workspace} />
      </Stack>
    </>
  );
}

/** Input price large and output price below: both on one line are too wide for a tile. */
function LowestPrice({ price }: { readonly price: PublicModel["lowest_price"] }) {
  const [first, second] = price === null ? [] : mainUnits(price);
  if (price === null || first === undefined) return <Stat label="Lowest price" value="–" note="Unknown" />;
  return (
    <Stat
      label="Lowest price"
      value={<Money amount={first.amount} currency={price.currency} />}
      note={
        <>
          {first.label.toLowerCase()} per {first.per}
          {second !== undefined && (
            <>
              , output <Money amount={second.amount} currency={price.currency} />
            </>
          )}
        </>
      }
    />
  );
}

const PLAYABLE = ["chat", "messages", "responses", "embeddings", "speech", "transcriptions", "decisions"];

function playgroundPath(model: PublicModel, workspace: string): string {
  const surface = model.surfaces.find((one) => PLAYABLE.includes(one)) ?? "chat";
  const query = new URLSearchParams({ surface, model: model.id });
  if (workspace !== "") return `${pathIn(workspace, "playground")}?${query}`;
  return `/app/sign-in?${new URLSearchParams({ next: `/app/models/${model.id}` })}`;
}

function About({ model }: { readonly model: PublicModel }) {
  const names = new Map(useCapabilities().map(({ slug, name }) => [slug, name]));
  return (
    <Card title="Capabilities">
      <div className="grid gap-3">
        <p className="flex flex-wrap gap-1.5">
          {model.capabilities.map((slug) => (
            <Link key={slug} plain to={`/app/models?capability=${encodeURIComponent(slug)}`} className="rounded-sm">
              <Badge tone="accent">{names.get(slug) ?? slug}</Badge>
            </Link>
          ))}
          {model.capabilities.length === 0 && <span className="text-soft">No capabilities recorded.</span>}
        </p>
        <p className="text-soft">
          Input: {model.modalities_in.join(", ") || "unknown"}. Output: {model.modalities_out.join(", ") || "unknown"}.
          Surfaces: {model.surfaces.join(", ")}.
        </p>
        {model.note !== null && <p className="text-pretty text-soft">{model.note}</p>}
        {model.sources.length > 0 && (
          <p className="flex flex-wrap gap-x-3 text-xs text-soft">
            Sources:
            {model.sources.map((source) =>
              source.startsWith("http") ? (
                <ExternalLink key={source} href={source} target="_blank" className="break-all">
                  {source.replace(/^https?:\/\//, "")}
                </ExternalLink>
              ) : (
                <span key={source}>{source}</span>
              ),
            )}
          </p>
        )}
      </div>
    </Card>
  );
}

const ORDERS = [
  { value: "level", label: "Highest level first" },
  { value: "price", label: "Lowest price first" },
  { value: "provider", label: "Provider" },
];

function Endpoints({ model, currency, workspace }: Omit<PageProps, "path">) {
  const [order, setOrder] = useSearchParam("order", "level");
  const { set } = useSearchParams();
  const verdicts = useVerdicts(workspace);
  const currencies = [
    { value: LISTED_CURRENCY, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const rows = model.endpoints.toSorted((a, b) => compare(a, b, order));
  const policyVerdicts = rows.flatMap(({ id }) => verdicts.get(id) ?? []);
  const isExcluded = policyVerdicts.length > 0 && policyVerdicts.every(({ after }) => !after);
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
      {isExcluded && (
        <div className="p-4">
          <Callout
            tone="warn"
            title="Your policy excludes all endpoints"
            action={
              <LinkButton to={pathIn(workspace, "policy")} size="small">
                View policy
              </LinkButton>
            }
          >
            {policyVerdicts[0]?.reason ?? "A rule of this workspace excludes every endpoint."}
          </Callout>
        </div>
      )}
      {rows.length === 0 ? (
        <EmptyState icon="server" title="No endpoints" hint="No provider currently serves this model.">
          <LinkButton to="/app/models">View all models</LinkButton>
        </EmptyState>
      ) : (
        rows.map((endpoint) => (
          <EndpointCard
            key={endpoint.id}
            endpoint={endpoint}
            verdict={verdicts.get(endpoint.id)}
            page="model"
            isOpen={rows.length === 1}
          />
        ))
      )}
    </Card>
  );
}

function compare(a: PublicEndpoint, b: PublicEndpoint, order: string): number {
  const rank = ({ level }: PublicEndpoint) => (level === "UNCLASSIFIED" ? "" : level);
  const price = ({ price: row }: PublicEndpoint) => sortAmount(row) ?? Number.POSITIVE_INFINITY;
  const byName = a.id.localeCompare(b.id);
  if (order === "price") return price(a) - price(b) || byName;
  if (order === "provider") return byName;
  return rank(b).localeCompare(rank(a)) || price(a) - price(b) || byName;
}
