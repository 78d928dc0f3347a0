import type { Transaction } from "../../domain/billing/ledger.ts";
import type { AttemptRecord, DecisionRecord, RequestRecord, RequirementsRecord } from "../../domain/record/record.ts";
import type { KeyUsage } from "../../domain/record/usage-sums.ts";
import type { ResponseSummary } from "../../domain/responses/response-store.ts";
import type { CacheRule } from "../../domain/tenancy/cache-rule.ts";
import { writtenRules } from "../../domain/tenancy/data-class-rules.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import { keyValidityOf } from "../../domain/tenancy/directory-reader.ts";
import { type ApiKey, type KeyState, prefixOf } from "../../domain/tenancy/key.ts";
import type { PersonSummary } from "../../domain/tenancy/person.ts";
import { OPEN_POLICY, type Policy, type PolicyRuleName } from "../../domain/tenancy/policy.ts";
import { AUTO_ROUTER, type Router, type RouterSpec, type RouterVersion } from "../../domain/tenancy/router.ts";
import type { KeyPolicy, Member, Workspace } from "../../domain/tenancy/workspace.ts";
import { formatNanos } from "../../kit/money.ts";
import type { ProviderPreferences } from "../../language/canon/routing-hints.ts";
import { usageView } from "../usage-view.ts";

export const isoTime = (ms: number): string => new Date(ms).toISOString();
const isoTimeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

export function policyView(policy: Policy) {
  return {
    floor: policy.floor,
    countries: policy.countries,
    zero_data_retention: policy.zeroDataRetention,
    no_training: policy.noTraining,
    blocked_providers: policy.blockedProviders,
    allowed_models: policy.allowedModels,
    own_nodes: policy.ownNodesExempt ? ("exempt" as const) : ("subject" as const),
    test_keys: policy.testKeysSimulated ? ("simulated" as const) : ("any" as const),
    parameters: policy.parameters,
    ...(policy.dataClasses === undefined || Object.keys(policy.dataClasses).length === 0
      ? {}
      : { data_classes: writtenRules(policy.dataClasses) }),
    ...(policy.cache === undefined || Object.keys(policy.cache).length === 0
      ? {}
      : { cache: cacheRuleView(policy.cache) }),
  };
}

/** In an explanation it is combined with the request's own wish. */
function cacheRuleView({ ttlSeconds, coalesce, requests }: CacheRule) {
  return {
    ...(ttlSeconds === undefined ? {} : { ttl: ttlSeconds }),
    ...(coalesce === undefined ? {} : { coalesce }),
    ...(requests === undefined ? {} : { requests }),
  };
}

/** Undefined: nothing is stated. */
export function parseCacheRule(input: CacheInput | null | undefined): CacheRule {
  const { ttl, coalesce, requests } = input ?? {};
  return {
    ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
    ...(coalesce === undefined ? {} : { coalesce }),
    ...(requests === "forbid" ? { requests } : {}),
  };
}

type CacheInput = {
  readonly ttl?: number | undefined;
  readonly coalesce?: boolean | undefined;
  readonly requests?: "allow" | "forbid" | undefined;
};

export function keyPolicyView(keyPolicy: KeyPolicy) {
  return {
    personal_keys: keyPolicy.personalKeys,
    approval: keyPolicy.approval,
    ip_allowlist: keyPolicy.ipAllowlist,
  };
}

export function workspaceView(workspace: Workspace) {
  return {
    id: workspace.id,
    slug: workspace.slug,
    name: workspace.name,
    currency: workspace.currency,
    created_at: isoTime(workspace.createdAtMs),
    policy: policyView(workspace.policy),
    key_policy: keyPolicyView(workspace.keyPolicy),
  };
}

export function memberView(member: Member) {
  return { id: member.id, email: member.email, role: member.role, created_at: isoTime(member.createdAtMs) };
}

/** With the account of the address; `hasAccountDetails` adds how it is protected. */
export function memberListedView(
  member: Member,
  person: PersonSummary | undefined,
  { hasAccountDetails }: { readonly hasAccountDetails: boolean },
) {
  const details = hasAccountDetails ? person : undefined;
  return {
    ...memberView(member),
    joined: person !== undefined,
    name: person?.name ?? null,
    two_factor: details?.twoFactor ?? null,
    passkeys: details?.passkeys ?? null,
    last_seen_at: isoTimeOrNull(details?.lastSeenAtMs ?? null),
  };
}

/** The stored state, or `expired`, which is derived from the time. */
export function keyStateAt(key: ApiKey, nowMs: number): KeyState | "expired" {
  return keyValidityOf(key, nowMs) === "expired" ? "expired" : key.state;
}

/** The changeable settings of a key. */
export function keySettingsView(key: ApiKey) {
  return {
    name: key.name,
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    expires_at: isoTimeOrNull(key.expiresAtMs),
    rpm: key.rpm,
    policy: optionalPolicyView(key),
  };
}

export function keyView(key: ApiKey, directory: Directory, nowMs: number) {
  return {
    id: key.id,
    workspace: directory.workspace(key.workspaceId)?.slug ?? key.workspaceId,
    name: key.name,
    prefix: prefixOf(key),
    kind: key.kind,
    member: memberName(directory, key.memberId),
    environment: key.environment,
    state: keyStateAt(key, nowMs),
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    expires_at: isoTimeOrNull(key.expiresAtMs),
    grace_until: isoTimeOrNull(key.graceUntilMs),
    rpm: key.rpm,
    policy: optionalPolicyView(key),
    created_at: isoTime(key.createdAtMs),
    rotated_from: key.rotatedFrom,
    purpose: key.purpose ?? "api",
  };
}

/** With its usage; undefined: none recorded. */
export function keyListedView(key: ApiKey, use: KeyUsage | undefined, directory: Directory, nowMs: number) {
  return {
    ...keyView(key, directory, nowMs),
    last_used_at: isoTimeOrNull(use?.lastUsedMs ?? null),
    requests_month: use?.requests ?? 0,
    spent_month: formatNanos(use?.costNanos ?? 0n),
    currency: directory.workspace(key.workspaceId)?.currency ?? "",
  };
}

/** The key's own policy; null: none. */
function optionalPolicyView({ policy }: ApiKey) {
  return policy === null ? null : policyView({ ...OPEN_POLICY, ...policy });
}

/** The only response that contains the key. */
export function issuedKeyView(key: ApiKey, secret: string) {
  return {
    id: key.id,
    key: secret,
    prefix: prefixOf(key),
    name: key.name,
    environment: key.environment,
    expires_at: isoTimeOrNull(key.expiresAtMs),
    ...(key.state === "pending" ? { state: key.state } : {}),
  };
}

export function routerSpecView(spec: RouterSpec) {
  return {
    weights: spec.weights,
    floor: spec.floor,
    quality_floor: spec.qualityFloor,
    countries: spec.countries ?? [],
    models: spec.models ?? [],
    fallback: spec.fallback,
    reasoning_effort: spec.reasoningEffort,
    nodes: spec.nodes,
    ...(spec.dataClasses === undefined ? {} : { data_classes: writtenRules(spec.dataClasses) }),
    ...(spec.cache === undefined ? {} : { cache: cacheRuleView(spec.cache) }),
  };
}

/** The value of `model` in requests. */
export function routerName(workspace: Pick<Workspace, "slug">, slug: string): string {
  return slug === AUTO_ROUTER ? AUTO_ROUTER : `@${workspace.slug}/${slug}`;
}

function versionHead({ slug, version, createdAtMs }: RouterVersion, workspace: Workspace) {
  return { slug, name: routerName(workspace, slug), version, created_at: isoTime(createdAtMs) };
}

export function routerView(router: Router, workspace: Workspace) {
  return { ...versionHead(router, workspace), ...routerSpecView(router.spec) };
}

export function routerVersionView(version: RouterVersion, workspace: Workspace) {
  return { ...versionHead(version, workspace), spec: version.spec === null ? null : routerSpecView(version.spec) };
}

/** The email, or the id of a former member. */
function memberName(directory: Directory, memberId: string | null): string | null {
  return memberId === null ? null : (directory.member(memberId)?.email ?? memberId);
}

export function transactionView(transaction: Transaction, currency: string) {
  const effect = transaction.entries
    .filter((entry) => entry.account === "wallet" && entry.workspaceId === transaction.workspaceId)
    .reduce((sum, entry) => sum + entry.nanos, 0n);
  return {
    id: transaction.id,
    kind: transaction.kind,
    created_at: isoTime(transaction.createdAtMs),
    amount: formatNanos(effect),
    currency,
    note: transaction.note,
    entries: transaction.entries.map((entry) => ({
      account: entry.account,
      amount: formatNanos(entry.nanos),
      currency: entry.currency,
    })),
  };
}

export function responseView(response: ResponseSummary) {
  return {
    id: response.id,
    created_at: isoTime(response.createdAtMs),
    expires_at: isoTime(response.expiresAtMs),
    status: response.status,
    model: response.model,
    background: response.background !== "none",
  };
}

function attemptView(attempt: AttemptRecord) {
  return {
    endpoint: attempt.endpoint,
    provider: attempt.provider,
    started_at: isoTime(attempt.startedAtMs),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    upstream_status: attempt.upstreamStatus,
    reason: attempt.reason,
    maybe_accepted: attempt.maybeAccepted,
    own_key: attempt.ownKey === true,
  };
}

export function requestView(record: RequestRecord, directory: Directory) {
  return {
    id: record.id,
    created_at: isoTime(record.createdAtMs),
    key_id: record.keyId,
    key_name: directory.key(record.keyId)?.name ?? null,
    member: memberName(directory, record.memberId),
    environment: record.environment,
    app: record.app,
    surface: record.surface,
    model_requested: record.modelRequested,
    model: record.model,
    provider: record.provider,
    endpoint: record.endpoint,
    level: record.level,
    countries: record.countries,
    router: record.router,
    streaming: record.streaming,
    status: record.status,
    error_code: record.errorCode,
    usage: usageView(record.usage),
    cost: record.ownKey === true ? null : formatNanos(BigInt(record.charge?.nanos ?? "0")),
    own_key: record.ownKey === true,
    node_id: record.nodeId ?? null,
    level_attested: record.attested === true,
    currency: record.charge?.currency ?? directory.workspace(record.workspaceId)?.currency ?? "EUR",
    ttfb_ms: record.ttfbMs,
    total_ms: record.totalMs,
    overhead_ms: record.overheadMs,
    attempts: record.attempts.map(attemptView),
  };
}

export function requestDetail(record: RequestRecord, directory: Directory) {
  const { decision, detail = null, omitted = [] } = record;
  return {
    ...requestView(record, directory),
    omitted,
    detail,
    decision: decision === null ? null : decisionView(decision),
  };
}

function decisionView({ demand, ...decision }: DecisionRecord) {
  return demand === undefined ? decision : { ...decision, demand: demandView(demand) };
}

function demandView({ needs = [], parameters = [], native, maxOutputTokens, wishes }: RequirementsRecord) {
  const { provider, costTier, remainingTurns } = wishes ?? {};
  return {
    needs,
    parameters,
    native: native ?? null,
    max_output_tokens: maxOutputTokens ?? null,
    cost_tier: costTier ?? null,
    remaining_turns: remainingTurns ?? null,
    provider: provider === undefined ? null : typeof provider === "string" ? provider : preferencesView(provider),
  };
}

/** In the format of the request. */
function preferencesView(preferences: ProviderPreferences) {
  const { allowFallbacks, dataCollection, zeroDataRetention, maxPrice, ...rest } = preferences;
  return {
    ...rest,
    ...(allowFallbacks === undefined ? {} : { allow_fallbacks: allowFallbacks }),
    ...(dataCollection === undefined ? {} : { data_collection: dataCollection }),
    ...(zeroDataRetention === undefined ? {} : { zdr: zeroDataRetention }),
    ...(maxPrice === undefined ? {} : { max_price: maxPrice }),
  };
}

/** The API names of policy rules. */
export const RULE_NAMES = {
  floor: "floor",
  countries: "countries",
  zeroDataRetention: "zero_data_retention",
  noTraining: "no_training",
  blockedProviders: "blocked_providers",
  allowedModels: "allowed_models",
  ownNodesExempt: "own_nodes",
  testKeysSimulated: "test_keys",
  parameters: "parameters",
} as const satisfies Readonly<Record<PolicyRuleName, keyof ReturnType<typeof policyView>>>;
