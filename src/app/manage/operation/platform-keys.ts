import { fault, invalidValue } from "../../../contract/faults.ts";
import { PlatformKeyPut } from "../../../contract/schemas/manage-providers.ts";
import { type PlatformKey, platformKeyEncryptionContext } from "../../../domain/tenancy/platform-key.ts";
import { type Exchange, type Handler, whole } from "../../exchange.ts";
import { readBody } from "../../request-input.ts";
import { actorName } from "../acting.ts";
import { commitWithAudit, type ManageContext } from "../deps.ts";
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
    overridden_by: connections.settingOf(key.provider),
  };
}

/** Every workspace looks before its next request whether something is new; those that cannot be told hear of it soon. */
async function invalidateWorkspaces({ directory, state }: ManageContext): Promise<void> {
  await Promise.allSettled(directory.workspaces().map(({ id }) => state.bumpVersion(id)));
}

async function putPlatformKey(room: ManageContext, provider: string, exchange: Exchange): Promise<PlatformKey> {
  requireRealProvider(room, provider);
  const { key: text, skip_test } = await readBody(exchange, PlatformKeyPut);
  const read = room.ownKeys.parse(text, provider);
  if ("problem" in read) throw invalidValue("key", read.problem);
  if (skip_test !== true) requireAccepted(provider, await room.ownKeys.probe(provider, read.credential, null));
  return room.inTurn(async () => {
    const before = room.connections.kept(provider);
    const nowMs = room.clock.nowMs();
    const { kind, hint, fingerprint } = read;
    const key: PlatformKey = {
      ...{ provider, kind, hint, fingerprint },
      createdAtMs: before?.createdAtMs ?? nowMs,
      changedAtMs: nowMs,
      changedBy: actorName(),
    };
    const sealed = await room.ownKeys.seal(platformKeyEncryptionContext(provider), text.trim());
    await commitWithAudit(room, async ({ platformKeys }) => {
      await platformKeys.save(key, sealed);
      const action = before === undefined ? "provider.connect" : "provider.replace_key";
      return {
        answer: null,
        audit: { action, workspaceId: null, target: provider, detail: { kind, hint, fingerprint } },
      };
    });
    room.connections.put(key, read.credential);
    await invalidateWorkspaces(room);
    return key;
  });
}

function removePlatformKey(room: ManageContext, provider: string): Promise<void> {
  return room.inTurn(async () => {
    const kept = room.connections.kept(provider);
    if (kept === undefined) throw noStoredCredential(room, provider);
    const { fingerprint } = kept;
    await commitWithAudit(room, async ({ platformKeys }) => {
      await platformKeys.remove(provider);
      const action = "provider.disconnect";
      return { answer: null, audit: { action, workspaceId: null, target: provider, detail: { fingerprint } } };
    });
    room.connections.drop(provider);
    await invalidateWorkspaces(room);
  });
}

function noStoredCredential({ connections }: ManageContext, provider: string) {
  const setting = connections.settingOf(provider);
  const bySetting = setting === null ? "" : ` It is connected by the setting ${setting}: remove that, and start again.`;
  return fault("not_found", { message: `The platform has no stored credential for ${provider}.${bySetting}` });
}

/** The platform's own credentials that are kept in the store. */
export function platformKeyHandlers(room: ManageContext): Record<string, Handler> {
  return {
    managePutProvider: whole(async (exchange) => {
      const provider = requireProvider(room, exchange.params["provider"]);
      const key = await putPlatformKey(room, provider, exchange);
      return { status: 200, json: platformKeyView(room, key) };
    }),
    manageDeleteProvider: whole(async (exchange) => {
      const provider = requireProvider(room, exchange.params["provider"]);
      await removePlatformKey(room, provider);
      const connected = room.connections.credential(provider) !== undefined;
      return { status: 200, json: { provider, removed: true, connected } };
    }),
  };
}
