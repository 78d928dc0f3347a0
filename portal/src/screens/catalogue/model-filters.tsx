import { useEffect, useState } from "react";
import { useSearchParams } from "../../address.ts";
import { countryName } from "../../format/country.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Field, Input, type Option, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useCalm } from "../../ui/use-calm.ts";
import { useCapabilities, useCreators, useCurrencies, useProviders, useViewpoint } from "./catalogue.ts";
import { LEVEL_OPTIONS, levelsFrom } from "./levels.ts";

const SURFACES: readonly Option[] = [
  { value: "chat", label: "Chat" },
  { value: "embeddings", label: "Embeddings" },
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
const SORTS: readonly Option[] = [
  { value: "id", label: "Name" },
  { value: "-quality", label: "Best quality" },
  { value: "price", label: "Lowest price" },
  { value: "-price", label: "Highest price" },
  { value: "-context", label: "Longest context" },
  { value: "-created", label: "Newest" },
];
const any = (label: string): Option => ({ value: "", label });

/** What stands in the address, and what takes no place there. */
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
] as const;
export const NO_FILTERS: Readonly<Record<string, null>> = Object.fromEntries(NAMES.map((name) => [name, null]));
export const LISTED = "listed";

/** The address as the query of the catalogue. A level is a floor: it and all above. */
export function useModelQuery(): {
  readonly query: URLSearchParams;
  readonly currency: string;
  readonly isFiltered: boolean;
} {
  const { get } = useSearchParams();
  const viewpoint = useViewpoint();
  const currency = get("currency", viewpoint.currency ?? "EUR");
  const asked: Readonly<Record<string, string>> = {
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
    currency: currency === LISTED ? "" : currency,
    sort: get("sort", "id"),
  };
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ""));
  return { query, currency, isFiltered: NAMES.some((name) => get(name) !== "") };
}

export function ModelFilters() {
  const { get, set } = useSearchParams();
  const { currency, isFiltered } = useModelQuery();
  const providers = useProviders().data?.data ?? [];
  const countries = providers.flatMap((provider) => provider.countries);
  const choices: readonly { readonly name: string; readonly label: string; readonly options: readonly Option[] }[] = [
    { name: "surface", label: "For", options: [any("Every use"), ...SURFACES] },
    {
      name: "level",
      label: "Sovereignty",
      options: LEVEL_OPTIONS,
    },
    {
      name: "country",
      label: "Computed in",
      options: [
        any("Every country"),
        ...[...new Set(countries)]
          .map((value) => ({ value, label: countryName(value) }))
          .toSorted((a, b) => a.label.localeCompare(b.label)),
      ],
    },
    {
      name: "capability",
      label: "Can do",
      options: [any("Everything"), ...useCapabilities().map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    { name: "modality", label: "Takes or gives", options: [any("Any modality"), ...MODALITIES] },
    {
      name: "creator",
      label: "Made by",
      options: [any("Every creator"), ...useCreators().map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    {
      name: "provider",
      label: "Served by",
      options: [any("Every provider"), ...providers.map(({ slug, name }) => ({ value: slug, label: name }))],
    },
    { name: "context", label: "Context", options: [any("Any length"), ...CONTEXTS] },
  ];
  const currencies = [
    { value: LISTED, label: "As listed" },
    ...useCurrencies().map(({ code }) => ({ value: code, label: code })),
  ];
  const choice = ({ name, label, options }: (typeof choices)[number]) => (
    <Field key={name} label={label}>
      <Select value={get(name)} options={options} onChange={(event) => set({ [name]: event.target.value })} />
    </Field>
  );
  const more = choices.slice(MAIN_CHOICES);
  const isMoreUsed = get("price") !== "" || more.some(({ name }) => get(name) !== "");
  return (
    <div className="mb-4 grid gap-3">
      <div className={ROW}>
        <Typed
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
          More filters and the currency
        </summary>
        <div className={cx(ROW, "mt-2")}>
          {more.map(choice)}
          <Typed
            name="price"
            label={`At most (${currency === LISTED ? "EUR" : currency})`}
            placeholder="in + out, 1M"
            inputMode="decimal"
          />
          <Field label="Currency">
            <Select value={currency} options={currencies} onChange={(event) => set({ currency: event.target.value })} />
          </Field>
        </div>
      </details>
      {isFiltered && (
        <div>
          <Button size="small" look="quiet" icon="close" onClick={() => set(NO_FILTERS)}>
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

/** A text of the address that is typed: it goes there when it rests, and only if it can be asked for. */
function Typed({
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
  const inAddress = get(name);
  const [text, setText] = useState(inAddress);
  const calm = useCalm(text);
  const isWrong = name === "price" && text !== "" && !IS_PRICE.test(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed moves the address
  useEffect(() => {
    const isGood = name === "q" || calm === "" || IS_PRICE.test(calm);
    if (isGood && calm !== inAddress) set({ [name]: calm });
  }, [calm]);
  // The address may change without the field: "Clear all filters", the way back.
  useEffect(() => setText(inAddress), [inAddress]);
  return (
    <Field label={label} className={className} error={isWrong ? "Write a price such as 2.50" : undefined}>
      <Input
        type={name === "q" ? "search" : "text"}
        value={text}
        onChange={(event) => setText(event.target.value)}
        {...rest}
      />
    </Field>
  );
}
