import { countryName } from "../../format/country.ts";
import { percentText } from "../../format/number.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { Card } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Country, Money, Num, Unknown } from "../../ui/values.tsx";
import type { Report } from "./report.ts";

type Group = Report["by_level"][number];
type ServedRow = Report["served"][number];
type Kind = "level" | "country" | "provider";

export function Groups({
  title,
  kind,
  rows,
}: {
  readonly title: string;
  readonly kind: Kind;
  readonly rows: readonly Group[];
}) {
  const all = rows.reduce((sum, { served }) => sum + served, 0);
  return (
    <Card title={title} about="Live traffic">
      {rows.length === 0 ? (
        <p className="text-soft">No live traffic.</p>
      ) : (
        <ul className="grid gap-3">
          {rows.map((row) => {
            const percent = all === 0 ? 0 : (100 * row.served) / all;
            return (
              <li key={row.name} className="grid gap-1">
                <div className="flex items-center justify-between gap-3">
                  <GroupName kind={kind} name={row.name} />
                  <span className="figures text-right text-soft">
                    <Num value={row.served} /> · {percentText(percent / 100)}
                  </span>
                </div>
                <div aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-line">
                  <div className="h-full min-w-0.5 rounded-full bg-accent" style={{ width: `${percent}%` }} />
                </div>
                <p className="text-xs text-soft">
                  <Num value={row.input_tokens} /> input tokens, <Num value={row.output_tokens} /> output tokens,{" "}
                  <Money amount={row.cost} currency={row.currency} />
                </p>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}

/** A group lists all its countries: the request may have run in any of them. */
function GroupName({ kind, name }: { readonly kind: Kind; readonly name: string }) {
  if (kind === "level") return <LevelBadge level={name} />;
  if (kind === "provider") return <UntrustedText text={name} className="font-medium" />;
  const codes = name.split(", ");
  const isKnown = codes.every((code) => /^[A-Z]{2}$/.test(code));
  const only = codes[0] ?? "";
  if (isKnown && codes.length === 1) return <Country code={only} />;
  return <UntrustedText text={isKnown ? codes.map(countryName).join(", ") : name} />;
}

export function ServedEndpoints({ report }: { readonly report: Report }) {
  return (
    <section className="grid gap-3">
      <h2 className="text-base">Endpoints</h2>
      <Table
        label="Endpoints"
        id="served-endpoints"
        columns={COLUMNS}
        rows={report.served}
        keyOf={(row) => `${row.policy_version} ${row.environment} ${row.endpoint} ${row.model} ${row.level}`}
        empty={<p className="px-5 py-4 text-soft">No requests were served in this period.</p>}
      />
    </section>
  );
}

const COLUMNS: readonly Column<ServedRow>[] = [
  {
    id: "model",
    header: "Model and endpoint",
    sortValue: (row) => row.model,
    cell: (row) => (
      <span className="grid max-w-80 min-w-0">
        <UntrustedText text={row.model} />
        <UntrustedText text={row.endpoint} mono className="text-xs text-soft" />
      </span>
    ),
  },
  {
    id: "provider",
    header: "Provider",
    sortValue: (row) => row.provider,
    cell: (row) => <UntrustedText text={row.provider} />,
  },
  { id: "level", header: "Level", sortValue: (row) => row.level, cell: (row) => <LevelBadge level={row.level} /> },
  {
    id: "countries",
    header: "Countries",
    cell: (row) =>
      row.countries.length === 0 ? (
        <Unknown />
      ) : (
        <span className="inline-flex flex-wrap gap-1.5">
          {row.countries.map((code) => (
            <Country key={code} code={code} short />
          ))}
        </span>
      ),
  },
  { id: "environment", header: "Environment", sortValue: (row) => row.environment, cell: (row) => row.environment },
  {
    id: "policy",
    header: "Policy",
    sortValue: (row) => row.policy_version,
    align: "end",
    cell: (row) => (row.policy_version === null ? <Unknown /> : `version ${row.policy_version}`),
  },
  {
    id: "served",
    header: "Requests",
    sortValue: (row) => row.served,
    align: "end",
    cell: (row) => <Num value={row.served} />,
  },
  {
    id: "cost",
    header: "Cost",
    sortValue: (row) => Number(row.cost),
    align: "end",
    cell: (row) => <Money amount={row.cost} currency={row.currency} />,
  },
];
