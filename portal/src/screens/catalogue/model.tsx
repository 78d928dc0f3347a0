import { useEffect } from "react";
import { pathIn, useParam, useSearchParam, useSearchParams } from "../../address.ts";
import { usePublic } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Select } from "../../ui/field.tsx";
import { Callout, Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { Link, LinkButton, OutLink } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num } from "../../ui/values.tsx";
import {
  type PublicEndpoint,
  type PublicModel,
  useCapabilities,
  useCurrencies,
  useVerdicts,
  useViewpoint,
} from "./catalogue.ts";
import { EndpointCard } from "./endpoint-card.tsx";
import { LISTED } from "./model-filters.tsx";
import { Levels, MainPrice, OpenCalls } from "./parts.tsx";
import { sortAmount } from "./prices.ts";

/** One model: what it can do, and every place that serves it. */
export function Screen() {
  const [creator, modelName] = [useParam("creator"), useParam("name")];
  const id = creator === "" ? "" : `${creator}/${modelName}`;
  const { get } = useSearchParams();
  const viewpoint = useViewpoint();
  const currency = get("currency", viewpoint.currency ?? "EUR");
  const path = `/v1/public/models/${id.split("/").map(encodeURIComponent).join("/")}${currency === LISTED ? "" : `?currency=${currency}`}`;
  const model = usePublic<PublicModel>(path, { keep: true, enabled: id !== "" });
  const name = model.data?.name;
  useEffect(() => {
    if (name !== undefined) document.title = `${name} · Inference Gateway`;
  }, [name]);
  if (model.error !== null && model.data === undefined)
    return (
      <ErrorState
        error={model.error}
        title={model.error.status === 404 ? "There is no such model" : undefined}
        {...(model.error.status === 404 ? {} : { onRetry: () => void model.refetch() })}
      >
        <LinkButton to="/app/models">All models</LinkButton>
      </ErrorState>
    );
  // What is kept while the currency changes must not be another model.
  if (model.data?.id !== id) return <SkeletonLines count={8} />;
  return <Page model={model.data} path={path} currency={currency} workspace={viewpoint.workspace} />;
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
            {model.sandbox && <Badge tone="info">simulated</Badge>}
            {model.open_weights === true && <Badge>open weights</Badge>}
            <Levels levels={model.levels} />
          </span>
        }
        about={
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <code className="font-mono break-all">{model.id}</code>
            <CopyButton text={model.id} label="Copy the model id" />
            <span>
              by <Link to={`/app/models?creator=${encodeURIComponent(model.creator)}`}>{model.creator}</Link>
            </span>
          </span>
        }
        actions={
          <>
            <OpenCalls paths={[{ path, says: "This model with its endpoints" }]} />
            <LinkButton to={tryPath(model, workspace)} look="primary" icon="play">
              {workspace === "" ? "Sign in to try it" : "Try it"}
            </LinkButton>
          </>
        }
      />
      <Stack>
        <StatRow>
          <Stat label="Context" value={<Num value={model.context_tokens} compact />} note="tokens" />
          <Stat label="Longest output" value={<Num value={model.max_output_tokens} compact />} note="tokens" />
          <Stat
            label="Lowest price"
            value={
              <span className="text-base">
                <MainPrice price={model.lowest_price} />
              </span>
            }
            note="1M tokens, in / out"
          />
          <Stat
            label="Quality"
            value={<Num value={model.quality?.score} />}
            note={model.quality?.source ?? "not measured"}
          />
          <Stat
            label="Released"
            value={model.release_date ?? "–"}
            note={model.knowledge_cutoff === null ? undefined : `knows up to ${model.knowledge_cutoff}`}
          />
        </StatRow>
        <About model={model} />
        <Endpoints model={model} currency={currency} workspace={workspace} />
      </Stack>
    </>
  );
}

const PLAYABLE = ["chat", "messages", "responses", "embeddings", "speech", "transcriptions", "decisions"];

function tryPath(model: PublicModel, workspace: string): string {
  const surface = model.surfaces.find((one) => PLAYABLE.includes(one)) ?? "chat";
  const query = new URLSearchParams({ surface, model: model.id });
  if (workspace !== "") return `${pathIn(workspace, "playground")}?${query}`;
  return `/app/sign-in?${new URLSearchParams({ next: `/app/models/${model.id}` })}`;
}

function About({ model }: { readonly model: PublicModel }) {
  const names = new Map(useCapabilities().map(({ slug, name }) => [slug, name]));
  return (
    <Card title="What it can do">
      <div className="grid gap-3">
        <p className="flex flex-wrap gap-1.5">
          {model.capabilities.map((slug) => (
            <Link key={slug} plain to={`/app/models?capability=${encodeURIComponent(slug)}`} className="rounded-sm">
              <Badge tone="accent">{names.get(slug) ?? slug}</Badge>
            </Link>
          ))}
          {model.capabilities.length === 0 && <span className="text-soft">Nothing is recorded yet.</span>}
        </p>
        <p className="text-soft">
          Takes {model.modalities_in.join(", ") || "nothing that is recorded"}; gives{" "}
          {model.modalities_out.join(", ") || "nothing that is recorded"}. Surfaces: {model.surfaces.join(", ")}.
        </p>
        {model.note !== null && <p className="text-pretty text-soft">{model.note}</p>}
        {model.sources.length > 0 && (
          <p className="flex flex-wrap gap-x-3 text-xs text-soft">
            Sources:
            {model.sources.map((source) =>
              source.startsWith("http") ? (
                <OutLink key={source} href={source} target="_blank" className="break-all">
                  {source.replace(/^https?:\/\//, "")}
                </OutLink>
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
  { value: "provider", label: "By provider" },
];

function Endpoints({ model, currency, workspace }: Omit<PageProps, "path">) {
  const [order, setOrder] = useSearchParam("order", "level");
  const { set } = useSearchParams();
  const verdicts = useVerdicts(workspace);
  const currencies = [
    { value: LISTED, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const rows = model.endpoints.toSorted((a, b) => compare(a, b, order));
  const judged = rows.flatMap(({ id }) => verdicts.get(id) ?? []);
  const isOut = judged.length > 0 && judged.every(({ after }) => !after);
  return (
    <Card
      title={`Served by ${rows.length === 1 ? "one endpoint" : `${rows.length} endpoints`}`}
      about={<Link to="/app/sovereignty">What the levels mean</Link>}
      flush
      actions={
        <>
          <Select
            aria-label="Order of the endpoints"
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
      {isOut && (
        <div className="p-4">
          <Callout
            tone="warn"
            title="Your policy allows none of these"
            action={
              <LinkButton to={pathIn(workspace, "policy")} size="small">
                Open the policy
              </LinkButton>
            }
          >
            {judged[0]?.reason ?? "Every endpoint is kept out by a rule of the workspace."}
          </Callout>
        </div>
      )}
      {rows.length === 0 ? (
        <EmptyState
          icon="server"
          title="Nobody serves it at the moment"
          hint="It is in the catalogue, but no provider offers it."
        >
          <LinkButton to="/app/models">Other models</LinkButton>
        </EmptyState>
      ) : (
        rows.map((endpoint) => (
          <EndpointCard
            key={endpoint.id}
            endpoint={endpoint}
            verdict={verdicts.get(endpoint.id)}
            on="model"
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
