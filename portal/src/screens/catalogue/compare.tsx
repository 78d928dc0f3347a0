import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";
import { capabilityName, distinctCapabilities } from "./capabilities.ts";
import {
  modelDetailPath,
  modelPath,
  type PublicModelDetail,
  useCapabilities,
  useCatalogueContext,
} from "./catalogue.ts";
import { ModelPicker } from "./model-picker.tsx";
import { Countries, Levels } from "./parts.tsx";
import { mainUnits } from "./prices.ts";

const MODELS_MAX = 4;

export function Screen() {
  const { get, set } = useSearchParams();
  const { currency = "EUR" } = useCatalogueContext();
  const ids = [...new Set(get("models").split(",").filter(Boolean))].slice(0, MODELS_MAX);
  const choose = (next: readonly string[]) => set({ models: next.join(",") || null }, "push");
  const queries = useQueries({
    queries: ids.map((id) => {
      const path = `${modelDetailPath(id)}?currency=${currency}`;
      return {
        queryKey: ["public", path],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          send<PublicModelDetail>("GET", path, undefined, signal),
      };
    }),
  });
  const models = queries.flatMap(({ data }) => data ?? []);
  const failed = queries.flatMap(({ error }, index) => (error === null ? [] : [{ id: ids[index] ?? "", error }]));
  return (
    <>
      <PageHeader
        title="Compare models"
        about={`Up to ${MODELS_MAX} models side by side. The URL keeps the selection.`}
        actions={<LinkButton to="/app/models">All models</LinkButton>}
      />
      <Stack>
        {ids.length < MODELS_MAX && <ModelPicker chosen={ids} onChoose={(id) => choose([...ids, id])} />}
        {failed.map(({ id, error }) => (
          <ErrorState key={id} error={error as ApiError} title={`Model not found: ${id}`}>
            <Button onClick={() => choose(ids.filter((one) => one !== id))}>Remove from comparison</Button>
          </ErrorState>
        ))}
        {ids.length === 0 && (
          <EmptyState icon="cube" title="No models selected" hint="Search for a model to add it to the comparison." />
        )}
        {queries.some(({ isPending }) => isPending) && <SkeletonLines count={4} />}
        {models.length > 0 && <Comparison models={models} onRemove={(id) => choose(ids.filter((one) => one !== id))} />}
      </Stack>
    </>
  );
}

type Row = { readonly name: string; readonly cell: (model: PublicModelDetail) => ReactNode };

function Comparison({
  models,
  onRemove,
}: {
  readonly models: readonly PublicModelDetail[];
  readonly onRemove: (id: string) => void;
}) {
  const rows = [...BASIC_ROWS, capabilityRow(useCapabilities()), ...scoreRows(models)];
  return (
    <Card flush>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        tabIndex={0}
        aria-label="Comparison"
        className="overflow-x-auto outline-offset-[-2px]"
      >
        <table
          className="w-full table-fixed border-collapse text-left align-top [overflow-wrap:anywhere]"
          style={{ minWidth: `${5.5 + 8.4 * models.length}rem` }}
        >
          <thead>
            <tr className="border-b align-top">
              <th scope="col" className="sticky left-0 z-10 w-22 bg-card px-3 py-3 sm:w-44 sm:px-4">
                <span className="sr-only">Property</span>
              </th>
              {models.map(({ id, name }) => (
                <th key={id} scope="col" className="px-2 py-3 font-normal sm:px-4">
                  <span className="flex items-start justify-between gap-2">
                    <span className="grid min-w-0">
                      <Link to={modelPath(id)} className="font-medium">
                        {name}
                      </Link>
                      <span className="font-mono text-xs [overflow-wrap:anywhere] text-soft">{id}</span>
                    </span>
                    <Button
                      variant="quiet"
                      size="small"
                      icon="close"
                      aria-label={`Remove ${name}`}
                      onClick={() => onRemove(id)}
                    />
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, cell }) => (
              <tr key={name} className="border-b align-top last:border-0">
                <th scope="row" className="sticky left-0 z-10 bg-card px-3 py-2.5 font-normal text-soft sm:px-4">
                  {name}
                </th>
                {models.map((model) => (
                  <td key={model.id} className="px-2 py-2.5 sm:px-4">
                    {cell(model)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}

const BASIC_ROWS: readonly Row[] = [
  { name: "Levels", cell: ({ levels }) => <Levels levels={levels} /> },
  { name: "Countries", cell: ({ countries }) => <Countries codes={countries} /> },
  { name: "Providers", cell: ({ providers }) => providers.join(", ") || <Unknown /> },
  {
    name: "Lowest price",
    cell: ({ lowest_price: price }) =>
      price === null ? (
        <Unknown />
      ) : (
        <span className="grid">
          {mainUnits(price).map(({ name, label, per, amount }) => (
            <span key={name}>
              <Money amount={amount} currency={price.currency} />{" "}
              <span className="text-xs text-soft">{per === "1M tokens" ? label.toLowerCase() : `per ${per}`}</span>
            </span>
          ))}
        </span>
      ),
  },
  { name: "Context", cell: ({ context_tokens }) => <Num value={context_tokens} /> },
  { name: "Max output tokens", cell: ({ max_output_tokens }) => <Num value={max_output_tokens} /> },
  { name: "Input", cell: ({ modalities_in }) => modalities_in.join(", ") || <Unknown /> },
  { name: "Output", cell: ({ modalities_out }) => modalities_out.join(", ") || <Unknown /> },
  {
    name: "Open weights",
    cell: ({ open_weights }) => (open_weights === null ? <Unknown /> : open_weights ? "Yes" : "No"),
  },
  { name: "Released", cell: ({ release_date }) => release_date ?? <Unknown /> },
  { name: "Knowledge cutoff", cell: ({ knowledge_cutoff }) => knowledge_cutoff ?? <Unknown /> },
];

function capabilityRow(known: readonly { readonly slug: string; readonly name: string }[]): Row {
  const names = new Map(known.map(({ slug, name }) => [slug, name]));
  return {
    name: "Capabilities",
    cell: ({ capabilities }) => (
      <ul className="grid gap-0.5">
        {distinctCapabilities(capabilities).map((slug) => (
          <li key={slug}>{capabilityName(slug, names)}</li>
        ))}
        {capabilities.length === 0 && (
          <li>
            <Unknown />
          </li>
        )}
      </ul>
    ),
  };
}

/** The quality score, then each benchmark that at least one of the models has. */
function scoreRows(models: readonly PublicModelDetail[]): Row[] {
  const benchmarks = [...new Set(models.flatMap((model) => model.benchmarks.map(({ name }) => name)))].toSorted();
  return [
    {
      name: "Quality",
      cell: ({ quality }) => (
        <span className="inline-flex flex-wrap items-center gap-1.5">
          <Num value={quality?.score} />
          {quality?.estimated === true && <Badge>Estimated</Badge>}
        </span>
      ),
    },
    ...benchmarks.map((name) => ({
      name,
      cell: (model: PublicModelDetail) => <Num value={model.benchmarks.find((row) => row.name === name)?.score} />,
    })),
  ];
}
