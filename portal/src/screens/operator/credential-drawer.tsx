import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.tsx";
import { CredentialForm } from "../provider-keys/credential-form.tsx";
import type { Provider } from "./rows.ts";

/** The operator's own credential at one provider: what is in force, a new one, and forgetting it. */
export function CredentialDrawer({ row, close }: { readonly row: Provider | undefined; readonly close: () => void }) {
  if (row === undefined) return null;
  return (
    <Drawer open onClose={close} title={row.name}>
      <KeyValue
        rows={[
          { name: "Operated by", value: row.operator },
          { name: "Models", value: `${row.models} on ${counted(row.endpoints, "endpoint")}` },
          { name: "In force", value: inForce(row) },
          { name: "In the store", value: row.stored ? "a credential, sealed" : "nothing" },
        ]}
      />
      {row.connected_by_settings && <Precedence row={row} />}
      {row.stored && row.overridden_by === null && row.credential !== "stored" && (
        <Callout tone="bad" title="What is stored cannot be used">
          It does not open with the master key, or is no credential for {row.name} any more. Connect it again.
        </Callout>
      )}
      <Connect row={row} />
      {row.stored && <Disconnect row={row} />}
      <AsSetting row={row} />
    </Drawer>
  );
}

/** Which of the two is used, where settings connect the provider. */
function Precedence({ row: { name, overridden_by } }: { readonly row: Provider }) {
  if (overridden_by === null)
    return (
      <Callout tone="warn" title="What is stored wins">
        Settings connect {name} too. What is connected here takes their place for everybody, from the next request on.
      </Callout>
    );
  return (
    <Callout title="A setting wins">
      What is connected here is kept, and used once <code className="font-mono break-all">{overridden_by}</code> is gone
      and the gateway was started again.
    </Callout>
  );
}

function inForce({ connected, credential, name }: Provider): string {
  if (!connected) return `nothing: only workspaces with a key of their own can call ${name}`;
  return credential === "stored" ? "what is stored" : "a setting";
}

function Connect({ row }: { readonly row: Provider }) {
  const put = useManageMutation("managePutProvider");
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>{row.stored ? "Replace what is stored" : "Connect for everybody"}</h3>
      {put.data !== undefined && row.stored && (
        <div role="status">
          <Callout
            tone={put.data.in_use ? "good" : "warn"}
            title={put.data.in_use ? "Connected" : "Kept, and not used"}
          >
            The key <span className="font-mono">••••{put.data.hint}</span> of the fingerprint{" "}
            <span className="font-mono">{put.data.fingerprint}</span> is stored.{" "}
            {put.data.overridden_by === null ? (
              "It is used from the next request on."
            ) : (
              <>
                The setting <code className="font-mono break-all">{put.data.overridden_by}</code> wins over it.
              </>
            )}
          </Callout>
        </div>
      )}
      <CredentialForm
        provider={row.slug}
        name={row.name}
        error={put.error}
        busy={put.isPending}
        send={(body) => put.mutateAsync({ params: { provider: row.slug }, body })}
      />
    </section>
  );
}

function Disconnect({ row }: { readonly row: Provider }) {
  const [isAsking, setIsAsking] = useState(false);
  const remove = useManageMutation("manageDeleteProvider", {
    onDone: ({ connected }) => {
      setIsAsking(false);
      toast(
        connected ? "What was stored is forgotten. The setting goes on." : `${row.name} is not connected any more.`,
      );
    },
  });
  return (
    <section className="grid gap-3 border-t pt-4">
      <Button look="danger" icon="trash" className="justify-self-start" onClick={() => setIsAsking(true)}>
        Disconnect
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => remove.mutate({ params: { provider: row.slug } })}
        title={`Disconnect ${row.name}?`}
        action="Forget what is stored"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>It is forgotten here. Requests that run with it finish; no other is begun.</p>
        <p>
          {row.connected_by_settings
            ? afterwards(row)
            : `Workspaces without a key of their own cannot call ${row.name} any more.`}
        </p>
        <p>At {row.name} it stays valid until you revoke it there.</p>
      </Confirm>
    </section>
  );
}

function afterwards({ credential }: Provider): string {
  return credential === "stored"
    ? "Settings connect everybody in its place, from the next request on."
    : "The setting stays, and goes on connecting everybody.";
}

/** For a credential that is to be in no store and no backup. */
function AsSetting({ row: { setting, slug } }: { readonly row: Provider }) {
  if (setting === null) return null;
  const isPath = setting.endsWith("_FILE");
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>Or as a setting</h3>
      <p className="text-soft">It is then in no store and no backup. Set it, and start the gateway again.</p>
      <CodeBlock code={`${setting}=${isPath ? `/run/secrets/${slug}` : "…"}`} label="Setting" />
      {!isPath && <CodeBlock code={`${setting}_FILE=/run/secrets/${slug}`} label="Setting from a file" />}
      <p className="text-soft">From the command line, into the store as above:</p>
      <CodeBlock code={`bin/gateway provider connect ${slug} --key-file FILE`} label="Command" />
    </section>
  );
}
