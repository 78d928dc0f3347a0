import { type SyntheticEvent, useEffect, useMemo, useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { DAY_MS } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Combobox, type ComboboxOption } from "../../ui/combobox.tsx";
import { Field, Input, type Option, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useNavigateTo, useSearchParams, useWorkspace } from "../../url-state.ts";
import { keyLabels } from "../keys/key.ts";
import { ENVIRONMENTS, FILTERS, PERIOD, SURFACES } from "./request-filters.ts";
import { STATUS_CODES } from "./status-codes.ts";

const PERIODS: readonly Option[] = [
  { value: "", label: "All time" },
  { value: "1h", label: "Last hour" },
  { value: "24h", label: "Last 24 hours" },
  { value: "7d", label: "Last 7 days" },
  { value: "30d", label: "Last 30 days" },
  { value: "custom", label: "Custom range" },
];

const STATUSES: readonly ComboboxOption[] = [
  { value: "", label: "All statuses" },
  { value: "2xx", label: "2xx", description: "Success" },
  { value: "4xx", label: "4xx", description: "Client error" },
  { value: "5xx", label: "5xx", description: "Server error" },
  ...STATUS_CODES.map((code) => ({ value: String(code), label: String(code) })),
];

const toOptions = (values: readonly string[], allLabel: string): Option[] => [
  { value: "", label: allLabel },
  ...values.map((value) => ({ value, label: value })),
];

/** Shows a filter value from the URL even if it is not among the options. */
function withCurrent(options: readonly Option[], current: string): readonly Option[] {
  return options.some(({ value }) => value === current) ? options : [...options, { value: current, label: current }];
}

function SelectFilter({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly Option[];
}) {
  const { get, set } = useSearchParams();
  return (
    <Field label={label} hideLabel className="w-38 max-sm:w-auto">
      <Select
        value={get(name)}
        options={withCurrent(options, get(name))}
        onChange={(event) => set({ [name]: event.target.value })}
      />
    </Field>
  );
}

/** A searchable filter; a value of the URL that is no option is shown as it is. */
function PickerFilter({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  /** Undefined while they load. */
  readonly options: readonly ComboboxOption[] | undefined;
}) {
  const { get, set } = useSearchParams();
  return (
    <Field label={label} hideLabel className="w-38 max-sm:w-auto">
      <Combobox
        value={get(name)}
        onChange={(value) => set({ [name]: value })}
        options={options}
        placeholder={label}
        searchPlaceholder={`Search ${label.toLowerCase()}`}
      />
    </Field>
  );
}

/** The app is free text: callers name it. Applied on Enter or blur. */
function AppFilter() {
  const { get, set } = useSearchParams();
  const current = get("app");
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  const apply = () => {
    if (text.trim() !== current) set({ app: text.trim() });
  };
  return (
    <Field label="App" hideLabel className="w-38 max-sm:w-auto">
      <Input
        value={text}
        placeholder="App"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => event.key === "Enter" && apply()}
      />
    </Field>
  );
}

const MODELS_SINCE_MS = 30 * DAY_MS;

/** The models of the last 30 days' traffic: the whole catalogue would hide them. */
function useLoggedModels(workspace: string): readonly string[] | undefined {
  const from = useMemo(() => new Date(Date.now() - MODELS_SINCE_MS).toISOString(), []);
  const usage = useManage("manageShowUsage", {
    params: { workspace },
    query: { by: "day", group: "model", env: "all", from },
  }).data?.data;
  return useMemo(
    () => usage && [...new Set(usage.flatMap(({ name }) => (name === null ? [] : [name])))].toSorted(),
    [usage],
  );
}

function Period() {
  const { get, set } = useSearchParams();
  const isCustom = get("range") === "custom" || get("since") !== "" || get("until") !== "";
  const choose = (range: string) => set(range === "custom" ? { range } : { range, since: null, until: null });
  return (
    <>
      <Field label="Period" hideLabel className="w-38 max-sm:w-auto">
        <Select
          value={isCustom ? "custom" : get("range")}
          options={PERIODS}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
      {isCustom &&
        (["since", "until"] as const).map((name) => (
          <Field key={name} label={name === "since" ? "From" : "Until"} hideLabel className="w-52 max-sm:w-auto">
            <Input
              type="datetime-local"
              value={get(name)}
              onChange={(event) => set({ range: "custom", [name]: event.target.value })}
            />
          </Field>
        ))}
    </>
  );
}

function FindById() {
  const { at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const [id, setId] = useState("");
  const find = (event: SyntheticEvent) => {
    event.preventDefault();
    if (id.trim() !== "") navigateTo(at(`requests/${encodeURIComponent(id.trim())}`));
  };
  return (
    <form onSubmit={find} className="flex w-64 gap-1 max-sm:w-full">
      <Field label="Request ID" hideLabel className="flex-1">
        <Input
          type="search"
          mono
          value={id}
          placeholder="Find by request ID"
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setId(event.target.value)}
        />
      </Field>
      <Button type="submit" aria-label="Find request" title="Find request" className="px-2.5">
        <Icon name="search" />
      </Button>
    </form>
  );
}

function providerOptions(providers: readonly Row<"manageListProviders">[]): readonly ComboboxOption[] {
  return [
    { value: "", label: "All providers" },
    ...providers.map(({ slug, name }) => ({ value: slug, label: slug, description: name === slug ? undefined : name })),
  ];
}

/** All filters are in the URL. */
export function FilterBar() {
  const { workspace } = useWorkspace();
  const { isAdmin } = usePermissions(workspace);
  const { get, set } = useSearchParams();
  // Collapsed on phones, where the filters would fill the screen.
  const [isOpen, setIsOpen] = useState(false);
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 1000 } });
  const members = useManage("manageListMembers", { params: { workspace } }, { enabled: isAdmin });
  const providers = useManage("manageListProviders", { query: { workspace } }).data?.data;
  const models = useLoggedModels(workspace);
  const active = [...FILTERS, ...PERIOD].filter((name) => get(name) !== "");
  const keyOptions = keys.data && [
    { value: "", label: "All keys" },
    ...[...keyLabels(keys.data.data)].map(([value, label]) => ({ value, label })),
  ];
  return (
    <search aria-label="Filters" className="mb-4 flex flex-wrap items-end gap-2">
      <FindById />
      <Button icon="filter" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)} className="sm:hidden">
        {active.length === 0 ? "Filters" : `Filters: ${active.length}`}
      </Button>
      <div
        className={cx("contents max-sm:grid max-sm:w-full max-sm:grid-cols-2 max-sm:gap-2", !isOpen && "max-sm:hidden")}
      >
        <Period />
        <PickerFilter name="model" label="Model" options={models && toOptions(models, "All models")} />
        <PickerFilter name="provider" label="Provider" options={providers && providerOptions(providers)} />
        <PickerFilter name="status" label="Status" options={STATUSES} />
        <PickerFilter name="key" label="Key" options={keyOptions} />
        <AppFilter />
        {isAdmin && (
          <PickerFilter
            name="member"
            label="Member"
            options={
              members.data &&
              toOptions(
                members.data.data.map(({ email }) => email),
                "All members",
              )
            }
          />
        )}
        <SelectFilter name="surface" label="Surface" options={toOptions(SURFACES, "All surfaces")} />
        <SelectFilter name="env" label="Environment" options={toOptions(ENVIRONMENTS, "Live and test")} />
      </div>
      {active.length > 0 && (
        <Button
          variant="quiet"
          icon="close"
          onClick={() => set(Object.fromEntries([...FILTERS, ...PERIOD].map((name) => [name, null])))}
        >
          Clear filters
        </Button>
      )}
    </search>
  );
}
