import { fault, invalidValue } from "../../../contract/faults.ts";
import { OwnKeyPatch, OwnKeyPut, ProviderTest } from "../../../contract/schemas/manage-providers.ts";
import { type OwnKey, ownKeyEncryptionContext } from "../../../domain/tenancy/own-key.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import type { LoadedOwnKey } from "../../../io/upstream/own-keys.ts";
import type { CredentialProbeResult } from "../../../io/upstream/probe-credential.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readOptionalBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { isoTime } from "../views.ts";

function ownKeyView({ key, breakers }: LoadedOwnKey) {
  return {
    provider: key.provider,
    kind: key.kind,
    use: key.use,
    hint: key.hint,
    fingerprint: key.fingerprint,
    created_at: isoTime(key.createdAtMs),
    changed_at: isoTime(key.changedAtMs),
    changed_by: key.changedBy,
    result: key.result,
    tested_at: key.testedAtMs === null ? null : isoTime(key.testedAtMs),
    set_aside: breakers.openCircuits,
  };
}

export function requireProvider(context: ManageContext, slug: string | undefined): string {
  if (slug !== undefined && context.snapshot().providers.has(slug)) return slug;
  throw fault("not_found", {
    message: `The catalogue has no provider "${printable(slug)}". \`gateway provider list\` lists all providers.`,
  });
}

function findOwnKey(context: ManageContext, workspace: Workspace, provider: string): LoadedOwnKey {
  const entry = context.ownKeys.registry.of(workspace.id)?.keys.get(provider);
  if (entry !== undefined) return entry;
  throw fault("not_found", {
    message: `Workspace ${workspace.slug} has no own key for ${provider}. Connect one first (gateway provider connect ${provider} --workspace ${workspace.slug}).`,
  });
}

export function requireAccepted(provider: string, { result, detail }: CredentialProbeResult): void {
  if (result === "accepted") return;
  const advice =
    result === "refused"
      ? "Copy it again from the provider; it was not stored"
      : "The key was not stored. Try again, or store it without a test (skip_test, --no-test)";
  throw fault("conflict", {
    message: `The key for ${provider} was not accepted: ${detail}. ${advice}.`,
    param: "key",
  });
}

/** Simulated providers take no keys. */
export function requireRealProvider(context: ManageContext, provider: string): void {
  if (context.snapshot().providers.get(provider)?.sandbox !== true) return;
  throw fault("conflict", { message: `${provider} is simulated and needs no key. Connect a real provider.` });
}

async function putOwnKey(
  scope: ManageScope,
  workspace: Workspace,
  provider: string,
  exchange: Exchange,
): Promise<LoadedOwnKey> {
  requireRealProvider(scope, provider);
  const { key: text, use, skip_test } = await readBody(exchange, OwnKeyPut);
  const read = scope.ownKeys.parse(text, provider);
  if ("problem" in read) throw invalidValue("key", read.problem);
  const probed = skip_test === true ? undefined : await scope.ownKeys.probe(provider, read.credential, workspace.id);
  if (probed !== undefined) requireAccepted(provider, probed);
  return scope.serialized(async () => {
    const before = scope.ownKeys.registry.of(workspace.id)?.keys.get(provider)?.key;
    const nowMs = scope.clock.nowMs();
    const key: OwnKey = {
      workspaceId: workspace.id,
      provider,
      kind: read.kind,
      use: use ?? before?.use ?? "first",
      hint: read.hint,
      fingerprint: read.fingerprint,
      createdAtMs: before?.createdAtMs ?? nowMs,
      changedAtMs: nowMs,
      changedBy: scope.auditActor,
      result: probed === undefined ? "untried" : "accepted",
      testedAtMs: probed === undefined ? null : nowMs,
    };
    const sealed = await scope.ownKeys.seal(ownKeyEncryptionContext(key), text.trim());
    await commitWithAudit(scope, async ({ ownKeys }) => {
      await ownKeys.save(key, sealed);
      const { kind, hint, fingerprint, result } = key;
      const detail = { provider, kind, use: key.use, hint, fingerprint, result };
      const action = before === undefined ? "provider.connect" : "provider.replace_key";
      return { answer: null, audit: { action, workspaceId: workspace.id, target: provider, detail } };
    });
    scope.ownKeys.registry.put(key, read.credential);
    return findOwnKey(scope, workspace, provider);
  });
}

function removeOwnKey(scope: ManageScope, workspace: Workspace, provider: string): Promise<void> {
  return scope.serialized(async () => {
    const { fingerprint } = findOwnKey(scope, workspace, provider).key;
    await commitWithAudit(scope, async ({ ownKeys }) => {
      await ownKeys.remove(workspace.id, provider);
      const audit = {
        action: "provider.disconnect",
        workspaceId: workspace.id,
        target: provider,
        detail: { fingerprint },
      };
      return { answer: null, audit };
    });
    scope.ownKeys.registry.drop(workspace.id, provider);
  });
}

function changeUse(
  scope: ManageScope,
  workspace: Workspace,
  provider: string,
  use: OwnKey["use"],
): Promise<LoadedOwnKey> {
  return scope.serialized(async () => {
    const before = findOwnKey(scope, workspace, provider);
    if (before.key.use === use) return before;
    const key: OwnKey = { ...before.key, use, changedAtMs: scope.clock.nowMs(), changedBy: scope.auditActor };
    await commitWithAudit(scope, async ({ ownKeys }) => {
      await ownKeys.saveUse(key);
      const detail = { fingerprint: key.fingerprint, before: before.key.use, after: use };
      return {
        answer: null,
        audit: { action: "provider.change", workspaceId: workspace.id, target: provider, detail },
      };
    });
    scope.ownKeys.registry.updateMetadata(key);
    return findOwnKey(scope, workspace, provider);
  });
}

/** The result is dropped if the key was replaced during the test. */
async function testOwnKey(scope: ManageScope, workspace: Workspace, provider: string): Promise<CredentialProbeResult> {
  const entry = findOwnKey(scope, workspace, provider);
  const probed = await scope.ownKeys.probe(provider, entry.credential, workspace.id);
  if (probed.result === "unclear") return probed;
  const { result } = probed;
  await scope.serialized(async () => {
    const now = scope.ownKeys.registry.of(workspace.id)?.keys.get(provider);
    if (now?.key.fingerprint !== entry.key.fingerprint) return;
    const tested: OwnKey = { ...now.key, result, testedAtMs: scope.clock.nowMs() };
    await commitWithAudit(scope, async ({ ownKeys }) => {
      await ownKeys.saveTestResult(tested);
      const detail = { fingerprint: tested.fingerprint, result, status: probed.status };
      return { answer: null, audit: { action: "provider.test", workspaceId: workspace.id, target: provider, detail } };
    });
    scope.ownKeys.registry.updateMetadata(tested);
  });
  return probed;
}

async function testPlatform(context: ManageContext, provider: string): Promise<CredentialProbeResult> {
  const credential = context.connections.credential(provider);
  if (credential !== undefined) return context.ownKeys.probe(provider, credential, null);
  throw fault("conflict", {
    message: `The platform has no credential for ${provider}. Connect it first (gateway provider connect ${provider}), or set the variable named in the provider list. To test a workspace's own key, name the workspace.`,
  });
}

function testedView(provider: string, { result, status, detail }: CredentialProbeResult) {
  return { ok: result === "accepted", provider, result, status, detail };
}

export function ownKeyHandlers(context: ManageContext): Record<string, Handler> {
  const targetOf = ({ params }: Exchange) => ({
    workspace: findWorkspace(context, params["workspace"]),
    provider: requireProvider(context, params["provider"]),
  });
  return {
    manageListOwnKeys: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const entries = [...(context.ownKeys.registry.of(workspace.id)?.keys.values() ?? [])];
      const newest = entries.toSorted(
        ({ key: a }, { key: b }) => b.createdAtMs - a.createdAtMs || (a.provider < b.provider ? -1 : 1),
      );
      return { status: 200, json: { data: newest.map(ownKeyView), next: null } };
    }),
    manageShowOwnKey: buffered(async (exchange) => {
      const { workspace, provider } = targetOf(exchange);
      return { status: 200, json: ownKeyView(findOwnKey(context, workspace, provider)) };
    }),
    managePutOwnKey: mutation(context, async (exchange, scope) => {
      const { workspace, provider } = targetOf(exchange);
      return { status: 200, json: ownKeyView(await putOwnKey(scope, workspace, provider, exchange)) };
    }),
    manageChangeOwnKey: mutation(context, async (exchange, scope) => {
      const { workspace, provider } = targetOf(exchange);
      const { use } = await readBody(exchange, OwnKeyPatch);
      return { status: 200, json: ownKeyView(await changeUse(scope, workspace, provider, use)) };
    }),
    manageTestOwnKey: mutation(context, async (exchange, scope) => {
      const { workspace, provider } = targetOf(exchange);
      return { status: 200, json: testedView(provider, await testOwnKey(scope, workspace, provider)) };
    }),
    manageDeleteOwnKey: mutation(context, async (exchange, scope) => {
      const { workspace, provider } = targetOf(exchange);
      await removeOwnKey(scope, workspace, provider);
      return { status: 200, json: { provider, workspace: workspace.slug, removed: true } };
    }),
    manageTestProvider: mutation(context, async (exchange, scope) => {
      const provider = requireProvider(scope, exchange.params["provider"]);
      const { workspace } = await readOptionalBody(exchange, ProviderTest);
      const probed =
        workspace == null
          ? await testPlatform(scope, provider)
          : await testOwnKey(scope, findWorkspace(scope, workspace), provider);
      return { status: 200, json: testedView(provider, probed) };
    }),
  };
}
