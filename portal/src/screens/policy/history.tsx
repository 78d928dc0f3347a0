import { useNavigateTo, useWorkspace } from "../../address.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time, Unknown } from "../../ui/values.tsx";
import { Differences } from "./differences.tsx";
import { differencesOf, type Policy } from "./draft.ts";

type Version = {
  readonly version: number;
  readonly created_at: string;
  readonly by: string | null;
  readonly policy: Policy;
};
type Row = Version & { readonly before: Policy | undefined; readonly isInForce: boolean };

/** Every version with who made it and what it changed. An old one can be taken back into the editor. */
export function History({ mayChange, use }: { readonly mayChange: boolean; readonly use: (policy: Policy) => void }) {
  const { workspace, at } = useWorkspace();
  const go = useNavigateTo();
  const versions = usePages("manageListPolicyVersions", { params: { workspace }, query: { limit: 50 } });
  const rows: Row[] = versions.rows.map((one, index) => ({
    ...one,
    before: versions.rows[index + 1]?.policy,
    isInForce: index === 0,
  }));
  const take = (policy: Policy) => {
    use(policy);
    go(at("policy"));
  };
  return (
    <Table
      label="Versions of the policy"
      columns={columnsFor(mayChange, take)}
      rows={rows}
      keyOf={({ version }) => String(version)}
      query={versions}
      empty={
        <EmptyState icon="clock" title="No version was kept yet" hint="The next change of the policy is the first." />
      }
    />
  );
}

function columnsFor(mayChange: boolean, take: (policy: Policy) => void): readonly Column<Row>[] {
  return [
    {
      id: "version",
      header: "Version",
      cell: ({ version, isInForce }) => (
        <span className="inline-flex items-center gap-2">
          {version}
          {isInForce && <Badge tone="good">in force</Badge>}
        </span>
      ),
    },
    { id: "at", header: "When", cell: ({ created_at }) => <Time at={created_at} as="short" /> },
    { id: "by", header: "Who", cell: ({ by }) => by ?? <Unknown /> },
    {
      id: "what",
      header: "What changed",
      cell: ({ policy, before }) =>
        before === undefined ? (
          <span className="text-soft">the first one</span>
        ) : (
          <Differences rows={differencesOf(before, policy)} />
        ),
    },
    {
      id: "use",
      header: <span className="sr-only">Action</span>,
      align: "end",
      cell: ({ policy, isInForce, version }) =>
        mayChange && !isInForce ? (
          <Button size="small" onClick={() => take(policy)} aria-label={`Edit from version ${version}`}>
            Edit from here
          </Button>
        ) : null,
    },
  ];
}
