import type { z } from "zod";
import { type Fault, fault, invalidValue } from "../../../contract/faults.ts";
import type { KeySpendLimits } from "../../../contract/schemas/manage-limits.ts";
import { KeyCreate, KeyListQuery, KeyPatch, KeyRotate } from "../../../contract/schemas/manage-tenancy.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";
import { parseDurationMs } from "../../../kit/time.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../../exchange.ts";
import { readBody, readOptionalBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { findKey, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { knownNamesFor } from "../known-names.ts";
import { ownMemberId } from "../membership.ts";
import { type LimitChange, parseLimitChange } from "../money/limits.ts";
import { paginate } from "../page.ts";
import { issuedKeyView, keyListedView, keyView } from "../views.ts";
import { parseKeySettings } from "./key-settings.ts";
import { approveKey, changeKey, createKey, GRACE_DEFAULT_MS, revokeKey, rotateKey } from "./keys.ts";

const GRACE_MAX_MS = 3650 * 86_400_000;

function parseGrace(text: string | null | undefined): number {
  if (text === null || text === undefined) return GRACE_DEFAULT_MS;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms > GRACE_MAX_MS)
    throw invalidValue("grace", "must be a duration such as 12h or 7d, at most 3650d");
  return ms;
}

function parseSpendLimits(input: z.infer<typeof KeySpendLimits> | undefined): LimitChange | undefined {
  return input === undefined ? undefined : parseLimitChange(input, "spend_limits.");
}

/** Only admins set these, also on members' personal keys. */
const ADMIN_SETTINGS = ["rpm", "policy"] as const;
const ADMIN_ONLY = [...ADMIN_SETTINGS, "spend_limits"] as const;
/** A member may not change these after approval, or while an admin is about to approve. */
const APPROVED_SETTINGS = ["scopes", "ip_allowlist", "expires_at"] as const;

type KeySettingsInput = Readonly<
  Partial<Record<(typeof ADMIN_ONLY)[number] | (typeof APPROVED_SETTINGS)[number] | "name", unknown>>
>;

function onlyAdminSets(param: string, otherwise = ""): Fault {
  return fault("insufficient_role", {
    message: `Only an admin or an owner can set "${param}" of this key. Ask one${otherwise}.`,
    param,
  });
}

function requireMemberSettings(exchange: Exchange, requested: KeySettingsInput): void {
  if (ownMemberId(exchange) === undefined) return;
  const wanted = ADMIN_ONLY.find((param) => (requested[param] ?? null) !== null);
  if (wanted !== undefined) throw onlyAdminSets(wanted);
}

/** A member may not lift an admin's setting either: null lifts it. */
function requireMemberChange(
  context: ManageContext,
  exchange: Exchange,
  key: ApiKey,
  requested: KeySettingsInput,
): void {
  if (ownMemberId(exchange) === undefined) return;
  requireMemberSettings(exchange, requested);
  const lifted = ADMIN_SETTINGS.find((param) => requested[param] === null && key[param] !== null);
  const needsApproval = key.state === "pending" || findWorkspace(context, key.workspaceId).keyPolicy.approval;
  const widened = needsApproval ? APPROVED_SETTINGS.find((param) => requested[param] !== undefined) : undefined;
  if (lifted !== undefined) throw onlyAdminSets(lifted);
  if (widened !== undefined) throw onlyAdminSets(widened, ", or revoke it and create a new one");
}

/** A member creates personal keys for themselves only. */
function requireOwnKey(
  context: ManageContext,
  exchange: Exchange,
  member: string | null,
  requested: KeySettingsInput,
): void {
  const own = ownMemberId(exchange);
  if (own === undefined) return;
  const email = context.directory.member(own)?.email;
  if (member?.trim().toLowerCase() !== email)
    throw fault("insufficient_role", {
      message: `As a member you can create personal keys for yourself only: send member "${email}". Workspace keys are created by an admin or an owner.`,
      param: "member",
    });
  requireMemberSettings(exchange, requested);
}

/** Keys with their usage of this month. */
async function listedKeyViews(context: ManageContext, workspaceId: string, keys: readonly ApiKey[]) {
  const nowMs = context.clock.nowMs();
  const ids = keys.map(({ id }) => id);
  const used = await context.store.rollups.keyUsage(workspaceId, ids, dayName(spanOf("month", nowMs).firstDay));
  const uses = new Map(used.map((use) => [use.keyId, use]));
  return keys.map((key) => keyListedView(key, uses.get(key.id), context.directory, nowMs));
}

export function keyHandlers(context: ManageContext): Record<string, Handler> {
  const keyReply = (key: ApiKey): HttpResponse => ({
    status: 200,
    json: keyView(key, context.directory, context.clock.nowMs()),
  });
  /** Reads the key inside the lock, because a preceding change may have touched it. */
  const changeFoundKey = (scope: ManageScope, exchange: Exchange, change: (key: ApiKey) => Promise<ApiKey>) =>
    scope.serialized(async () => keyReply(await change(findKey(scope, exchange.params["id"]))));

  return {
    manageListKeys: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor, purpose } = readQuery(exchange, KeyListQuery);
      const own = ownMemberId(exchange);
      const all = context.directory
        .keys(workspace.id)
        .filter((key) => purpose === "all" || (key.purpose ?? "api") === purpose);
      const visible = own === undefined ? all : all.filter(({ memberId }) => memberId === own);
      const { rows, next } = paginate(visible, limit, cursor);
      return { status: 200, json: { data: await listedKeyViews(context, workspace.id, rows), next } };
    }),
    manageCreateKey: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { name, environment, member, ...input } = await readBody(exchange, KeyCreate);
      requireOwnKey(scope, exchange, member ?? null, input);
      const { spend_limits, ...settings } = input;
      const spendLimits = parseSpendLimits(spend_limits);
      const { key, secret } = await scope.serialized(() =>
        createKey(scope, findWorkspace(scope, id), {
          name: name ?? `${environment ?? "live"} key`,
          environment: environment ?? "live",
          personal: member ?? null,
          settings: parseKeySettings(settings, knownNamesFor(scope, id)),
          spendLimits,
        }),
      );
      if (spendLimits !== undefined) scope.alerts.monitor.markDirty(id);
      return { status: 201, json: issuedKeyView(key, secret) };
    }),
    manageShowKey: buffered(async (exchange) => {
      const key = findKey(context, exchange.params["id"]);
      const [json] = await listedKeyViews(context, key.workspaceId, [key]);
      return { status: 200, json };
    }),
    manageChangeKey: mutation(context, async (exchange, scope) => {
      const { workspaceId } = findKey(scope, exchange.params["id"]);
      const { name, ...input } = await readBody(exchange, KeyPatch);
      const { spend_limits, ...settings } = input;
      const spendLimits = parseSpendLimits(spend_limits);
      const change = {
        ...parseKeySettings(settings, knownNamesFor(scope, workspaceId)),
        ...(name === undefined ? {} : { name }),
      };
      return changeFoundKey(scope, exchange, async (key) => {
        requireMemberChange(scope, exchange, key, input);
        const changed = await changeKey(scope, key, change, spendLimits);
        if (spendLimits !== undefined) scope.alerts.monitor.markDirty(workspaceId);
        return changed;
      });
    }),
    manageRotateKey: mutation(context, async (exchange, scope) => {
      findKey(scope, exchange.params["id"]);
      const { grace } = await readOptionalBody(exchange, KeyRotate);
      const graceMs = parseGrace(grace);
      const { key, secret } = await scope.serialized(() =>
        rotateKey(scope, findKey(scope, exchange.params["id"]), graceMs),
      );
      return { status: 201, json: issuedKeyView(key, secret) };
    }),
    manageRevokeKey: mutation(context, (exchange, scope) =>
      changeFoundKey(scope, exchange, (key) => revokeKey(scope, key)),
    ),
    manageApproveKey: mutation(context, (exchange, scope) =>
      changeFoundKey(scope, exchange, (key) => approveKey(scope, key)),
    ),
  };
}
