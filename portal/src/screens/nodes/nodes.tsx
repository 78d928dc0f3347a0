import { usePages } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { PageHeader } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { AddNode } from "./add-node.tsx";
import { AgentCommands } from "./agent-commands.tsx";
import { NodeLevel } from "./attestation.tsx";
import { type NodeRow, REFETCH_MS, STATES } from "./node.ts";
import { NodeCountry } from "./node-country.tsx";
import { Load, NodeDrawer } from "./node-drawer.tsx";

export function Screen() {
  const { workspace } = useWorkspace();
  const { isAdmin } = usePermissions(workspace);
  const { get, set } = useSearchParams();
  const nodes = usePages("manageListNodes", { params: { workspace } }, { refetchMs: REFETCH_MS });
  const open = (name: string | null) => set({ node: name }, name === null ? "replace" : "push");
  const add = () => set({ new: "1" }, "push");
  const chosen = get("node");
  return (
    <>
      <PageHeader
        title="Nodes"
        about="Your own machines with a model server. Nodes open a connection to the gateway and serve only this workspace, at no cost."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListNodes", args: { params: { workspace } } }]} />
            {isAdmin && (
              <Button variant="primary" icon="plus" onClick={add}>
                Add node
              </Button>
            )}
          </>
        }
      />
      <Table
        label="Nodes"
        columns={COLUMNS}
        rows={nodes.rows}
        keyOf={({ id }) => id}
        onOpen={({ name }) => open(name)}
        query={nodes}
        empty={<NoNodes isAdmin={isAdmin} add={add} />}
      />
      {chosen !== "" && <NodeDrawer key={chosen} name={chosen} isAdmin={isAdmin} close={() => open(null)} />}
      {get("new") !== "" && isAdmin && <AddNode workspace={workspace} close={() => set({ new: null }, "replace")} />}
    </>
  );
}

function NoNodes({ isAdmin, add }: { readonly isAdmin: boolean; readonly add: () => void }) {
  return (
    <EmptyState
      icon="server"
      title="No nodes yet"
      hint="A node runs next to vLLM, Ollama, llama.cpp or LM Studio. Requests served by a node are free."
    >
      <div className="grid w-xl max-w-full gap-4 text-left">
        <AgentCommands />
        {isAdmin ? (
          <Button variant="primary" icon="plus" className="justify-self-center" onClick={add}>
            Add node
          </Button>
        ) : (
          <p className="text-center text-soft">Ask an admin to add a node.</p>
        )}
      </div>
    </EmptyState>
  );
}

const COLUMNS: readonly Column<NodeRow>[] = [
  {
    id: "name",
    header: "Node",
    sortValue: ({ name }) => name,
    className: "md:whitespace-nowrap",
    cell: ({ name }) => name,
  },
  { id: "state", header: "Status", sortValue: ({ state }) => state, cell: (row) => <NodeStatusBadge row={row} /> },
  {
    id: "country",
    header: "Country",
    sortValue: ({ country }) => country,
    cell: ({ country }) => <NodeCountry country={country} short />,
  },
  { id: "level", header: "Level", sortValue: ({ level }) => level, cell: (node) => <NodeLevel node={node} /> },
  {
    id: "models",
    header: "Models",
    sortValue: ({ models }) => models.length,
    className: "md:min-w-52",
    cell: ({ models }) => <Models ids={models} />,
  },
  { id: "load", header: "Load", align: "end", cell: (node) => <Load node={node} /> },
  {
    id: "latency",
    header: "Round trip",
    sortValue: ({ latency_ms }) => latency_ms,
    align: "end",
    cell: ({ latency_ms }) => <Num value={latency_ms} unit="ms" />,
  },
  {
    id: "version",
    header: "Agent",
    sortValue: ({ agent }) => agent,
    cell: ({ agent, agent_update, server }) => (
      <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
        {[agent, server].filter(Boolean).join(" · ") || "–"}
        {agent_update !== null && (
          <Badge tone="warn" title={`The gateway has version ${agent_update}`}>
            Update agent
          </Badge>
        )}
      </span>
    ),
  },
  {
    id: "error",
    header: "Last error",
    cell: ({ last_error }) =>
      last_error === null ? (
        <span className="text-faint">None</span>
      ) : (
        <span className="line-clamp-2 text-xs text-soft" title={last_error.message}>
          {last_error.message}, <Time at={last_error.at} />
        </span>
      ),
  },
];

function NodeStatusBadge({ row }: { readonly row: NodeRow }) {
  const { label, tone } = STATES[row.state];
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
      <Badge tone={tone} dot title={row.set_aside?.reason}>
        {label}
      </Badge>
      {row.state === "offline" && (
        <span className="text-xs text-soft">
          <Time at={row.last_seen_at} none="Never connected" />
        </span>
      )}
    </span>
  );
}

const SHOWN_MODELS = 2;

function Models({ ids }: { readonly ids: readonly string[] }) {
  if (ids.length === 0) return <span className="text-faint">None</span>;
  const rest = ids.length - SHOWN_MODELS;
  return (
    <span className="font-mono text-xs break-all" title={ids.join(", ")}>
      {ids.slice(0, SHOWN_MODELS).join(", ")}
      {rest > 0 && <span className="font-sans text-soft"> and {rest} more</span>}
    </span>
  );
}
