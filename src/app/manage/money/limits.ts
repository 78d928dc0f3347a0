import { fault, invalidValue } from "../../../contract/faults.ts";
import { LimitsPut, LimitsQuery } from "../../../contract/schemas/manage-limits.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import type { SpendState } from "../../../domain/admission/shared-state.ts";
import type { ApiKey } from "../../../domain/tenancy/key.ts";
import {
  noSpendLimits,
  SPENDER_KINDS,
  type SpendAmounts,
  type SpenderKind,
  type SpendLimits,
} from "../../../domain/tenancy/limits.ts";
import type { Member, Workspace } from "../../../domain/tenancy/workspace.ts";
import { type CalendarUnit, dayStartMs, spanOf } from "../../../kit/calendar.ts";
import { formatNanos, parseNanos } from "../../../kit/money.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import {
  commitWithAudit,
  findKey,
  findWorkspace,
  keyNotFound,
  type ManageContext,
  type TenancyDeps,
  type TenancyScope,
} from "../deps.ts";
import { ownMemberId } from "../membership.ts";
import { paginate } from "../page.ts";
import { memberByEmail } from "../tenancy/members.ts";
import { isoTime } from "../views.ts";

/** Far below the store's 64-bit integer range. */
const LIMIT_NANOS_MAX = 1_000_000_000n * 1_000_000_000n;

/** The subject of spend limits. */
type LimitSubject = {
  readonly of: SpenderKind;
  readonly spenderId: string;
  readonly workspace: Workspace;
  readonly member: Member | undefined;
  readonly key: ApiKey | undefined;
};

type LimitSelector = { readonly key?: string | null | undefined; readonly member?: string | null | undefined };

function selectSubject(
  deps: Pick<TenancyDeps, "directory">,
  workspace: Workspace,
  selector: LimitSelector,
): LimitSubject {
  const keyId = selector.key ?? undefined;
  const email = selector.member ?? undefined;
  if (keyId !== undefined && email !== undefined)
    throw invalidValue("member", "must not be combined with key: each has separate limits");
  if (keyId !== undefined) {
    const key = findKey(deps, keyId);
    if (key.workspaceId !== workspace.id) throw keyNotFound(keyId);
    return { of: "key", spenderId: deps.directory.rotationRootOf(key.id), workspace, member: undefined, key };
  }
  if (email !== undefined) {
    const member = memberByEmail(deps, workspace, email);
    if (member === undefined)
      throw fault("not_found", { message: `${printable(email)} is not a member of ${workspace.slug}.` });
    return { of: "member", spenderId: member.id, workspace, member, key: undefined };
  }
  return { of: "workspace", spenderId: workspace.id, workspace, member: undefined, key: undefined };
}

/** Shows the newest key of a rotation chain. */
function subjectOf(
  { directory }: Pick<TenancyDeps, "directory">,
  workspace: Workspace,
  limits: SpendLimits,
): LimitSubject {
  const { of, spenderId } = limits;
  const line =
    of === "key" ? directory.keys(workspace.id).filter((key) => directory.rotationRootOf(key.id) === spenderId) : [];
  const member = of === "member" ? directory.member(spenderId) : undefined;
  return { of, spenderId, workspace, member, key: line.at(-1) };
}

async function limitsView(deps: TenancyDeps, { of, spenderId, workspace, member, key }: LimitSubject) {
  const limits = deps.directory.limits.of(spenderId);
  const nowMs = deps.clock.nowMs();
  const spending = await deps.state.spending({ id: spenderId, workspaceId: workspace.id }, nowMs);
  return {
    of,
    workspace: workspace.slug,
    member: member?.email ?? null,
    key: key?.id ?? null,
    key_name: key?.name ?? null,
    currency: workspace.currency,
    day: periodView("day", nowMs, limits?.dayNanos ?? null, spending.day),
    month: periodView("month", nowMs, limits?.monthNanos ?? null, spending.month),
  };
}

function periodView(unit: CalendarUnit, nowMs: number, limit: bigint | null, { spentNanos, heldNanos }: SpendState) {
  const left = (limit ?? 0n) - spentNanos - heldNanos;
  return {
    limit: limit === null ? null : formatNanos(limit),
    spent: formatNanos(spentNanos),
    held: formatNanos(heldNanos),
    remaining: limit === null ? null : formatNanos(left > 0n ? left : 0n),
    resets_at: isoTime(dayStartMs(spanOf(unit, nowMs).endDay)),
  };
}

export type LimitChange = { readonly dayNanos?: bigint | null; readonly monthNanos?: bigint | null };

async function changeLimits(deps: TenancyScope, subject: LimitSubject, input: LimitChange): Promise<void> {
  const { of, spenderId, workspace, key, member } = subject;
  const before = deps.directory.limits.of(spenderId) ?? noSpendLimits(workspace.id, of, spenderId);
  const after: SpendLimits = { ...before, ...input };
  await commitWithAudit(deps, async ({ limits }) => {
    await limits.save(after);
    const detail = {
      of,
      ...(key === undefined ? {} : { key: key.id }),
      ...(member === undefined ? {} : { member: member.email }),
      currency: workspace.currency,
      before: limitAmounts(before),
      after: limitAmounts(after),
    };
    const target = key?.id ?? member?.id ?? workspace.id;
    return { answer: null, audit: { action: "limits.change", workspaceId: workspace.id, target, detail } };
  });
  deps.directory.limits.put(after);
}

export function limitAmounts({ dayNanos, monthNanos }: SpendAmounts) {
  const input = (nanos: bigint | null) => (nanos === null ? null : formatNanos(nanos));
  return { day: input(dayNanos), month: input(monthNanos) };
}

type LimitInput = { readonly day?: string | null | undefined; readonly month?: string | null | undefined };

/** Only the given periods; null lifts a limit. `path` precedes the names of invalid fields. */
export function parseLimitChange({ day, month }: LimitInput, path = ""): LimitChange {
  return {
    ...(day === undefined ? {} : { dayNanos: parseLimit(`${path}day`, day) }),
    ...(month === undefined ? {} : { monthNanos: parseLimit(`${path}month`, month) }),
  };
}

function parseLimit(param: string, text: string | null): bigint | null {
  if (text === null) return null;
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos < 0n || nanos > LIMIT_NANOS_MAX)
    throw invalidValue(param, "must be a decimal from 0 to 1000000000, with at most 9 decimal places");
  return nanos;
}

/** A member sees only their own limits and those of their keys. */
function requireOwnLimits(exchange: Exchange, { of, member, key }: LimitSubject): void {
  const own = ownMemberId(exchange);
  if (own === undefined || (of !== "workspace" && (member?.id ?? key?.memberId) === own)) return;
  // Other members' keys are reported as not found; the list of members is no secret.
  if (key !== undefined) throw keyNotFound(key.id);
  throw fault("insufficient_role", {
    message: "As a member you can see your own limits only: set `member` to your email, or `key` to one of your keys.",
    param: of === "workspace" ? "member" : of,
  });
}

export function limitHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowLimits: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const subject = selectSubject(context, workspace, readQuery(exchange, LimitsQuery));
      requireOwnLimits(exchange, subject);
      return { status: 200, json: await limitsView(context, subject) };
    }),
    managePutLimits: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { day, month, ...selector } = await readBody(exchange, LimitsPut);
      if (day === undefined && month === undefined)
        throw invalidValue("day", "must be a limit for the day or the month, or null to remove it");
      const input = parseLimitChange({ day, month });
      return scope.serialized(async () => {
        const subject = selectSubject(scope, findWorkspace(scope, id), selector);
        await changeLimits(scope, subject, input);
        scope.alerts.monitor.markDirty(id);
        return { status: 200, json: await limitsView(scope, subject) };
      });
    }),
    manageListLimits: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      // Pages are ordered by kind and then by id; `createdAtMs` carries the rank of the kind.
      const ranked = context.directory.limits.inWorkspace(workspace.id).map((limits) => ({
        limits,
        id: limits.spenderId,
        createdAtMs: SPENDER_KINDS.length - SPENDER_KINDS.indexOf(limits.of),
      }));
      const { rows, next } = paginate(ranked, limit, cursor);
      const data = await Promise.all(
        rows.map(({ limits }) => limitsView(context, subjectOf(context, workspace, limits))),
      );
      return { status: 200, json: { data, next } };
    }),
  };
}
