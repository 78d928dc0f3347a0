import type { ReactNode } from "react";
import { useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/permissions.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { CodeTabs } from "../../ui/code-block.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Callout } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { WorkspaceAdmins } from "../../ui/workspace-admins.tsx";
import { FirstRequest } from "./first-request.tsx";
import { firstRequestSnippets } from "./snippets.ts";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly at: (path?: string) => string;
  /** The first request, once it was received. */
  readonly firstRequest: Row<"manageListRequests"> | undefined;
  readonly onDone: () => void;
};

/** Onboarding in three steps; the last one waits for the first request. */
export function Guide({ workspace, permissions, at, firstRequest, onDone }: Props) {
  const [secret, setSecret] = useState<string>();
  const providers = useManage("manageListProviders", { query: { workspace } });
  const ready = (providers.data?.data ?? []).filter(({ connected, own_key }) => connected || own_key !== null);
  const real = ready.filter(({ sandbox }) => !sandbox);
  const model = real.length > 0 ? "auto" : "sandbox/chat";
  return (
    <ol className="grid gap-4">
      <Step number={1} title="Connect a provider" isDone={ready.length > 0}>
        {providers.isPending ? (
          <SkeletonLines count={1} />
        ) : (
          <ConnectedProviders
            real={real.map(({ name }) => name)}
            hasSandbox={ready.length > real.length}
            at={at}
            permissions={permissions}
          />
        )}
      </Step>
      <Step number={2} title="Create a key" isDone={secret !== undefined || firstRequest !== undefined}>
        <FirstKey workspace={workspace} permissions={permissions} at={at} secret={secret} onCreated={setSecret} />
      </Step>
      <Step number={3} title="Send a request" isDone={firstRequest !== undefined}>
        <p className="text-soft">
          {secret === undefined
            ? "Choose your client. Replace $GATEWAY_KEY with your key, or create a key above to fill it in."
            : "Choose your client. Your key is filled in."}
        </p>
        <CodeTabs
          label="First request"
          snippets={firstRequestSnippets({ origin: location.origin, model, key: secret ?? "$GATEWAY_KEY" })}
        />
        {firstRequest === undefined && permissions.isAdmin && <EmptyWallet workspace={workspace} at={at} />}
        <FirstRequest request={firstRequest} at={at} onDone={onDone} />
      </Step>
    </ol>
  );
}

/** Warns before the first request fails for lack of funds. */
function EmptyWallet({ workspace, at }: Pick<Props, "workspace" | "at">) {
  const wallet = useManage("manageShowWallet", { params: { workspace } }).data;
  if (wallet === undefined || Number(wallet.balance) > 0) return null;
  return (
    <Callout
      tone="warn"
      title="The wallet is empty"
      action={
        <LinkButton size="small" to={at("wallet?new=1")}>
          Add funds
        </LinkButton>
      }
    >
      Paid requests are rejected with 402 until you add funds.
    </Callout>
  );
}

function Step({
  number,
  title,
  isDone,
  children,
}: {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}) {
  return (
    <li className="grid min-w-0 grid-cols-[auto_minmax(0,1fr)] gap-x-4 rounded-lg border bg-card px-4 py-4 sm:px-5">
      <span
        className={cx(
          "grid size-7 place-items-center rounded-full border text-sm font-semibold",
          isDone ? "border-good bg-good-soft text-good" : "text-soft",
        )}
      >
        {isDone ? <Icon name="check" /> : number}
        {isDone && <span className="sr-only">Done</span>}
      </span>
      <div className="grid min-w-0 gap-3">
        <h2 className="text-base leading-7">{title}</h2>
        {children}
      </div>
    </li>
  );
}

function ConnectedProviders({
  real,
  hasSandbox,
  at,
  permissions,
}: {
  readonly real: readonly string[];
  readonly hasSandbox: boolean;
  readonly at: (path?: string) => string;
  readonly permissions: Permissions;
}) {
  if (real.length > 0)
    return (
      <p className="text-soft">
        {real.slice(0, 4).join(", ")}
        {real.length > 4 && ` and ${real.length - 4} more`} {real.length === 1 ? "is" : "are"} connected.
      </p>
    );
  return (
    <>
      <p className="text-soft">
        {hasSandbox
          ? "The sandbox is active: simulated providers for trying things out without a real provider."
          : "No provider is connected and the sandbox is off."}
      </p>
      {permissions.isAdmin && (
        <p>
          <Link to={at("provider-keys")}>Add your own provider key</Link>
          {permissions.isOperator && (
            <>
              , or <Link to="/app/operator/providers">connect a provider for all workspaces</Link>
            </>
          )}
          {hasSandbox && " to use real models"}.
        </p>
      )}
    </>
  );
}

type KeyProps = Pick<Props, "workspace" | "permissions" | "at"> & {
  readonly secret: string | undefined;
  readonly onCreated: (secret: string) => void;
};

function FirstKey({ workspace, permissions, at, secret, onCreated }: KeyProps) {
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }).data;
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 100 } }).data?.data ?? [];
  const create = useManageMutation("manageCreateKey", {
    stale: ["manageListKeys"],
    onDone: ({ key }) => onCreated(key),
  });
  if (secret !== undefined)
    return (
      <>
        <OneTimeSecret secret={secret} label="Onboarding key" />
        {!permissions.isAdmin && policy?.approval === true && (
          <Callout tone="warn" title="Waiting for approval">
            An admin or owner needs to approve this key before it works.
          </Callout>
        )}
      </>
    );
  if (!permissions.isAdmin && policy?.personal_keys === false)
    return (
      <Callout
        title="Use the playground"
        action={
          <LinkButton to={at("playground")} size="small" variant="primary" icon="play">
            Open playground
          </LinkButton>
        }
      >
        Personal keys are off in this workspace. The playground needs no key; for a key, ask{" "}
        <WorkspaceAdmins workspace={workspace} />.
      </Callout>
    );
  const activeKeys = keys.filter(({ state }) => state === "active").length;
  const body = { name: "Onboarding key", ...(permissions.isAdmin ? {} : { member: permissions.email }) };
  return (
    <>
      <p className="text-soft">
        {activeKeys === 0
          ? "API keys authenticate requests. A key is shown once."
          : `You have ${activeKeys === 1 ? "1 active key" : `${activeKeys} active keys`}. Keys are shown once; create another one to fill it in below.`}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button
          variant="primary"
          icon="key"
          busy={create.isPending}
          onClick={() => create.mutate({ params: { workspace }, body })}
        >
          Create key
        </Button>
        <LinkButton to={at("keys?new=1")}>More options</LinkButton>
      </div>
      <ErrorNote error={create.error} />
    </>
  );
}
