import { type Fault, fault, invalidValue } from "../../../contract/faults.ts";
import { KeyCreate, KeyPatch, KeyRotate } from "../../../contract/schemas/manage-tenancy.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";
import { parseDurationMs } from "../../../kit/time.ts";
import { type Exchange, type Handler, type Reply, whole } from "../../exchange.ts";
import { readBody, readOptionalBody, readQuery } from "../../request-input.ts";
import { findKey, findWorkspace, type ManageContext } from "../deps.ts";
import { knownNamesFor } from "../known-names.ts";
import { ownMemberId } from "../membership.ts";
import { paginate } from "../page.ts";
import { issuedKeyView, keyListedView, keyView } from "../views.ts";
import { parseKeySettings } from "./key-settings.ts";
import { approveKey, changeKey, createKey, GRACE_DEFAULT_MS, revokeKey, rotateKey } from "./keys.ts";

const GRACE_MAX_MS = 3650 * 86_400_000;

function parseGrace(text: string | null | undefined): number {
  if (text === null || text === undefined) return GRACE_DEFAULT_MS;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms > GRACE_MAX_MS)
    throw invalidValue("grace", "write a duration such as 12h or 7d, at most 3650d");
  return ms;
}

/** How fast a key may be and what it may reach are for admins to say, also of a member's own key. */
const ADMIN_SETTINGS = ["rpm", "policy"] as const;
/** With these a member would make more of a key than was approved, or than an admin sees who is about to. */
const APPROVED_SETTINGS = ["scopes", "ip_allowlist", "expires_at"] as const;

type KeySettingsInput = Readonly<
  Partial<Record<(typeof ADMIN_SETTINGS)[number] | (typeof APPROVED_SETTINGS)[number] | "name", unknown>>
>;

function onlyAdminSets(param: string, otherwise = ""): Fault {
  return fault("insufficient_role", {
    message: `Only an admin or an owner sets "${param}" of this key. Ask one${otherwise}.`,
    param,
  });
}

function requireMemberSettings(exchange: Exchange, asked: KeySettingsInput): void {
  if (ownMemberId(exchange) === undefined) return;
  const wanted = ADMIN_SETTINGS.find((param) => (asked[param] ?? null) !== null);
  if (wanted !== undefined) throw onlyAdminSets(wanted);
}

/** Nor do they lift what an admin has set: null lifts. */
function requireMemberChange(room: ManageContext, exchange: Exchange, key: ApiKey, asked: KeySettingsInput): void {
  if (ownMemberId(exchange) === undefined) return;
  requireMemberSettings(exchange, asked);
  const lifted = ADMIN_SETTINGS.find((param) => asked[param] === null && key[param] !== null);
  const isJudged = key.state === "pending" || findWorkspace(room, key.workspaceId).keyPolicy.approval;
  const widened = isJudged ? APPROVED_SETTINGS.find((param) => asked[param] !== undefined) : undefined;
  if (lifted !== undefined) throw onlyAdminSets(lifted);
  if (widened !== undefined) throw onlyAdminSets(widened, ", or revoke it and make another");
}

/** A member makes keys for themselves alone. */
function requireOwnKey(room: ManageContext, exchange: Exchange, member: string | null, asked: KeySettingsInput): void {
  const own = ownMemberId(exchange);
  if (own === undefined) return;
  const email = room.directory.member(own)?.email;
  if (member?.trim().toLowerCase() !== email)
    throw fault("insufficient_role", {
      message: `As a member you make personal keys for yourself: send member "${email}". Workspace keys are made by an admin or an owner.`,
      param: "member",
    });
  requireMemberSettings(exchange, asked);
}

/** Keys with what they were used for in this month. */
async function listedKeyViews(room: ManageContext, workspaceId: string, keys: readonly ApiKey[]) {
  const nowMs = room.clock.nowMs();
  const ids = keys.map(({ id }) => id);
  const used = await room.store.rollups.keyUse(workspaceId, ids, dayName(spanOf("month", nowMs).firstDay));
  const uses = new Map(used.map((use) => [use.keyId, use]));
  return keys.map((key) => keyListedView(key, uses.get(key.id), room.directory, nowMs));
}

export function keyHandlers(room: ManageContext): Record<string, Handler> {
  const shown = (key: ApiKey): Reply => ({
    status: 200,
    json: keyView(key, room.directory, room.clock.nowMs()),
  });
  /** The key is looked up inside the turn: the change before may have touched it. */
  const changing = (exchange: Exchange, change: (key: ApiKey) => Promise<ApiKey>) =>
    room.inTurn(async () => shown(await change(findKey(room, exchange.params["id"]))));

  return {
    manageListKeys: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const own = ownMemberId(exchange);
      const all = room.directory.keys(workspace.id);
      const seen = own === undefined ? all : all.filter(({ memberId }) => memberId === own);
      const { rows, next } = paginate(seen, limit, cursor);
      return { status: 200, json: { data: await listedKeyViews(room, workspace.id, rows), next } };
    }),
    manageCreateKey: whole(async (exchange) => {
      const { id } = findWorkspace(room, exchange.params["workspace"]);
      const { name, environment, member, ...settings } = await readBody(exchange, KeyCreate);
      requireOwnKey(room, exchange, member ?? null, settings);
      const { key, secret } = await room.inTurn(() =>
        createKey(room, findWorkspace(room, id), {
          name: name ?? `${environment ?? "live"} key`,
          environment: environment ?? "live",
          personal: member ?? null,
          settings: parseKeySettings(settings, knownNamesFor(room, id)),
        }),
      );
      return { status: 201, json: issuedKeyView(key, secret) };
    }),
    manageShowKey: whole(async (exchange) => {
      const key = findKey(room, exchange.params["id"]);
      const [json] = await listedKeyViews(room, key.workspaceId, [key]);
      return { status: 200, json };
    }),
    manageChangeKey: whole(async (exchange) => {
      const { workspaceId } = findKey(room, exchange.params["id"]);
      const { name, ...settings } = await readBody(exchange, KeyPatch);
      const change = {
        ...parseKeySettings(settings, knownNamesFor(room, workspaceId)),
        ...(name === undefined ? {} : { name }),
      };
      return changing(exchange, (key) => {
        requireMemberChange(room, exchange, key, settings);
        return changeKey(room, key, change);
      });
    }),
    manageRotateKey: whole(async (exchange) => {
      findKey(room, exchange.params["id"]);
      const { grace } = await readOptionalBody(exchange, KeyRotate);
      const graceMs = parseGrace(grace);
      const { key, secret } = await room.inTurn(() => rotateKey(room, findKey(room, exchange.params["id"]), graceMs));
      return { status: 201, json: issuedKeyView(key, secret) };
    }),
    manageRevokeKey: whole((exchange) => changing(exchange, (key) => revokeKey(room, key))),
    manageApproveKey: whole((exchange) => changing(exchange, (key) => approveKey(room, key))),
  };
}
