import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import type { NodeDetail } from "./node.ts";

type Props = { readonly workspace: string; readonly node: NodeDetail; readonly isAdmin: boolean };

/** Maps local models to catalogue models, so that the node can serve requests for them. */
export function ModelMapping({ workspace, node, isAdmin }: Props) {
  const change = useManageMutation("manageChangeNode", { onDone: () => toast("Model mapping saved") });
  const put = (mapping: Readonly<Record<string, string>>) =>
    change.mutate({ params: { workspace, node: node.name }, body: { mapping } });
  const pairs = Object.entries(node.mapping);
  const without = (local: string) => Object.fromEntries(pairs.filter(([one]) => one !== local));
  return (
    <section className="grid gap-3 border-t pt-4">
      <div>
        <h3>Catalogue model mapping</h3>
        <p className="text-soft">
          Requests for a mapped catalogue model can be served by this node at no cost. Routers define when.
        </p>
      </div>
      {pairs.length === 0 ? (
        <p className="text-soft">No mappings. Call models by their node IDs.</p>
      ) : (
        <ul className="grid gap-1">
          {pairs.map(([local, model]) => (
            <li key={local} className="flex min-h-8 items-center gap-2 rounded-md border px-3 py-1">
              <span className="min-w-0 flex-1 font-mono text-xs break-all">
                {local} → {model}
              </span>
              {isAdmin && (
                <IconButton
                  icon="trash"
                  label={`Remove mapping of ${local} to ${model}`}
                  onClick={() => put(without(local))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {isAdmin && (
        <AddMapping
          key={pairs.length}
          node={node}
          busy={change.isPending}
          add={(local, model) => put({ ...node.mapping, [local]: model })}
        />
      )}
      <ErrorNote error={change.error} />
    </section>
  );
}

/** Surfaces that nodes serve. */
const NODE_SURFACES = ["chat", "embeddings", "rerank", "images"];

function AddMapping({
  node,
  busy,
  add,
}: {
  readonly node: NodeDetail;
  readonly busy: boolean;
  readonly add: (local: string, model: string) => void;
}) {
  const [local, setLocal] = useState("");
  const [model, setModel] = useState("");
  const mappedModels = Object.values(node.mapping);
  const locals = node.models.filter((id) => !(id in node.mapping));
  const choices = useModelChoices(NODE_SURFACES).filter(({ value }) => !mappedModels.includes(value));
  if (locals.length === 0)
    return node.state === "offline" ? <p className="text-xs text-soft">Connect the node to map its models.</p> : null;
  return (
    <form
      className="flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        add(local, model);
      }}
    >
      <Field label="Node model" className="min-w-40 flex-1">
        <Select
          required
          value={local}
          onChange={(event) => setLocal(event.target.value)}
          options={[
            { value: "", label: "Select a model", disabled: true },
            ...locals.map((id) => ({ value: id, label: id })),
          ]}
        />
      </Field>
      <Field label="Catalogue model" className="min-w-40 flex-1">
        <Combobox
          required
          value={model}
          onChange={setModel}
          options={choices}
          placeholder="Select a model"
          searchPlaceholder="Search models"
        />
      </Field>
      <Button type="submit" icon="plus" busy={busy}>
        Add mapping
      </Button>
    </form>
  );
}
