import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Stack, Stat, StatRow, Toolbar } from "../../ui/layout.tsx";
import { ExternalLink } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";

type Setting = Row<"manageListSettings">;

const SOURCES = { default: "Default", environment: "Environment", file: "File" } as const;

const COLUMNS: readonly Column<Setting>[] = [
  {
    id: "name",
    header: "Setting",
    sortValue: (row) => row.name,
    phone: "title",
    className: "md:w-2/5",
    cell: (row) => (
      <>
        <span className="inline-flex max-w-full items-center gap-1">
          <span className="truncate font-mono text-[0.8125rem] font-medium">{row.name}</span>
          <CopyButton text={row.name} label={`Copy ${row.name}`} />
        </span>
        <span className="block text-xs text-soft">{row.says}</span>
      </>
    ),
  },
  { id: "value", header: "Value", cell: (row) => <SettingValue row={row} />, className: "md:max-w-64" },
  {
    id: "source",
    header: "Source",
    sortValue: (row) => SOURCES[row.source],
    cell: (row) => (
      <span className="inline-flex flex-wrap items-center justify-end gap-x-2">
        <Badge tone={row.source === "default" ? "neutral" : "accent"}>{SOURCES[row.source]}</Badge>
        {row.source !== "default" && row.default !== null && row.default !== row.value && (
          <span className="text-xs break-all text-soft">Default {row.default}</span>
        )}
      </span>
    ),
  },
];

function SettingValue({ row }: { readonly row: Setting }) {
  if (row.secret) return <Badge tone={row.set ? "good" : "neutral"}>{row.set ? "Set (hidden)" : "Not set"}</Badge>;
  if (row.value === null) return <span className="text-faint">{row.set ? "Set" : "Not set"}</span>;
  return <code className="font-mono text-[0.8125rem] break-all">{row.value}</code>;
}

export function Screen() {
  const search = useSearchParams();
  const settings = useManage("manageListSettings", {});
  const all = settings.data?.data ?? [];
  const searchText = search.get("q").toLowerCase();
  const from = search.get("from");
  const rows = all.filter(
    (row) =>
      (from === "" || (from === "set" ? row.source !== "default" : row.source === from)) &&
      (searchText === "" || `${row.name} ${row.says}`.toLowerCase().includes(searchText)),
  );
  return (
    <>
      <PageHeader
        title="Configuration"
        about={
          <>
            The settings that the gateway was started with. Settings are environment variables; changes apply after a
            restart. <ExternalLink href="/docs/guides/settings">View documentation</ExternalLink>
          </>
        }
        actions={<ApiButton calls={[{ id: "manageListSettings", args: {}, description: "List settings" }]} />}
      />
      <Stack>
        {settings.data !== undefined && (
          <StatRow>
            <Stat
              label="Version"
              value={settings.data.version}
              note={
                <>
                  Started <Time at={settings.data.started_at} />
                </>
              }
            />
            <Stat
              label="Changed"
              value={<Num value={all.filter(({ source }) => source !== "default").length} />}
              note={`of ${all.length} settings`}
            />
            <Stat
              label="Warnings"
              value={<Num value={settings.data.warnings.length} />}
              tone={settings.data.warnings.length > 0 ? "warn" : "good"}
            />
          </StatRow>
        )}
        {settings.data !== undefined && settings.data.warnings.length > 0 && (
          <Callout tone="warn" title="Warnings">
            <ul className="list-inside list-disc">
              {settings.data.warnings.map((warning) => (
                <li key={warning} className="break-words">
                  {warning}
                </li>
              ))}
            </ul>
          </Callout>
        )}
        <div>
          <Toolbar>
            <Field label="Search" hideLabel className="w-64 max-sm:w-full">
              <Input
                type="search"
                placeholder="Search settings"
                value={search.get("q")}
                onChange={(event) => search.set({ q: event.target.value })}
              />
            </Field>
            <Field label="Source" hideLabel className="w-48 max-sm:w-full">
              <Select
                value={from}
                onChange={(event) => search.set({ from: event.target.value })}
                options={[
                  { value: "", label: "All settings" },
                  { value: "set", label: "Changed from default" },
                  { value: "environment", label: "Environment" },
                  { value: "file", label: "File" },
                  { value: "default", label: "Default" },
                ]}
              />
            </Field>
          </Toolbar>
          <Table
            label="Settings"
            columns={COLUMNS}
            rows={rows}
            keyOf={(row) => row.name}
            query={settings}
            empty={
              <EmptyState icon="settings" title="No settings match" hint="Try another search or clear the filters.">
                <Button onClick={() => search.set({ q: null, from: null })}>Clear filters</Button>
              </EmptyState>
            }
          />
        </div>
      </Stack>
    </>
  );
}
