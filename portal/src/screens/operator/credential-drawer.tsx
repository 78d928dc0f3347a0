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

export function CredentialDrawer({ row, close }: { readonly row: Provider | undefined; readonly close: () => void }) {
  if (row === undefined) return null;
  return (
    <Drawer open onClose={close} title={row.name}>
      <KeyValue
        rows={[
          { name: "Operated by", value: row.operator },
          { name: "Models", value: `${row.models} on ${counted(row.endpoints, "endpoint")}` },
          { name: "Active credential", value: activeCredentialText(row) },
          { name: "Stored credential", value: row.stored ? "Yes, encrypted" : "None" },
        ]}
      />
      {row.connected_by_settings && <Precedence row={row} />}
      {row.stored && row.overridden_by === null && row.credential !== "stored" && (
        <Callout tone="bad" title="Stored credential can't be used">
          It can't be decrypted with the master key or is not valid for {row.name}. Connect the provider again.
        </Callout>
      )}
      <Connect row={row} />
      {row.stored && <Disconnect row={row} />}
      <SettingAlternative row={row} />
    </Drawer>
  );
}

/** Which credential is used if both a setting and the store have one. */
function Precedence({ row: { name, overridden_by } }: { readonly row: Provider }) {
  if (overridden_by === null)
    return (
      <Callout tone="warn" title="The stored credential takes precedence">
        A setting also connects {name}. The stored credential overrides it for all workspaces.
      </Callout>
    );
  return (
    <Callout title="A setting takes precedence">
      A stored credential is only used after <code className="font-mono break-all">{overridden_by}</code> is removed and
      the gateway is restarted.
    </Callout>
  );
}

function activeCredentialText({ connected, credential, name }: Provider): string {
  if (!connected) return `None. Only workspaces with their own key can call ${name}.`;
  return credential === "stored" ? "Stored credential" : "Setting";
}

function Connect({ row }: { readonly row: Provider }) {
  const put = useManageMutation("managePutProvider");
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>{row.stored ? "Replace stored credential" : "Connect for all workspaces"}</h3>
      {put.data !== undefined && row.stored && (
        <div role="status">
          <Callout tone={put.data.in_use ? "good" : "warn"} title={put.data.in_use ? "Connected" : "Stored, not used"}>
            Key <span className="font-mono">••••{put.data.hint}</span> stored, fingerprint{" "}
            <span className="font-mono">{put.data.fingerprint}</span>.{" "}
            {put.data.overridden_by === null ? (
              "It is used from the next request."
            ) : (
              <>
                The setting <code className="font-mono break-all">{put.data.overridden_by}</code> takes precedence.
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
  const [isConfirming, setIsConfirming] = useState(false);
  const remove = useManageMutation("manageDeleteProvider", {
    onDone: ({ connected }) => {
      setIsConfirming(false);
      toast(connected ? "Stored credential deleted. The setting still applies." : `${row.name} disconnected`);
    },
  });
  return (
    <section className="grid gap-3 border-t pt-4">
      <Button variant="danger" icon="trash" className="justify-self-start" onClick={() => setIsConfirming(true)}>
        Disconnect
      </Button>
      <Confirm
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        onConfirm={() => remove.mutate({ params: { provider: row.slug } })}
        title={`Disconnect ${row.name}?`}
        action="Delete credential"
        danger
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The stored credential is deleted. Running requests finish; no new ones are started with it.</p>
        <p>
          {row.connected_by_settings
            ? afterDisconnectText(row)
            : `Workspaces without their own key can no longer call ${row.name}.`}
        </p>
        <p>The credential stays valid at {row.name} until you revoke it there.</p>
      </Confirm>
    </section>
  );
}

function afterDisconnectText({ credential }: Provider): string {
  return credential === "stored"
    ? "The setting then connects all workspaces."
    : "The setting still connects all workspaces.";
}

/** For credentials that must not be in the store or in backups. */
function SettingAlternative({ row: { setting, slug } }: { readonly row: Provider }) {
  if (setting === null) return null;
  const isPath = setting.endsWith("_FILE");
  return (
    <section className="grid gap-3 border-t pt-4">
      <h3>Use a setting instead</h3>
      <p className="text-soft">
        A setting keeps the credential out of the store and backups. Restart the gateway after changing it.
      </p>
      <CodeBlock code={`${setting}=${isPath ? `/run/secrets/${slug}` : "…"}`} label="Setting" />
      {!isPath && <CodeBlock code={`${setting}_FILE=/run/secrets/${slug}`} label="Setting from a file" />}
      <p className="text-soft">To store it from the command line:</p>
      <CodeBlock code={`bin/gateway provider connect ${slug} --key-file FILE`} label="Command" />
    </section>
  );
}
