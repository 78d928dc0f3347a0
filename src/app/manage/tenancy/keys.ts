import { fault } from "../../../contract/faults.ts";
import { type ApiKey, type Environment, KEY_PREFIXES, type KeyKind } from "../../../domain/tenancy/key.ts";
import { noSpendLimits, type SpendLimits } from "../../../domain/tenancy/limits.ts";
import type { Member, Workspace } from "../../../domain/tenancy/workspace.ts";
import { randomToken, sha256Hex } from "../../../kit/secret.ts";
import { printable } from "../../printable.ts";
import { type AuditDetails, commitWithAudit, findWorkspace, type TenancyDeps, type TenancyScope } from "../deps.ts";
import { type LimitChange, limitAmounts } from "../money/limits.ts";
import { keySettingsView, keyStateAt } from "../views.ts";
import { type KeySettings, keyPolicyAfter, UNRESTRICTED_SETTINGS } from "./key-settings.ts";
import { memberByEmail } from "./members.ts";

export const GRACE_DEFAULT_MS = 7 * 86_400_000;

/** A new key with its secret, which is returned once and stored as a digest only. */
export type IssuedKey = { readonly key: ApiKey; readonly secret: string };

export type NewKey = {
  readonly name: string;
  readonly environment: Environment;
  /** The e-mail of a personal key's owner; null: a workspace key. */
  readonly personal: string | null;
  readonly settings?: Partial<KeySettings>;
  readonly spendLimits?: LimitChange | undefined;
};

export async function createKey(deps: TenancyScope, workspace: Workspace, input: NewKey): Promise<IssuedKey> {
  const owner = input.personal === null ? undefined : personalOwner(deps, workspace, input.personal);
  const waits = owner !== undefined && workspace.keyPolicy.approval;
  const issued = issueKey(deps, {
    ...UNRESTRICTED_SETTINGS,
    ...input.settings,
    policy: keyPolicyAfter(null, input.settings?.policy ?? null),
    workspaceId: workspace.id,
    memberId: owner?.id ?? null,
    name: input.name,
    kind: owner === undefined ? "workspace" : "personal",
    environment: input.environment,
    state: waits ? "pending" : "active",
    rotatedFrom: null,
  });
  const limits = limitsAfter(deps, issued.key, input.spendLimits);
  const audit = {
    action: "key.create",
    workspaceId: workspace.id,
    target: issued.key.id,
    detail: {
      ...keySettingsView(issued.key),
      environment: input.environment,
      member: owner?.email ?? null,
      state: issued.key.state,
      ...(limits === undefined ? {} : { spend_limits: limitAmounts(limits.after) }),
    },
  };
  await saveKeys(deps, [issued.key], audit, limits?.after);
  return issued;
}

function personalOwner(deps: TenancyDeps, workspace: Workspace, email: string): Member {
  requirePersonalKeys(workspace);
  const member = memberByEmail(deps, workspace, email);
  if (member !== undefined) return member;
  throw fault("not_allowed", {
    message: `${printable(email)} is not a member of ${workspace.slug}. Add the member first (gateway member add ${workspace.slug} EMAIL).`,
    param: "member",
  });
}

function requirePersonalKeys(workspace: Workspace): void {
  if (workspace.keyPolicy.personalKeys) return;
  throw fault("not_allowed", {
    message: `Personal keys are turned off in ${workspace.slug}. Turn them on first (gateway member policy ${workspace.slug} --personal-keys on).`,
    param: "member",
  });
}

/** The portal's own keys are managed by the gateway: a change could outlive the session that they were issued for. */
function requireApiKey({ id, purpose }: ApiKey): void {
  if (purpose === undefined) return;
  throw fault("conflict", {
    message: `Key ${id} belongs to the ${purpose} of the portal: it can be revoked, but not changed or rotated.`,
  });
}

function issueKey(
  deps: TenancyDeps,
  input: Omit<ApiKey, "id" | "digest" | "graceUntilMs" | "version" | "createdAtMs">,
): IssuedKey {
  const secret = `${prefixFor(input.kind, input.environment)}${randomToken(32)}`;
  const key: ApiKey = {
    ...input,
    id: deps.ids.next("key_"),
    digest: sha256Hex(secret),
    graceUntilMs: null,
    version: 1,
    createdAtMs: deps.clock.nowMs(),
  };
  return { key, secret };
}

function prefixFor(kind: KeyKind, environment: Environment): string {
  return KEY_PREFIXES[kind][environment];
}

/** A rotated key and its successors share the limits of their rotation root; undefined: not changed. */
function limitsAfter({ directory }: TenancyDeps, { id, workspaceId }: ApiKey, change: LimitChange | undefined) {
  if (change === undefined || Object.keys(change).length === 0) return undefined;
  const spenderId = directory.rotationRootOf(id);
  const before = directory.limits.of(spenderId) ?? noSpendLimits(workspaceId, "key", spenderId);
  return { before, after: { ...before, ...change } };
}

/** Writes SQL with the audit entry, then the directory that the next request reads. */
export async function saveKeys(
  deps: TenancyScope,
  keys: readonly ApiKey[],
  audit: AuditDetails | null,
  spendLimits?: SpendLimits,
): Promise<void> {
  const createdAtMs = deps.clock.nowMs();
  const strict = keys.filter(({ policy }) => policy?.zeroDataRetention === true);
  await commitWithAudit(deps, async ({ tenancy, captures, limits }) => {
    await tenancy.saveKeys(keys);
    if (spendLimits !== undefined) await limits.save(spendLimits);
    for (const { workspaceId, id, policy } of keys)
      await tenancy.savePolicyVersion({ workspaceId, keyId: id, createdAtMs, policy });
    for (const { workspaceId, id } of strict) await captures.purgeKey(workspaceId, id);
    return { answer: null, audit };
  });
  if (spendLimits !== undefined) deps.directory.limits.put(spendLimits);
  for (const key of keys) deps.directory.putKey(key);
  for (const { workspaceId, id } of strict) {
    // Also purges captures that were being written during the change.
    await deps.captures.flushed();
    await commitWithAudit(deps, async ({ captures }) => ({
      answer: await captures.purgeKey(workspaceId, id),
      audit: null,
    }));
  }
}

/** The new key copies all settings; the old one stays valid until the grace period ends. */
export async function rotateKey(deps: TenancyScope, old: ApiKey, graceMs: number): Promise<IssuedKey> {
  requireApiKey(old);
  const nowMs = deps.clock.nowMs();
  const state = keyStateAt(old, nowMs);
  if (state !== "active")
    throw fault("conflict", {
      message: `Key ${old.id} is ${state}: only an active key can be rotated. Create a new key instead.`,
    });
  if (old.kind === "personal") requirePersonalKeys(findWorkspace(deps, old.workspaceId));
  const { workspaceId, memberId, name, kind, environment, scopes, ipAllowlist, expiresAtMs, rpm, policy } = old;
  const issued = issueKey(deps, {
    workspaceId,
    memberId,
    name,
    kind,
    environment,
    scopes,
    ipAllowlist,
    expiresAtMs,
    rpm,
    policy,
    state: "active",
    rotatedFrom: old.id,
  });
  const graceUntilMs = nowMs + graceMs;
  await saveKeys(deps, [{ ...old, state: "deprecated", graceUntilMs, version: old.version + 1 }, issued.key], {
    action: "key.rotate",
    workspaceId,
    target: old.id,
    detail: { new_key: issued.key.id, grace_until: new Date(graceUntilMs).toISOString() },
  });
  return issued;
}

/** Idempotent. */
export async function revokeKey(deps: TenancyScope, key: ApiKey): Promise<ApiKey> {
  if (key.state === "revoked") return key;
  const revoked: ApiKey = { ...key, state: "revoked", version: key.version + 1 };
  await saveKeys(deps, [revoked], { action: "key.revoke", workspaceId: key.workspaceId, target: key.id });
  return revoked;
}

export async function approveKey(deps: TenancyScope, key: ApiKey): Promise<ApiKey> {
  if (key.state !== "pending")
    throw fault("conflict", {
      message: `Key ${key.id} is ${keyStateAt(key, deps.clock.nowMs())}: only a pending key can be approved.`,
    });
  requirePersonalKeys(findWorkspace(deps, key.workspaceId));
  const approved: ApiKey = { ...key, state: "active", version: key.version + 1 };
  await saveKeys(deps, [approved], { action: "key.approve", workspaceId: key.workspaceId, target: key.id });
  return approved;
}

export type KeyChange = Partial<KeySettings> & { readonly name?: string };

export async function changeKey(
  deps: TenancyScope,
  key: ApiKey,
  input: KeyChange,
  spendLimits?: LimitChange,
): Promise<ApiKey> {
  if (key.state === "revoked")
    throw fault("conflict", { message: `Key ${key.id} is revoked and cannot be changed. Create a new key instead.` });
  requireApiKey(key);
  const policy = input.policy === undefined ? key.policy : keyPolicyAfter(key.policy, input.policy);
  const changed: ApiKey = { ...key, ...input, policy, version: key.version + 1 };
  const limits = limitsAfter(deps, key, spendLimits);
  const view = (settings: ApiKey, amounts: SpendLimits | undefined) => ({
    ...keySettingsView(settings),
    ...(amounts === undefined ? {} : { spend_limits: limitAmounts(amounts) }),
  });
  const audit = {
    action: "key.change",
    workspaceId: key.workspaceId,
    target: key.id,
    detail: { before: view(key, limits?.before), after: view(changed, limits?.after) },
  };
  await saveKeys(deps, [changed], audit, limits?.after);
  return changed;
}
