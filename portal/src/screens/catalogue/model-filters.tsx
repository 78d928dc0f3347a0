import { useEffect, useState } from "react";
import { countryName } from "../../format/country.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Field, Input, type Option, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { useSearchParams } from "../../url-state.ts";
import { useCapabilities, useCatalogueContext, useCreators, useCurrencies, useProviders } from "./catalogue.ts";
import { LEVEL_OPTIONS, levelsFrom } from "./levels.ts";

const SURFACES: readonly Option[] = [
  { value: "chat", label: "Chat" },
  { value: "embeddings", label: "Embeddings" },
  { value: "rerank", label: "Rerank" },
  { value: "moderations", label: "Moderations" },
  { value: "images", label: "Images" },
  { value: "speech", label: "Speech" },
  { value: "transcriptions", label: "Transcription" },
  { value: "decisions", label: "Decisions" },
];
const MODALITIES: readonly Option[] = ["text", "image", "audio", "video", "pdf", "embedding"].map((value) => ({
  value,
  label: value,
}));
const CONTEXTS: readonly Option[] = [
  { value: "32000", label: "32K or more" },
  { value: "128000", label: "128K or more" },
  { value: "200000", label: "200K or more" },
  { value: "1000000", label: "1M or more" },
];
const AVAILABILITIES: readonly Option[] = [
  { value: "", label: "All, available first" },
  { value: "true", label: "Available" },
  { value: "false", label: "Not available" },
];
const SORTS: readonly Option[] = [
  { value: "id", label: "Name" },
  { value: "-id", label: "Name, descending" },
  { value: "-quality", label: "Best quality" },
  { value: "quality", label: "Lowest quality" },
  { value: "price", label: "Lowest price" },
  { value: "-price", label: "Highest price" },
  { value: "-context", label: "Longest context" },
  { value: "context", label: "Shortest context" },
  { value: "-created", label: "Newest" },
];
const any = (label: string): Option => ({ value: "", label });

/** Filters as query parameters. */
const NAMES = [
  "q",
  "surface",
  "level",
  "country",
  "capability",
  "modality",
  "creator",
  "provider",
  "context",
  "price",
  "available",
] as const;
export const NO_FILTERS: Readonly<Record<string, null>> = Object.fromEntries(NAMES.map((name) => [name, null]));
export const LISTED_CURRENCY = "listed";

/** The catalogue query for the URL's filters. A level includes all higher ones. */
export function useModelQuery(): {
  readonly query: URLSearchParams;
  readonly currency: string;
  readonly isFiltered: boolean;
  /** "true", "false" or empty for all; it needs a workspace. */
  readonly available: string;
} {
  const { get } = useSearchParams();
  const context = useCatalogueContext();
  const currency = get("currency", context.currency ?? "EUR");
  const filters: Readonly<Record<string, string>> = {
    q: get("q").trim(),
    surface: get("surface"),
    level: levelsFrom(get("level")),
    country: get("country"),
    capability: get("capability"),
    modality: get("modality"),
    creator: get("creator"),
    provider: get("provider"),
    context_min: get("context"),
    price_max: get("price"),
    currency: currency === LISTED_CURRENCY ? "" : currency,
    sort: get("sort", "id"),
  };
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
  const available = ["true", "false"].find((one) => one === get("available")) ?? "";
  return { query, currency, isFiltered: NAMES.some((name) => get(name) !== ""), available };
}

export function ModelFilters() {
  const { get, set } = useSearchParams();
  const { currency, isFiltered } = useModelQuery();
  const providers = useProviders().data?.data ?? [];
  const countries = providers.flatMap((provider) => provider.countries);
  const { workspace } = useCatalogueContext();
  const choices: readonly { readonly name: string; readonly label: string; readonly options: readonly Option[] }[] = [
    ...(workspace === "" ? [] : [{ name: "available", label: "Availability", options: AVAILABILITIES }]),
    { name: "surface", label: "Surface", options: [any("All surfaces"), ...SURFACES] },
    {
      name: "level",
      label: "Sovereignty",
      options: LEVEL_OPTIONS,
    },
    {
      name: "country",
      label: "Country",
      options: [
        any("All countries"),
        ...[...new Set(countries)]
          .map((value) => ({ value, label: countryName(value) }))
          .toSorted((a, b) => a.label.localeCompare(b.label)),
      ],
    },
    {
      name: "capability",
      label: "Capability",
      options: [any("All capabilities"), ...useCapabilities().map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    { name: "modality", label: "Modality", options: [any("All modalities"), ...MODALITIES] },
    {
      name: "creator",
      label: "Creator",
      options: [any("All creators"), ...useCreators().map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    {
      name: "provider",
      label: "Provider",
      options: [any("All providers"), ...providers.map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    { name: "context", label: "Context", options: [any("Any length"), ...CONTEXTS] },
  ];
  const currencies = [
    { value: LISTED_CURRENCY, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const choice = ({ name, label, options }: (typeof choices)[number]) => (
    <Field key={name} label={label}>
      <Select value={get(name)} options={options} onChange={(event) => set({ [name]: event.target.value })} />
    </Field>
  );
  // Availability takes the place of a filter that visitors see first.
  const more = choices.slice(MAIN_CHOICES);
  const isMoreUsed = get("price") !== "" || more.some(({ name }) => get(name) !== "");
  return (
    <div className="mb-4 grid gap-3">
      <div className={ROW}>
        <TextFilter
          name="q"
          label="Search"
          placeholder="Name, creator, family"
          className="sm:col-span-2 max-sm:col-span-full"
        />
        {choices.slice(0, MAIN_CHOICES).map(choice)}
        <Field label="Sort by">
          <Select
            value={get("sort", "id")}
            options={SORTS}
            onChange={(event) => set({ sort: event.target.value === "id" ? null : event.target.value })}
          />
        </Field>
      </div>
      <details open={isMoreUsed} className="group grid gap-3">
        <summary className="flex min-h-6 w-fit cursor-pointer list-none items-center gap-1.5 text-soft hover:text-ink [&::-webkit-details-marker]:hidden">
          <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
          More filters and currency
        </summary>
        <div className={cx(ROW, "mt-2")}>
          {more.map(choice)}
          <TextFilter
            name="price"
            label={`Max price (${currency === LISTED_CURRENCY ? "EUR" : currency})`}
            placeholder="Input + output per 1M"
            inputMode="decimal"
          />
          <Field label="Currency">
            <Select value={currency} options={currencies} onChange={(event) => set({ currency: event.target.value })} />
          </Field>
        </div>
      </details>
      {isFiltered && (
        <div>
          <Button size="small" variant="quiet" icon="close" onClick={() => set(NO_FILTERS)}>
            Clear all filters
          </Button>
        </div>
      )}
    </div>
  );
}

const MAIN_CHOICES = 3;
const ROW = "grid grid-cols-2 items-end gap-2 sm:grid-cols-3 lg:grid-cols-6";

const IS_PRICE = /^\d{1,9}(?:\.\d{1,9})?$/;

/** A text filter: the URL is updated after a pause, and only with a valid value. */
function TextFilter({
  name,
  label,
  className,
  ...rest
}: {
  readonly name: "q" | "price";
  readonly label: string;
  readonly placeholder: string;
  readonly inputMode?: "decimal";
  readonly className?: string;
}) {
  const { get, set } = useSearchParams();
  const urlValue = get(name);
  const [text, setText] = useState(urlValue);
  const debounced = useDebounced(text);
  const isInvalid = name === "price" && text !== "" && !IS_PRICE.test(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing updates the URL
  useEffect(() => {
    const isValid = name === "q" || debounced === "" || IS_PRICE.test(debounced);
    if (isValid && debounced !== urlValue) set({ [name]: debounced });
  }, [debounced]);
  // The URL can change without the field: "Clear all filters", browser back.
  useEffect(() => setText(urlValue), [urlValue]);
  return (
    <Field label={label} className={className} error={isInvalid ? "Enter a price such as 2.50" : undefined}>
      <Input
        type={name === "q" ? "search" : "text"}
        value={text}
        onChange={(event) => setText(event.target.value)}
        {...rest}
      />
    </Field>
  );
}
