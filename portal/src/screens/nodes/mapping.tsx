import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useModelChoices } from "../../ui/use-model-choices.ts";
import type { NodeDetail } from "./node.ts";

type Props = { readonly workspace: string; readonly node: NodeDetail; readonly isAdmin: boolean };

/** Which local models also stand behind catalogue models: a request for those may then be served here, at no cost. */
export function Mapping({ workspace, node, isAdmin }: Props) {
  const change = useManageMutation("manageChangeNode", { onDone: () => toast("The next request already follows it.") });
  const put = (mapping: Readonly<Record<string, string>>) =>
    change.mutate({ params: { workspace, node: node.name }, body: { mapping } });
  const pairs = Object.entries(node.mapping);
  const without = (local: string) => Object.fromEntries(pairs.filter(([one]) => one !== local));
  return (
    <section className="grid gap-3 border-t pt-4">
      <div>
        <h3>Behind catalogue models</h3>
        <p className="text-soft">
          A request for the catalogue model may then be served by this machine too, at no cost. Routers say when.
        </p>
      </div>
      {pairs.length === 0 ? (
        <p className="text-soft">None: its models are called by their own ids only.</p>
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
                  label={`Take ${local} from behind ${model}`}
                  onClick={() => put(without(local))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {isAdmin && (
        <AddPair
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

/** What nodes are asked for. */
const SERVED = ["chat", "embeddings"];

function AddPair({
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
  const taken = Object.values(node.mapping);
  const locals = node.models.filter((id) => !(id in node.mapping));
  const choices = useModelChoices(SERVED).filter(({ value }) => !taken.includes(value));
  if (locals.length === 0)
    return node.state === "offline" ? (
      <p className="text-xs text-soft">Connect the node to choose from its models.</p>
    ) : null;
  return (
    <form
      className="flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        add(local, model);
      }}
    >
      <Field label="Model of the node" className="min-w-40 flex-1">
        <Select
          required
          value={local}
          onChange={(event) => setLocal(event.target.value)}
          options={[{ value: "", label: "Choose", disabled: true }, ...locals.map((id) => ({ value: id, label: id }))]}
        />
      </Field>
      <Field label="Stands behind" className="min-w-40 flex-1">
        <Select
          required
          value={model}
          onChange={(event) => setModel(event.target.value)}
          options={[
            { value: "", label: "Choose", disabled: true },
            ...choices.map(({ value, label }) => ({ value, label })),
          ]}
        />
      </Field>
      <Button type="submit" icon="plus" busy={busy}>
        Map
      </Button>
    </form>
  );
}
