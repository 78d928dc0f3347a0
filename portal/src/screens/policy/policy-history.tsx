import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time, Unknown } from "../../ui/values.tsx";
import { useNavigateTo, useWorkspace } from "../../url-state.ts";
import { Differences } from "./differences.tsx";
import { differencesOf, type Policy } from "./policy-draft.ts";

type Version = {
  readonly version: number;
  readonly created_at: string;
  readonly by: string | null;
  readonly policy: Policy;
};
type Row = Version & { readonly before: Policy | undefined; readonly isCurrent: boolean };

/** All versions with author and changes; an old version can be loaded into the editor. */
export function PolicyHistory({
  mayChange,
  use,
}: {
  readonly mayChange: boolean;
  readonly use: (policy: Policy) => void;
}) {
  const { workspace, at } = useWorkspace();
  const navigateTo = useNavigateTo();
  const versions = usePages("manageListPolicyVersions", { params: { workspace }, query: { limit: 50 } });
  const rows: Row[] = versions.rows.map((one, index) => ({
    ...one,
    before: versions.rows[index + 1]?.policy,
    isCurrent: index === 0,
  }));
  const loadVersion = (policy: Policy) => {
    use(policy);
    navigateTo(at("policy"));
  };
  return (
    <Table
      label="Policy versions"
      columns={columnsFor(mayChange, loadVersion)}
      rows={rows}
      keyOf={({ version }) => String(version)}
      query={versions}
      empty={
        <EmptyState icon="clock" title="No versions yet" hint="The next policy change creates the first version." />
      }
    />
  );
}

function columnsFor(mayChange: boolean, loadVersion: (policy: Policy) => void): readonly Column<Row>[] {
  return [
    {
      id: "version",
      header: "Version",
      sortValue: ({ version }) => version,
      cell: ({ version, isCurrent }) => (
        <span className="inline-flex items-center gap-2">
          {version}
          {isCurrent && <Badge tone="good">Current</Badge>}
        </span>
      ),
    },
    {
      id: "at",
      header: "Time",
      sortValue: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} as="short" />,
    },
    { id: "by", header: "Author", sortValue: ({ by }) => by, cell: ({ by }) => by ?? <Unknown /> },
    {
      id: "what",
      header: "Changes",
      cell: ({ policy, before }) =>
        before === undefined ? (
          <span className="text-soft">Initial version</span>
        ) : (
          <Differences rows={differencesOf(before, policy)} />
        ),
    },
    {
      id: "actions",
      header: <span className="sr-only">Action</span>,
      align: "end",
      cell: ({ policy, isCurrent, version }) =>
        mayChange && !isCurrent ? (
          <Button size="small" onClick={() => loadVersion(policy)} aria-label={`Load into editor: version ${version}`}>
            Load into editor
          </Button>
        ) : null,
    },
  ];
}
