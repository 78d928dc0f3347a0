import { fault } from "../../../contract/faults.ts";
import { PlaygroundKeyCreate } from "../../../contract/schemas/manage-tenancy.ts";
import { keyValidityOf } from "../../../domain/tenancy/directory-reader.ts";
import { type ApiKey, type Environment, KEY_PREFIXES } from "../../../domain/tenancy/key.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { hmacSha256Hex, sha256Hex } from "../../../kit/secret.ts";
import { HOUR_MS } from "../../../kit/time.ts";
import type { Handler } from "../../exchange.ts";
import { readOptionalBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { issuedKeyView } from "../views.ts";
import { UNRESTRICTED_SETTINGS } from "./key-settings.ts";
import { type IssuedKey, saveKeys } from "./keys.ts";

const LIFETIME_MS = HOUR_MS;
/** A key that is used in the portal is extended once less than this is left. */
const EXTEND_BELOW_MS = LIFETIME_MS / 2;

/** The person that a playground key is for: a member, or an operator who is not a member of the workspace. */
type KeyHolder = { readonly userId: string; readonly memberId: string | null };

/**
 * The portal's playground calls the inference API with one key per person, workspace and environment. It counts for the limits
 * of its member and obeys the policy of the workspace like any personal key, but needs neither personal keys nor approval: it
 * ends with the membership, and an hour after the portal last requested it.
 */
export function playgroundKeyHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageIssuePlaygroundKey: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { environment } = await readOptionalBody(exchange, PlaygroundKeyCreate);
      const holder = holderOf(scope);
      const secretKey = await scope.playgroundSecret();
      const { key, secret } = await scope.serialized(() =>
        issuePlaygroundKey(scope, findWorkspace(scope, id), holder, environment ?? "live", secretKey),
      );
      return { status: 200, json: issuedKeyView(key, secret) };
    }),
  };
}

function holderOf({ caller: { actor, membership } }: ManageScope): KeyHolder {
  if (actor.is === "person") return { userId: actor.person.userId, memberId: membership?.memberId ?? null };
  throw fault("not_allowed", {
    message: "A playground key is for a person who is signed in to the portal. Create an API key instead.",
  });
}

async function issuePlaygroundKey(
  scope: ManageScope,
  workspace: Workspace,
  holder: KeyHolder,
  environment: Environment,
  secretKey: string,
): Promise<IssuedKey> {
  const nowMs = scope.clock.nowMs();
  const known = findPlaygroundKey(scope, workspace, holder, environment, secretKey);
  if (known === undefined || keyValidityOf(known, nowMs) !== "valid")
    return createPlaygroundKey(scope, workspace, holder, environment, known, secretKey);
  const secret = secretOf(known, holder, secretKey);
  if ((known.expiresAtMs ?? 0) - nowMs > EXTEND_BELOW_MS) return { key: known, secret };
  const extended: ApiKey = { ...known, expiresAtMs: nowMs + LIFETIME_MS, version: known.version + 1 };
  await saveKeys(scope, [extended], null);
  return { key: extended, secret };
}

/** The row of an expired key is reused with a new secret, so that keys do not pile up. */
async function createPlaygroundKey(
  scope: ManageScope,
  workspace: Workspace,
  holder: KeyHolder,
  environment: Environment,
  expired: ApiKey | undefined,
  secretKey: string,
): Promise<IssuedKey> {
  const nowMs = scope.clock.nowMs();
  const blank = {
    ...UNRESTRICTED_SETTINGS,
    id: expired?.id ?? scope.ids.next("key_"),
    workspaceId: workspace.id,
    memberId: holder.memberId,
    name: "Playground",
    kind: holder.memberId === null ? "workspace" : "personal",
    environment,
    state: "active",
    expiresAtMs: nowMs + LIFETIME_MS,
    graceUntilMs: null,
    version: (expired?.version ?? 0) + 1,
    createdAtMs: nowMs,
    rotatedFrom: null,
    purpose: "playground",
  } as const;
  const secret = secretOf(blank, holder, secretKey);
  const key: ApiKey = { ...blank, digest: sha256Hex(secret) };
  await saveKeys(scope, [key], {
    action: "key.playground",
    workspaceId: workspace.id,
    target: key.id,
    detail: { environment },
  });
  return { key, secret };
}

/** The key of this person: the one whose secret is derived from them. */
function findPlaygroundKey(
  { directory }: ManageScope,
  workspace: Workspace,
  holder: KeyHolder,
  environment: Environment,
  secretKey: string,
): ApiKey | undefined {
  return directory
    .keys(workspace.id)
    .find(
      (key) =>
        key.purpose === "playground" &&
        key.state === "active" &&
        key.environment === environment &&
        key.memberId === holder.memberId &&
        key.digest === sha256Hex(secretOf(key, holder, secretKey)),
    );
}

/** Derived instead of stored, so that every tab and browser of the person gets the same secret. */
function secretOf(
  { id, kind, environment, createdAtMs }: Omit<ApiKey, "digest">,
  { userId }: KeyHolder,
  secretKey: string,
): string {
  const derived = hmacSha256Hex(secretKey, `playground ${id} ${createdAtMs} ${userId}`);
  return `${KEY_PREFIXES[kind][environment]}${Buffer.from(derived, "hex").toString("base64url")}`;
}
