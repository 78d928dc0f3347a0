import { useManageMutation } from "../../api/hooks.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Num } from "../../ui/values.tsx";
import type { NodeDetail } from "./node.ts";

type ServedModel = NodeDetail["served"][number];
type Surface = ServedModel["surfaces"][number];

type Props = { readonly workspace: string; readonly node: NodeDetail; readonly isAdmin: boolean };

export function NodeModels({ workspace, node, isAdmin }: Props) {
  const change = useManageMutation("manageChangeNode", { onDone: () => toast("Surfaces saved") });
  const put = (id: string, surfaces: readonly Surface[] | undefined) => {
    const { [id]: _, ...others } = node.surfaces;
    const body = { surfaces: surfaces === undefined ? others : { ...others, [id]: [...surfaces] } };
    change.mutate({ params: { workspace, node: node.name }, body });
  };
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>Models</h3>
      <Table
        label="Node models"
        columns={columnsFor(node, isAdmin ? put : undefined)}
        rows={node.served}
        keyOf={({ id }) => id}
        empty={
          <p className="px-4 py-3 text-soft">
            {node.state === "offline"
              ? "Models are listed when the node is connected."
              : "The local server has no models. Load a model there; the list updates automatically."}
          </p>
        }
      />
      <ErrorNote error={change.error} />
    </section>
  );
}

type SurfacePut = (id: string, surfaces: readonly Surface[] | undefined) => void;

function columnsFor({ surfaces }: NodeDetail, put: SurfacePut | undefined): readonly Column<ServedModel>[] {
  return [
    { id: "model", header: "Model", cell: ({ model }) => <span className="font-mono text-xs break-all">{model}</span> },
    {
      id: "surfaces",
      header: "Surfaces",
      className: "md:min-w-44",
      cell: (row) =>
        put === undefined ? (
          row.surfaces.join(", ")
        ) : (
          <SurfaceChoice row={row} set={Object.hasOwn(surfaces, row.id) ? surfaces[row.id] : undefined} put={put} />
        ),
    },
    {
      id: "context",
      header: "Context",
      sortValue: ({ context_tokens }) => context_tokens,
      align: "end",
      cell: ({ context_tokens }) => <Num value={context_tokens} />,
    },
    {
      id: "mapped",
      header: "Catalogue model",
      sortValue: ({ mapped_to }) => mapped_to,
      cell: ({ mapped_to }) =>
        mapped_to === null ? (
          <span className="text-faint">None</span>
        ) : (
          <span className="font-mono text-xs break-all">{mapped_to}</span>
        ),
    },
  ];
}

const CHOICES: readonly { readonly value: string; readonly label: string; readonly surfaces: readonly Surface[] }[] = [
  { value: "chat", label: "Chat", surfaces: ["chat"] },
  { value: "embeddings", label: "Embeddings", surfaces: ["embeddings"] },
  { value: "rerank", label: "Rerank", surfaces: ["rerank"] },
  { value: "images", label: "Images", surfaces: ["images"] },
  { value: "chat,embeddings", label: "Chat and embeddings", surfaces: ["chat", "embeddings"] },
];

function SurfaceChoice({
  row,
  set,
  put,
}: {
  readonly row: ServedModel;
  readonly set: readonly Surface[] | undefined;
  readonly put: SurfacePut;
}) {
  return (
    <Field label={`Surfaces of ${row.id}`} hideLabel>
      <Select
        value={set?.toSorted().join(",") ?? ""}
        onChange={(event) => put(row.id, CHOICES.find(({ value }) => value === event.target.value)?.surfaces)}
        options={[
          { value: "", label: `Detected: ${row.announced_surfaces.join(", ")}` },
          ...CHOICES.map(({ value, label }) => ({ value, label })),
        ]}
      />
    </Field>
  );
}
