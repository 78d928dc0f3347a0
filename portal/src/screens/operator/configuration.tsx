import { useSearchParams } from "../../address.ts";
import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Callout, PageHeader, Stack, Stat, StatRow, Toolbar } from "../../ui/layout.tsx";
import { OutLink } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Num, Time } from "../../ui/values.tsx";

type Setting = Row<"manageListSettings">;

const SOURCES = { default: "Default", environment: "Environment", file: "File" } as const;

const COLUMNS: readonly Column<Setting>[] = [
  {
    id: "name",
    header: "Setting",
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
  { id: "value", header: "In force", cell: (row) => <Value row={row} />, className: "md:max-w-64" },
  {
    id: "source",
    header: "From",
    cell: (row) => (
      <span className="inline-flex flex-wrap items-center justify-end gap-x-2">
        <Badge tone={row.source === "default" ? "neutral" : "accent"}>{SOURCES[row.source]}</Badge>
        {row.source !== "default" && row.default !== null && row.default !== row.value && (
          <span className="text-xs break-all text-soft">default {row.default}</span>
        )}
      </span>
    ),
  },
];

function Value({ row }: { readonly row: Setting }) {
  if (row.secret) return <Badge tone={row.set ? "good" : "neutral"}>{row.set ? "set, never shown" : "not set"}</Badge>;
  if (row.value === null) return <span className="text-faint">{row.set ? "set" : "nothing"}</span>;
  return <code className="font-mono text-[0.8125rem] break-all">{row.value}</code>;
}

/** Every setting as it is in force. */
export function Screen() {
  const search = useSearchParams();
  const asked = useManage("manageListSettings", {});
  const all = asked.data?.data ?? [];
  const words = search.get("q").toLowerCase();
  const from = search.get("from");
  const rows = all.filter(
    (row) =>
      (from === "" || (from === "set" ? row.source !== "default" : row.source === from)) &&
      (words === "" || `${row.name} ${row.says}`.toLowerCase().includes(words)),
  );
  return (
    <>
      <PageHeader
        title="Configuration in force"
        about={
          <>
            What the gateway was started with. Settings are environment variables; a change holds after a restart.{" "}
            <OutLink href="/docs">The documents</OutLink> say more.
          </>
        }
        actions={
          <CallButton calls={[{ id: "manageListSettings", args: {}, says: "Show the configuration in force" }]} />
        }
      />
      <Stack>
        {asked.data !== undefined && (
          <StatRow>
            <Stat
              label="Version"
              value={asked.data.version}
              note={
                <>
                  started <Time at={asked.data.started_at} />
                </>
              }
            />
            <Stat
              label="Set here"
              value={<Num value={all.filter(({ source }) => source !== "default").length} />}
              note={`of ${all.length} settings`}
            />
            <Stat
              label="To look at"
              value={<Num value={asked.data.warnings.length} />}
              tone={asked.data.warnings.length > 0 ? "warn" : "good"}
            />
          </StatRow>
        )}
        {asked.data !== undefined && asked.data.warnings.length > 0 && (
          <Callout tone="warn" title="Settings to look at">
            <ul className="list-inside list-disc">
              {asked.data.warnings.map((warning) => (
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
                placeholder="Search names and meanings"
                value={search.get("q")}
                onChange={(event) => search.set({ q: event.target.value })}
              />
            </Field>
            <Field label="Where it comes from" hideLabel className="w-48 max-sm:w-full">
              <Select
                value={from}
                onChange={(event) => search.set({ from: event.target.value })}
                options={[
                  { value: "", label: "All settings" },
                  { value: "set", label: "Set by somebody" },
                  { value: "environment", label: "From the environment" },
                  { value: "file", label: "From a file" },
                  { value: "default", label: "Defaults" },
                ]}
              />
            </Field>
          </Toolbar>
          <Table
            label="Settings"
            columns={COLUMNS}
            rows={rows}
            keyOf={(row) => row.name}
            query={asked}
            empty={
              <EmptyState icon="settings" title="No setting fits" hint="Search for another word, or show all of them.">
                <Button onClick={() => search.set({ q: null, from: null })}>Show all</Button>
              </EmptyState>
            }
          />
        </div>
      </Stack>
    </>
  );
}
