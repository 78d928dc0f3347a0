import { useState } from "react";
import { useWorkspace } from "../../address.ts";
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
import { KeyForm } from "./key-form.tsx";
import { KeyResult } from "./key-result.tsx";
import { type OwnKey, type Reached, USES, type Use } from "./rows.ts";
import { UseChoice } from "./use-choice.tsx";

/** One provider: its key, how it is used, whether it works. */
export function ProviderDrawer({ row, close }: { readonly row: Reached | undefined; readonly close: () => void }) {
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
            name: "Without an own key",
            value: provider.connected ? "the operator's credential serves" : "it cannot be called",
          },
        ]}
      />
      {own === undefined ? (
        <section className="grid gap-3 border-t pt-4">
          <h3>Connect with your own key</h3>
          <KeyForm provider={provider.slug} name={provider.name} use="first" />
        </section>
      ) : (
        <Connected own={own} name={provider.name} />
      )}
      <p className="text-xs text-soft">
        <Link to={`/app/providers/${provider.slug}`}>Evidence and prices of {provider.name}</Link>
        {own !== undefined && (
          <>
            {" · "}
            <Link to={at(`requests?provider=${provider.slug}`)}>Its requests</Link>
          </>
        )}
      </p>
    </Drawer>
  );
}

function Connected({ own, name }: { readonly own: OwnKey; readonly name: string }) {
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
                  <KeyResult result={own.result} aside={own.set_aside.length} />
                  <Time at={own.tested_at} />
                </span>
              ),
            },
            ...(own.set_aside.length === 0
              ? []
              : [{ name: "Set aside", value: <span className="font-mono text-xs">{own.set_aside.join(", ")}</span> }]),
          ]}
        />
        <TestKey own={own} name={name} />
      </section>
      <UseSection own={own} />
      <section className="grid gap-3 border-t pt-4">
        {isReplacing ? (
          <>
            <h3>Replace the key</h3>
            <KeyForm provider={own.provider} name={name} use={own.use} done={() => setIsReplacing(false)} />
          </>
        ) : (
          <div className="flex flex-wrap gap-2">
            <Button icon="refresh" onClick={() => setIsReplacing(true)}>
              Replace the key
            </Button>
            <Disconnect own={own} name={name} />
          </div>
        )}
      </section>
    </>
  );
}

const KINDS: Readonly<Record<OwnKey["kind"], string>> = {
  key: "a plain key",
  aws: "a key pair of AWS",
  google: "a Google service account",
};

function TestKey({ own, name }: { readonly own: OwnKey; readonly name: string }) {
  const { workspace } = useWorkspace();
  const test = useManageMutation("manageTestOwnKey");
  return (
    <>
      <Button
        icon="pulse"
        className="justify-self-start"
        busy={test.isPending}
        onClick={() => test.mutate({ params: { workspace, provider: own.provider } })}
      >
        Test now
      </Button>
      {test.data !== undefined && !test.isPending && (
        <div role="status">
          <Callout
            tone={test.data.ok ? "good" : test.data.result === "refused" ? "bad" : "warn"}
            title={test.data.ok ? `${name} accepts the key` : `${name} did not accept it`}
          >
            {test.data.detail}.{test.data.result === "refused" && " Replace the key below."}
            {test.data.result === "unclear" && " That says nothing of the key: try again later."}
          </Callout>
        </div>
      )}
      <ErrorNote error={test.error} />
    </>
  );
}

/** At once: the next request already follows it. */
function UseSection({ own }: { readonly own: OwnKey }) {
  const { workspace } = useWorkspace();
  const change = useManageMutation("manageChangeOwnKey", {
    onDone: ({ use }) => toast(`Your key is used ${use === "only" ? "alone" : use === "first" ? "first" : "last"}.`),
  });
  const put = (use: Use) => change.mutate({ params: { workspace, provider: own.provider }, body: { use } });
  const shown = change.isPending ? (change.variables.body?.use ?? own.use) : own.use;
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>When it is used</h3>
      <UseChoice value={shown} onChange={put} options={USES} disabled={change.isPending} />
      <ErrorNote error={change.error} />
    </section>
  );
}

function Disconnect({ own, name }: { readonly own: OwnKey; readonly name: string }) {
  const { workspace } = useWorkspace();
  const [isAsking, setIsAsking] = useState(false);
  const remove = useManageMutation("manageDeleteOwnKey", {
    onDone: () => {
      setIsAsking(false);
      toast(`The key for ${name} was forgotten.`);
    },
  });
  return (
    <>
      <Button look="danger" icon="trash" onClick={() => setIsAsking(true)}>
        Disconnect
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => remove.mutate({ params: { workspace, provider: own.provider } })}
        title={`Disconnect ${name}?`}
        action="Forget the key"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The key is forgotten here. Requests that run with it finish; no other is begun.</p>
        <p>At {name} it stays valid until you revoke it there.</p>
      </Confirm>
    </>
  );
}
