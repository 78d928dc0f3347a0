import { fault, invalidValue } from "../../../contract/faults.ts";
import { PlatformKeyPut } from "../../../contract/schemas/manage-providers.ts";
import { type PlatformKey, platformKeyEncryptionContext } from "../../../domain/tenancy/platform-key.ts";
import type { Exchange, Handler } from "../../exchange.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, type ManageContext, type ManageScope } from "../deps.ts";
import { isoTime } from "../views.ts";
import { requireAccepted, requireProvider, requireRealProvider } from "./own-keys.ts";

function platformKeyView({ connections }: ManageContext, key: PlatformKey) {
  return {
    provider: key.provider,
    kind: key.kind,
    hint: key.hint,
    fingerprint: key.fingerprint,
    created_at: isoTime(key.createdAtMs),
    changed_at: isoTime(key.changedAtMs),
    changed_by: key.changedBy,
    in_use: connections.sourceOf(key.provider) === "stored",
    overridden_by: connections.overridingSetting(key.provider),
  };
}

/** Makes every workspace reload before its next request; failures are covered by the periodic reload. */
async function invalidateWorkspaces({ directory, state }: ManageContext): Promise<void> {
  await Promise.allSettled(directory.workspaces().map(({ id }) => state.bumpVersion(id)));
}

async function putPlatformKey(scope: ManageScope, provider: string, exchange: Exchange): Promise<PlatformKey> {
  requireRealProvider(scope, provider);
  const { key: text, skip_test } = await readBody(exchange, PlatformKeyPut);
  const read = scope.ownKeys.parse(text, provider);
  if ("problem" in read) throw invalidValue("key", read.problem);
  if (skip_test !== true) requireAccepted(provider, await scope.ownKeys.probe(provider, read.credential, null));
  return scope.serialized(async () => {
    const before = scope.connections.kept(provider);
    const nowMs = scope.clock.nowMs();
    const { kind, hint, fingerprint } = read;
    const key: PlatformKey = {
      ...{ provider, kind, hint, fingerprint },
      createdAtMs: before?.createdAtMs ?? nowMs,
      changedAtMs: nowMs,
      changedBy: scope.auditActor,
    };
    const sealed = await scope.ownKeys.seal(platformKeyEncryptionContext(provider), text.trim());
    await commitWithAudit(scope, async ({ platformKeys }) => {
      await platformKeys.save(key, sealed);
      const action = before === undefined ? "provider.connect" : "provider.replace_key";
      return {
        answer: null,
        audit: { action, workspaceId: null, target: provider, detail: { kind, hint, fingerprint } },
      };
    });
    scope.connections.put(key, read.credential);
    await invalidateWorkspaces(scope);
    return key;
  });
}

function removePlatformKey(scope: ManageScope, provider: string): Promise<void> {
  return scope.serialized(async () => {
    const stored = scope.connections.kept(provider);
    if (stored === undefined) throw noStoredCredential(scope, provider);
    const { fingerprint } = stored;
    await commitWithAudit(scope, async ({ platformKeys }) => {
      await platformKeys.remove(provider);
      const action = "provider.disconnect";
      return { answer: null, audit: { action, workspaceId: null, target: provider, detail: { fingerprint } } };
    });
    scope.connections.drop(provider);
    await invalidateWorkspaces(scope);
  });
}

function noStoredCredential({ connections }: ManageContext, provider: string) {
  const setting = connections.overridingSetting(provider);
  const bySetting =
    setting === null ? "" : ` It is connected by the setting ${setting}: remove the setting and restart.`;
  return fault("not_found", { message: `The platform has no stored credential for ${provider}.${bySetting}` });
}

/** The operator's stored provider credentials. */
export function platformKeyHandlers(context: ManageContext): Record<string, Handler> {
  return {
    managePutProvider: mutation(context, async (exchange, scope) => {
      const provider = requireProvider(scope, exchange.params["provider"]);
      const key = await putPlatformKey(scope, provider, exchange);
      return { status: 200, json: platformKeyView(scope, key) };
    }),
    manageDeleteProvider: mutation(context, async (exchange, scope) => {
      const provider = requireProvider(scope, exchange.params["provider"]);
      await removePlatformKey(scope, provider);
      const connected = scope.connections.credential(provider) !== undefined;
      return { status: 200, json: { provider, removed: true, connected } };
    }),
  };
}
