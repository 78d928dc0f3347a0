import { useId, useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time, Unknown } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import { CredentialForm } from "./credential-form.tsx";
import { KeyStatus } from "./key-status.tsx";
import { type OwnKey, type ProviderRow, USES, type Use } from "./provider-rows.ts";

export function ProviderDrawer({ row, close }: { readonly row: ProviderRow | undefined; readonly close: () => void }) {
  const { at } = useWorkspace();
  if (row === undefined) return null;
  const { provider, own } = row;
  return (
    <Drawer open onClose={close} title={provider.name}>
      <KeyValue
        rows={[
          { name: "Operated by", value: provider.operator },
          { name: "Countries", value: provider.countries.join(" ") || <Unknown /> },
          { name: "Models", value: `${provider.models} on ${counted(provider.endpoints, "endpoint")}` },
          {
            name: "Without your own key",
            value: provider.connected ? "Operator's credential is used" : "Not callable",
          },
        ]}
      />
      {own === undefined ? (
        <section className="grid gap-3 border-t pt-4">
          <h3>Connect with your own key</h3>
          <KeyForm provider={provider.slug} name={provider.name} use="first" />
        </section>
      ) : (
        <ConnectedKey own={own} name={provider.name} />
      )}
      <p className="text-xs text-soft">
        <Link to={`/app/providers/${provider.slug}`}>View {provider.name} in the catalogue</Link>
        {own !== undefined && (
          <>
            {" · "}
            <Link to={at(`requests?provider=${provider.slug}`)}>View requests</Link>
          </>
        )}
      </p>
    </Drawer>
  );
}

function ConnectedKey({ own, name }: { readonly own: OwnKey; readonly name: string }) {
  const [isReplacing, setIsReplacing] = useState(false);
  return (
    <>
      <section className="grid gap-3 border-t pt-4">
        <h3>Your key</h3>
        <KeyValue
          rows={[
            {
              name: "Key",
              value: <span className="font-mono">{own.hint === null ? "••••" : `••••••••${own.hint}`}</span>,
            },
            { name: "Fingerprint", value: <span className="font-mono">{own.fingerprint}</span> },
            { name: "Kind", value: KINDS[own.kind] },
            {
              name: "Changed",
              value: (
                <>
                  <Time at={own.changed_at} /> by {own.changed_by}
                </>
              ),
            },
            {
              name: "Last test",
              value: (
                <span className="inline-flex flex-wrap items-center gap-2">
                  <KeyStatus result={own.result} openCircuits={own.set_aside.length} />
                  <Time at={own.tested_at} />
                </span>
              ),
            },
            ...(own.set_aside.length === 0
              ? []
              : [
                  {
                    name: "Open circuits",
                    value: <span className="font-mono text-xs">{own.set_aside.join(", ")}</span>,
                  },
                ]),
          ]}
        />
        <TestKey own={own} />
      </section>
      <KeyUsageSection own={own} />
      <section className="grid gap-3 border-t pt-4">
        {isReplacing ? (
          <>
            <h3>Replace key</h3>
            <KeyForm provider={own.provider} name={name} use={own.use} onDone={() => setIsReplacing(false)} />
          </>
        ) : (
          <div className="flex flex-wrap gap-2">
            <Button icon="refresh" onClick={() => setIsReplacing(true)}>
              Replace key
            </Button>
            <Disconnect own={own} name={name} />
          </div>
        )}
      </section>
    </>
  );
}

const KINDS: Readonly<Record<OwnKey["kind"], string>> = {
  key: "API key",
  aws: "AWS key pair",
  google: "Google service account",
};

function TestKey({ own }: { readonly own: OwnKey }) {
  const { workspace } = useWorkspace();
  const test = useManageMutation("manageTestOwnKey");
  return (
    <>
      <Button
        icon="activity"
        className="justify-self-start"
        busy={test.isPending}
        onClick={() => test.mutate({ params: { workspace, provider: own.provider } })}
      >
        Test key
      </Button>
      {test.data !== undefined && !test.isPending && (
        <div role="status">
          <Callout
            tone={test.data.ok ? "good" : test.data.result === "refused" ? "bad" : "warn"}
            title={{ accepted: "Accepted", refused: "Rejected", unclear: "Inconclusive" }[test.data.result]}
          >
            {test.data.detail}.{test.data.result === "refused" && " Replace the key below."}
            {test.data.result === "unclear" && " Try again later."}
          </Callout>
        </div>
      )}
      <ErrorNote error={test.error} />
    </>
  );
}

function KeyUsageSection({ own }: { readonly own: OwnKey }) {
  const { workspace } = useWorkspace();
  const change = useManageMutation("manageChangeOwnKey", {
    onDone: ({ use }) =>
      toast(
        `Usage set to ${use === "only" ? "only your key" : use === "first" ? "your key first" : "your key as fallback"}`,
      ),
  });
  const put = (use: Use) => change.mutate({ params: { workspace, provider: own.provider }, body: { use } });
  const shown = change.isPending ? (change.variables.body?.use ?? own.use) : own.use;
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>Usage</h3>
      <KeyUsageField value={shown} onChange={put} options={USES} disabled={change.isPending} />
      <ErrorNote error={change.error} />
    </section>
  );
}

function Disconnect({ own, name }: { readonly own: OwnKey; readonly name: string }) {
  const { workspace } = useWorkspace();
  const [isConfirming, setIsConfirming] = useState(false);
  const remove = useManageMutation("manageDeleteOwnKey", {
    onDone: () => {
      setIsConfirming(false);
      toast(`Key for ${name} deleted`);
    },
  });
  return (
    <>
      <Button variant="danger" icon="trash" onClick={() => setIsConfirming(true)}>
        Disconnect
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => remove.mutate({ params: { workspace, provider: own.provider } })}
        title={`Disconnect ${name}?`}
        action="Delete key"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The stored key is deleted. Running requests finish; no new ones are started with it.</p>
        <p>The key stays valid at {name} until you revoke it there.</p>
      </Confirm>
    </>
  );
}

function KeyForm({
  provider,
  name,
  use: initialUse,
  onDone,
}: {
  readonly provider: string;
  readonly name: string;
  readonly use: Use;
  readonly onDone?: (() => void) | undefined;
}) {
  const { workspace } = useWorkspace();
  const [use, setUse] = useState<Use>(initialUse);
  const put = useManageMutation("managePutOwnKey", {
    onDone: ({ result }) => {
      toast(result === "accepted" ? `${name} accepted the key` : "Key stored without a test");
      onDone?.();
    },
  });
  return (
    <CredentialForm
      provider={provider}
      name={name}
      error={put.error}
      busy={put.isPending}
      send={(credential) => put.mutateAsync({ params: { workspace, provider }, body: { ...credential, use } })}
    >
      <KeyUsageField value={use} onChange={setUse} options={USES} />
    </CredentialForm>
  );
}

function KeyUsageField({
  value,
  onChange,
  options,
  disabled = false,
}: {
  readonly value: Use;
  readonly onChange: (use: Use) => void;
  readonly options: typeof USES;
  readonly disabled?: boolean | undefined;
}) {
  const name = useId();
  return (
    <fieldset disabled={disabled} className="grid gap-1">
      <legend className="sr-only">Key usage</legend>
      {options.map((use) => (
        <label
          key={use.value}
          className="flex items-start gap-3 rounded-md border px-3 py-2 has-checked:border-accent has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            name={name}
            checked={use.value === value}
            onChange={() => onChange(use.value)}
            className="mt-1 size-4 shrink-0"
          />
          <span className="min-w-0">
            <span className="font-medium">{use.label}</span>
            <span className="block text-xs text-soft">{use.description}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
