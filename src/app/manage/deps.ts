import { fault } from "../../contract/faults.ts";
import type { SharedState } from "../../domain/admission/admission.ts";
import type { LedgerStore } from "../../domain/billing/ledger.ts";
import type { Connections, Snapshot } from "../../domain/catalogue/catalogue.ts";
import type { AuditStore } from "../../domain/record/audit.ts";
import type { LogStore, Surface } from "../../domain/record/record.ts";
import type { ResponseSummary } from "../../domain/responses/stored.ts";
import type { Directory, TenancyStore } from "../../domain/tenancy/directory.ts";
import type { ApiKey } from "../../domain/tenancy/key.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Ids } from "../../kit/ids.ts";
import type { Soon } from "../../kit/soon.ts";
import type { Planning } from "../pipeline/plan.ts";
import type { Decoded } from "../pipeline/run.ts";

/** One line of `gateway doctor`: not ok only for something broken, advice is ok with a detail. */
export type CheckResult = { readonly ok: boolean; readonly detail: string };
export type Check = { readonly name: string; run(): Promise<CheckResult> };

export type ExplainedSurface = Extract<Surface, "chat" | "messages" | "responses">;

/** Reads the body of a request as the surface it is meant for does. */
export type Readers = Readonly<Partial<Record<ExplainedSurface, (bytes: Buffer) => Soon<Decoded>>>>;

/** What the use cases that change tenants need; the first start uses them as well. */
export type TenancyDeps = {
  readonly store: {
    readonly tenancy: TenancyStore;
    readonly ledger: LedgerStore;
    readonly audit: AuditStore;
  };
  readonly directory: Directory;
  readonly state: SharedState;
  readonly clock: Clock;
  readonly ids: Ids;
  snapshot(): Snapshot;
};

export type ManageDeps = TenancyDeps & {
  readonly store: TenancyDeps["store"] & { readonly log: LogStore };
  readonly connections: Connections;
  /** What requests are planned by. */
  readonly planning: Planning;
  readonly readers: Readers;
  readonly responses: OverseenResponses;
  /** Checks of the parts the use cases do not see: store, journal, settings. */
  readonly checks: readonly Check[];
  /** Resolves when everything the journal held at the call can be read from the log and the ledger. */
  caughtUp(): Promise<void>;
};

/** Stored responses as an operator sees them: background work on what is removed ends first. */
export type OverseenResponses = {
  list(
    workspaceId: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }>;
  usage(workspaceId: string): { readonly usedBytes: number; readonly maxBytes: number };
  remove(workspaceId: string, id: string): Promise<boolean>;
  purge(workspaceId: string): Promise<number>;
};

/** Runs changes one after the other, so that two of them never build on the same old state. */
export type InTurn = <T>(change: () => Promise<T>) => Promise<T>;

export function makeTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const mine = last.then(change);
    // The next one waits for the end of this one, however it ends; its own caller sees the failure.
    last = mine.catch(() => undefined);
    return mine;
  };
}

export type Room = ManageDeps & { readonly inTurn: InTurn };

export type Change = {
  readonly action: string;
  readonly workspaceId: string | null;
  readonly target: string | null;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** Until people sign in, every change is the operator's. */
const ACTOR = "operator";

export async function writeAudit(deps: TenancyDeps, change: Change): Promise<void> {
  await deps.store.audit.append({
    id: deps.ids.next("aud_"),
    atMs: deps.clock.nowMs(),
    actor: ACTOR,
    action: change.action,
    workspaceId: change.workspaceId,
    target: change.target,
    detail: change.detail ?? {},
  });
}

export function findWorkspace(deps: Pick<TenancyDeps, "directory">, slugOrId: string | undefined): Workspace {
  const workspace = slugOrId === undefined ? undefined : deps.directory.workspace(slugOrId);
  if (workspace !== undefined) return workspace;
  throw fault("not_found", {
    message: `There is no workspace "${short(slugOrId)}". GET /manage/workspaces lists them.`,
  });
}

export function findKey(deps: Pick<TenancyDeps, "directory">, id: string | undefined): ApiKey {
  const key = id === undefined ? undefined : deps.directory.key(id);
  if (key !== undefined) return key;
  throw fault("not_found", { message: `There is no key with the id "${short(id)}". List the keys of its workspace.` });
}

/** A caller's value inside a message: bounded and without characters that draw. */
export function short(text: string | undefined): string {
  return (text ?? "").replace(/\p{Cc}/gu, "?").slice(0, 100);
}
