import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { UntrustedText } from "../../ui/untrusted-text.tsx";
import { Time } from "../../ui/values.tsx";
import type { NodeDetail, NodeRow } from "./node.ts";

export function NodeLevel({ node }: { readonly node: Pick<NodeRow, "level" | "attestation"> }) {
  return <LevelBadge level={node.level} isAttested={node.attestation !== null} />;
}

type Props = { readonly workspace: string; readonly node: NodeDetail; readonly isAdmin: boolean };

/** The admin's statement that raises the level of a node in the EEA. */
export function Attestation({ workspace, node, isAdmin }: Props) {
  const [dialog, setDialog] = useState<"attest" | "withdraw">();
  const withdraw = useManageMutation("manageWithdrawAttestation", {
    onDone: () => {
      setDialog(undefined);
      toast("Attestation withdrawn");
    },
  });
  const { attestation } = node;
  // Levels above L1 include a location in the EEA.
  const mayAttest = isAdmin && (node.level === "L1" || attestation !== null);
  return (
    <section className="grid gap-3 border-t pt-4">
      <div>
        <h3>Attested level</h3>
        <p className="text-soft">
          Without a country a node is unclassified, outside the EEA it is L0, inside the EEA L1. A higher level requires
          an attestation, which is logged and shown in the evidence report.
        </p>
      </div>
      {attestation === null ? (
        <p className="text-soft">None. The level follows from the country.</p>
      ) : (
        <div className="grid gap-1 rounded-md border px-3 py-2">
          <p className="flex flex-wrap items-center gap-2">
            <LevelBadge level={attestation.level} /> <UntrustedText text={attestation.name} />
            <span className="text-xs text-soft">
              <Time at={attestation.at} /> by {attestation.recorded_by}
            </span>
          </p>
          <UntrustedText text={attestation.reason} wrap />
        </div>
      )}
      {mayAttest && (
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => setDialog("attest")}>{attestation === null ? "Attest level" : "Replace"}</Button>
          {attestation !== null && (
            <Button variant="danger" onClick={() => setDialog("withdraw")}>
              Withdraw
            </Button>
          )}
        </div>
      )}
      {dialog === "attest" && <AttestDialog workspace={workspace} node={node} close={() => setDialog(undefined)} />}
      <Confirm
        open={dialog === "withdraw"}
        onClose={() => setDialog(undefined)}
        onConfirm={() => withdraw.mutate({ params: { workspace, node: node.name } })}
        title={`Withdraw the attestation of ${node.name}?`}
        action="Withdraw"
        danger
        busy={withdraw.isPending}
        error={withdraw.error}
      >
        <p>The level follows from the country again. Policies with a higher floor exclude the node immediately.</p>
      </Confirm>
    </section>
  );
}

const LEVELS = [
  { value: "L2", label: "L2: operated in the EU/EEA, with certification" },
  { value: "L3", label: "L3: owned and controlled in the EU/EEA" },
  { value: "L4", label: "L4: full sovereignty, no exceptions" },
] as const;

type Level = (typeof LEVELS)[number]["value"];

const levelNamed = (value: string): Level => LEVELS.find((one) => one.value === value)?.value ?? "L2";

function AttestDialog({
  workspace,
  node,
  close,
}: {
  readonly workspace: string;
  readonly node: NodeDetail;
  readonly close: () => void;
}) {
  const [level, setLevel] = useState<Level>(node.attestation?.level ?? "L2");
  const [name, setName] = useState("");
  const [reason, setReason] = useState("");
  const attest = useManageMutation("manageAttestNode", {
    onDone: () => {
      close();
      toast("Level attested");
    },
  });
  return (
    <FormDialog
      open
      onClose={close}
      title={`Attest level of ${node.name}`}
      onSubmit={() => attest.mutate({ params: { workspace, node: node.name }, body: { level, name, reason } })}
      action="Attest level"
      busy={attest.isPending}
    >
      <Field label="Level" hint="Each level includes the ones below it.">
        <Select value={level} onChange={(event) => setLevel(levelNamed(event.target.value))} options={LEVELS} />
      </Field>
      <Field label="Name" hint="The person who vouches for it.">
        <Input required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Reason" hint="Why the machine meets the level. It appears in the evidence report.">
        <Textarea required maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
      <ErrorNote error={attest.error} />
    </FormDialog>
  );
}
