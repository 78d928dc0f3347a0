import { type SyntheticEvent, useEffect, useId, useState } from "react";
import { useNavigateTo, useSearchParams, useWorkspace } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Field, Input, type Option, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { keyLabels } from "../keys/key.ts";
import { ENVIRONMENTS, FILTERS, PERIOD, SURFACES } from "./filters.ts";

const PERIODS: readonly Option[] = [
  { value: "", label: "Any time" },
  { value: "1h", label: "Last hour" },
  { value: "24h", label: "Last 24 hours" },
  { value: "7d", label: "Last 7 days" },
  { value: "30d", label: "Last 30 days" },
  { value: "own", label: "From … to …" },
];

const CODES = [400, 401, 402, 403, 404, 408, 409, 413, 429, 499, 500, 501, 502, 503, 504];
const STATUSES: readonly Option[] = [
  { value: "", label: "Any status" },
  { value: "2xx", label: "2xx served" },
  { value: "4xx", label: "4xx refused" },
  { value: "5xx", label: "5xx failed" },
  ...CODES.map((code) => ({ value: String(code), label: String(code) })),
];

const plain = (values: readonly string[], any: string): Option[] => [
  { value: "", label: any },
  ...values.map((value) => ({ value, label: value })),
];

/** A value of the address that none of the choices has is shown as it is, not as if there were no filter. */
function withCurrent(options: readonly Option[], current: string): readonly Option[] {
  return options.some(({ value }) => value === current) ? options : [...options, { value: current, label: current }];
}

function Choice({
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

/** Text that filters when it is finished: with Enter, or when the field is left. */
function Words({
  name,
  label,
  choices = [],
}: {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly string[];
}) {
  const id = useId();
  const { get, set } = useSearchParams();
  const current = get(name);
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  const use = () => {
    if (text.trim() !== current) set({ [name]: text.trim() });
  };
  return (
    <Field label={label} hideLabel className="w-38 max-sm:w-auto">
      <Input
        value={text}
        placeholder={label}
        list={id}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={use}
        onKeyDown={(event) => event.key === "Enter" && use()}
      />
      <datalist id={id}>
        {choices.map((choice) => (
          <option key={choice} value={choice} />
        ))}
      </datalist>
    </Field>
  );
}

function Period() {
  const { get, set } = useSearchParams();
  const isOwn = get("range") === "own" || get("since") !== "" || get("until") !== "";
  const choose = (range: string) => set(range === "own" ? { range } : { range, since: null, until: null });
  return (
    <>
      <Field label="Period" hideLabel className="w-38 max-sm:w-auto">
        <Select
          value={isOwn ? "own" : get("range")}
          options={PERIODS}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
      {isOwn &&
        (["since", "until"] as const).map((name) => (
          <Field key={name} label={name === "since" ? "From" : "Until"} hideLabel className="w-52 max-sm:w-auto">
            <Input
              type="datetime-local"
              value={get(name)}
              onChange={(event) => set({ range: "own", [name]: event.target.value })}
            />
          </Field>
        ))}
    </>
  );
}

function FindById() {
  const { at } = useWorkspace();
  const go = useNavigateTo();
  const [id, setId] = useState("");
  const find = (event: SyntheticEvent) => {
    event.preventDefault();
    if (id.trim() !== "") go(at(`requests/${encodeURIComponent(id.trim())}`));
  };
  return (
    <form onSubmit={find} className="flex w-64 gap-1 max-sm:w-full">
      <Field label="Request id" hideLabel className="flex-1">
        <Input
          type="search"
          mono
          value={id}
          placeholder="Find by request id"
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setId(event.target.value)}
        />
      </Field>
      <Button type="submit" aria-label="Find the request" title="Find the request" className="px-2.5">
        <Icon name="search" />
      </Button>
    </form>
  );
}

/** Everything that narrows the list; all of it stands in the address. */
export function FilterBar() {
  const { workspace } = useWorkspace();
  const { isAdmin } = usePermissions(workspace);
  const { get, set } = useSearchParams();
  // On a phone they would fill the first screen.
  const [isOpen, setIsOpen] = useState(false);
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 1000 } });
  const members = useManage("manageListMembers", { params: { workspace } }, { enabled: isAdmin });
  const providers = useManage("manageListProviders", { query: { workspace } });
  const active = [...FILTERS, ...PERIOD].filter((name) => get(name) !== "");
  const keyOptions = [
    { value: "", label: "Any key" },
    ...[...keyLabels(keys.data?.data ?? [])].map(([value, label]) => ({ value, label })),
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
        <Choice name="status" label="Status" options={STATUSES} />
        <Choice name="key" label="Key" options={keyOptions} />
        <Words name="model" label="Model" />
        <Words name="provider" label="Provider" choices={(providers.data?.data ?? []).map(({ slug }) => slug)} />
        <Words name="app" label="App" />
        {isAdmin && (
          <Choice
            name="member"
            label="Member"
            options={plain(
              (members.data?.data ?? []).map(({ email }) => email),
              "Any member",
            )}
          />
        )}
        <Choice name="surface" label="Surface" options={plain(SURFACES, "Any surface")} />
        <Choice name="env" label="Environment" options={plain(ENVIRONMENTS, "Live and test")} />
      </div>
      {active.length > 0 && (
        <Button
          look="quiet"
          icon="close"
          onClick={() => set(Object.fromEntries([...FILTERS, ...PERIOD].map((name) => [name, null])))}
        >
          Clear {active.length === 1 ? "the filter" : "all filters"}
        </Button>
      )}
    </search>
  );
}
