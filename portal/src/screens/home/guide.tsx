import type { ReactNode } from "react";
import { useState } from "react";
import type { Row } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import type { Permissions } from "../../api/powers.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { CodeTabs } from "../../ui/code-block.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Callout } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { FirstRequest } from "./first-request.tsx";
import { firstRequest } from "./snippets.ts";

type Props = {
  readonly workspace: string;
  readonly permissions: Permissions;
  readonly at: (path?: string) => string;
  /** The newest request, once there is one. */
  readonly arrived: Row<"manageListRequests"> | undefined;
  readonly onDone: () => void;
};

/** From nothing to the first answer in three steps; the last one watches for it. */
export function Guide({ workspace, permissions, at, arrived, onDone }: Props) {
  const [secret, setSecret] = useState<string>();
  const providers = useManage("manageListProviders", { query: { workspace } });
  const ready = (providers.data?.data ?? []).filter(({ connected, own_key }) => connected || own_key !== null);
  const real = ready.filter(({ sandbox }) => !sandbox);
  const model = real.length > 0 ? "auto" : "sandbox/chat";
  return (
    <ol className="grid gap-4">
      <Step number={1} title="Somebody who answers" isDone={ready.length > 0}>
        {providers.isPending ? (
          <SkeletonLines count={1} />
        ) : (
          <Answerers
            real={real.map(({ name }) => name)}
            hasSandbox={ready.length > real.length}
            at={at}
            permissions={permissions}
          />
        )}
      </Step>
      <Step number={2} title="A key" isDone={secret !== undefined || arrived !== undefined}>
        <FirstKey workspace={workspace} permissions={permissions} at={at} secret={secret} onMade={setSecret} />
      </Step>
      <Step number={3} title="The first request" isDone={arrived !== undefined}>
        <p className="text-soft">
          {secret === undefined
            ? "Pick your client. Put your key where $GATEWAY_KEY stands, or make one above and it is filled in."
            : "Pick your client. Your key is filled in."}
        </p>
        <CodeTabs
          label="First request"
          snippets={firstRequest({ origin: location.origin, model, key: secret ?? "$GATEWAY_KEY" })}
        />
        {arrived === undefined && permissions.isAdmin && (
          <EmptyWallet workspace={workspace} at={at} permissions={permissions} />
        )}
        <FirstRequest arrived={arrived} at={at} onDone={onDone} />
      </Step>
    </ol>
  );
}

/** Without credit the first request would be refused: better said before than after. */
function EmptyWallet({ workspace, at, permissions }: Pick<Props, "workspace" | "at" | "permissions">) {
  const wallet = useManage("manageShowWallet", { params: { workspace } }).data;
  if (wallet === undefined || Number(wallet.balance) > 0) return null;
  return (
    <Callout
      tone="warn"
      title="The wallet is empty"
      action={
        <LinkButton size="small" to={permissions.isOperator ? "/app/operator/workspaces" : at("wallet")}>
          {permissions.isOperator ? "Put money in" : "Top up"}
        </LinkButton>
      }
    >
      Requests that cost something are refused with 402 until there is credit in it.
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
        {isDone && <span className="sr-only">done</span>}
      </span>
      <div className="grid min-w-0 gap-3">
        <h2 className="text-base leading-7">{title}</h2>
        {children}
      </div>
    </li>
  );
}

function Answerers({
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
          ? "The sandbox answers: simulated providers, for trying everything out without a real one."
          : "No provider is connected yet, and the sandbox is switched off."}
      </p>
      {permissions.isAdmin && (
        <p>
          <Link to={at("provider-keys")}>Bring your own key of a provider</Link>
          {permissions.isOperator && (
            <>
              , or <Link to="/app/operator/providers">connect one for everybody</Link>
            </>
          )}
          {hasSandbox && ", when you want real answers"}.
        </p>
      )}
    </>
  );
}

type KeyProps = Pick<Props, "workspace" | "permissions" | "at"> & {
  readonly secret: string | undefined;
  readonly onMade: (secret: string) => void;
};

function FirstKey({ workspace, permissions, at, secret, onMade }: KeyProps) {
  const policy = useManage("manageShowKeyPolicy", { params: { workspace } }).data;
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 100 } }).data?.data ?? [];
  const create = useManageMutation("manageCreateKey", {
    stale: ["manageListKeys"],
    onDone: ({ key }) => onMade(key),
  });
  if (secret !== undefined)
    return (
      <>
        <ShownOnce secret={secret} label="key of the guide" />
        {!permissions.isAdmin && policy?.approval === true && (
          <Callout tone="warn" title="It waits for approval">
            An admin or an owner has to approve it before it works.
          </Callout>
        )}
      </>
    );
  if (!permissions.isAdmin && policy?.personal_keys === false)
    return (
      <Callout title="Personal keys are switched off here">
        Ask an admin or an owner for a key of the workspace, or to switch personal keys on.
      </Callout>
    );
  const working = keys.filter(({ state }) => state === "active").length;
  const body = { name: "key of the guide", ...(permissions.isAdmin ? {} : { member: permissions.email }) };
  return (
    <>
      <p className="text-soft">
        {working === 0
          ? "A key is what a program sends with every request. It is shown once."
          : `There ${working === 1 ? "is a key" : `are ${working} keys`} already. Keys are shown once, so make another one to have it filled in below.`}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          icon="key"
          busy={create.isPending}
          onClick={() => create.mutate({ params: { workspace }, body })}
        >
          Create a key
        </Button>
        <LinkButton to={at("keys?new=1")}>With more settings</LinkButton>
      </div>
      <ErrorNote error={create.error} />
    </>
  );
}
