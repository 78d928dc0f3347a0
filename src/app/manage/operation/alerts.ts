import type { z } from "zod";
import { fault, invalidValue } from "../../../contract/faults.ts";
import { AlertRulesPut } from "../../../contract/schemas/manage-alerts.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { parseAlertEvent } from "../../../domain/alerts/alert-event.ts";
import { type AlertRules, type AlertWebhook, defaultAlertRules } from "../../../domain/alerts/alert-rules.ts";
import type { Delivery } from "../../../domain/alerts/alert-store.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import type { Clock } from "../../../kit/clock.ts";
import { LruMap } from "../../../kit/lru-map.ts";
import { formatNanos, parseNanos } from "../../../kit/money.ts";
import { randomToken } from "../../../kit/secret.ts";
import { HOUR_MS } from "../../../kit/time.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { BUILT_IN_NAMES, knownNamesFor } from "../known-names.ts";
import { isoTime } from "../views.ts";

const SECRET_BYTES = 32;
/** How long the previous secret signs after a rotation. */
const ROTATION_MS = 86_400_000;
/** Far below the store's 64-bit integer range. */
const AMOUNT_NANOS_MAX = 1_000_000_000n * 1_000_000_000n;

const makeSecret = () => `whsec_${randomToken(SECRET_BYTES)}`;

function rulesView({ alerts }: ManageContext, { slug, currency }: Workspace, rules: AlertRules | undefined) {
  const { lowBalanceNanos = null, webhook = null } = rules ?? {};
  return {
    workspace: slug,
    enabled: rules !== undefined,
    low_balance: lowBalanceNanos === null ? null : formatNanos(lowBalanceNanos),
    currency,
    limit_percents: rules?.limitPercents ?? [],
    credential_refused: rules?.credentialRefused ?? false,
    data_classes: rules?.dataClasses ?? [],
    mail_to: rules === undefined ? [] : rules.mailTo,
    recipients: rules === undefined ? [] : alerts.recipientsOf(rules),
    mail_ready: alerts.sendsMail,
    webhook: webhook === null ? null : { url: webhook.url, secret_changed_at: isoTime(webhook.secretChangedAtMs) },
    changed_at: rules === undefined ? null : isoTime(rules.changedAtMs),
  };
}

/** For the audit log: only the webhook's origin, because the rest of its URL may contain a secret. */
function auditedRules({ lowBalanceNanos, limitPercents, credentialRefused, dataClasses, mailTo, webhook }: AlertRules) {
  return {
    low_balance: lowBalanceNanos === null ? null : formatNanos(lowBalanceNanos),
    limit_percents: limitPercents,
    credential_refused: credentialRefused,
    data_classes: dataClasses,
    mail_to: mailTo,
    webhook: webhook === null ? null : new URL(webhook.url).origin,
  };
}

type AlertRulesInput = z.infer<typeof AlertRulesPut>;

function parseThreshold(text: string | null): bigint | null {
  if (text === null) return null;
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos <= 0n || nanos > AMOUNT_NANOS_MAX)
    throw invalidValue(
      "low_balance",
      "must be a decimal above 0 and at most 1000000000, with at most 9 decimal places",
    );
  return nanos;
}

function changedRules(
  before: AlertRules,
  input: AlertRulesInput,
  webhook: AlertWebhook | null,
  nowMs: number,
): AlertRules {
  const { low_balance, limit_percents, credential_refused, data_classes, mail_to } = input;
  const unique = <T>(list: readonly T[]) => [...new Set(list)];
  return {
    workspaceId: before.workspaceId,
    lowBalanceNanos: low_balance === undefined ? before.lowBalanceNanos : parseThreshold(low_balance),
    limitPercents:
      limit_percents === undefined ? before.limitPercents : unique(limit_percents ?? []).toSorted((a, b) => a - b),
    credentialRefused: credential_refused ?? before.credentialRefused,
    dataClasses: data_classes === undefined ? before.dataClasses : unique(data_classes ?? []).toSorted(),
    mailTo: mail_to === undefined ? before.mailTo : mail_to === null ? null : unique(mail_to.map(lowerCased)),
    webhook,
    changedAtMs: nowMs,
  };
}

const lowerCased = (address: string) => address.toLowerCase();

/** A changed URL keeps the secret, which is never sent to the receiver. */
async function webhookOf(context: ManageContext, before: AlertRules, url: string | null | undefined) {
  if (url === null) return { webhook: null, secret: null };
  if (url === undefined || (before.webhook !== null && url === before.webhook.url))
    return { webhook: before.webhook, secret: null };
  if (before.webhook !== null) return { webhook: { ...before.webhook, url }, secret: null };
  const secret = makeSecret();
  const sealed = await context.alerts.seal(before.workspaceId, { current: secret, previous: null });
  return { webhook: { url, sealed, secretChangedAtMs: context.clock.nowMs() }, secret };
}

async function putRules(scope: ManageScope, workspace: Workspace, input: AlertRulesInput) {
  const nowMs = scope.clock.nowMs();
  const { dataClasses } = knownNamesFor(scope, workspace.id);
  const unknown = input.data_classes?.find((name) => !dataClasses.has(name));
  if (unknown !== undefined)
    throw invalidValue(
      "data_classes",
      `must name data classes: there is no class "${printable(unknown)}". Built-in ones are ${BUILT_IN_NAMES}; define others with \`gateway data-class define\``,
    );
  const known = scope.alerts.monitor.rulesOf(workspace.id);
  const before = known ?? defaultAlertRules(workspace.id, nowMs);
  const { webhook, secret } = await webhookOf(scope, before, input.webhook_url);
  const rules = changedRules(before, input, webhook, nowMs);
  await commitWithAudit(scope, async ({ alertRules }) => {
    await alertRules.save(rules);
    const detail = { before: known === undefined ? null : auditedRules(known), after: auditedRules(rules) };
    return {
      answer: null,
      audit: { action: "alerts.change", workspaceId: workspace.id, target: workspace.id, detail },
    };
  });
  scope.alerts.monitor.putRules(rules);
  return { ...rulesView(scope, workspace, rules), webhook_secret: secret };
}

function requireRules(context: ManageContext, workspace: Workspace): AlertRules {
  const rules = context.alerts.monitor.rulesOf(workspace.id);
  if (rules !== undefined) return rules;
  throw fault("conflict", {
    message: `Workspace ${workspace.slug} has no alerts. Set them first (gateway alert set ${workspace.slug} --webhook URL).`,
  });
}

async function rotateSecret(scope: ManageScope, workspace: Workspace) {
  const rules = requireRules(scope, workspace);
  if (rules.webhook === null)
    throw fault("conflict", {
      message: `The alerts of workspace ${workspace.slug} have no webhook. Set its URL first (webhook_url, --webhook).`,
    });
  const nowMs = scope.clock.nowMs();
  const { current } = await scope.alerts.open(workspace.id, rules.webhook.sealed);
  const secret = makeSecret();
  const untilMs = nowMs + ROTATION_MS;
  const sealed = await scope.alerts.seal(workspace.id, { current: secret, previous: { secret: current, untilMs } });
  const rotated: AlertRules = { ...rules, webhook: { ...rules.webhook, sealed, secretChangedAtMs: nowMs } };
  await commitWithAudit(scope, async ({ alertRules }) => {
    await alertRules.save(rotated);
    const detail = { previous_until: isoTime(untilMs) };
    const audit = { action: "alerts.rotate_secret", workspaceId: workspace.id, target: workspace.id, detail };
    return { answer: null, audit };
  });
  scope.alerts.monitor.putRules(rotated);
  return { workspace: workspace.slug, webhook_secret: secret, previous_until: isoTime(untilMs) };
}

async function removeRules(scope: ManageScope, workspace: Workspace): Promise<void> {
  const rules = requireRules(scope, workspace);
  await commitWithAudit(scope, async ({ alertRules }) => {
    await alertRules.remove(workspace.id);
    const detail = { before: auditedRules(rules) };
    return {
      answer: null,
      audit: { action: "alerts.remove", workspaceId: workspace.id, target: workspace.id, detail },
    };
  });
  scope.alerts.monitor.removeRules(workspace.id);
}

async function testRules(scope: ManageScope, workspace: Workspace, tests: AlertTestThrottle) {
  const rules = requireRules(scope, workspace);
  tests.take(workspace.id);
  const channels = await scope.alerts.test(rules, workspace);
  if (channels.length === 0)
    throw fault("conflict", {
      message: `The alerts of workspace ${workspace.slug} have no recipient. Set a webhook (webhook_url, --webhook) or email recipients (mail_to, --mail), or add an owner or admin to the workspace.`,
    });
  const ok = channels.every((one) => one.ok);
  await commitWithAudit(scope, async () => ({
    answer: null,
    audit: {
      action: "alerts.test",
      workspaceId: workspace.id,
      target: workspace.id,
      detail: { ok, channels: channels.map(({ channel, target, ok: sent }) => ({ channel, target, ok: sent })) },
    },
  }));
  return { ok, channels };
}

function deliveryView(delivery: Delivery) {
  const { id, alertId, type, channel, target, state, attempts, atMs, lastError } = delivery;
  return {
    id,
    alert: alertId,
    type,
    title: parseAlertEvent(delivery.payload).title,
    channel,
    target,
    state,
    attempts,
    last_error: lastError,
    created_at: isoTime(delivery.createdAtMs),
    next_attempt_at: state === "waiting" ? isoTime(atMs) : null,
    finished_at: state === "waiting" ? null : isoTime(atMs),
  };
}

export function alertHandlers(context: ManageContext): Record<string, Handler> {
  const workspaceOf = (params: Readonly<Record<string, string>>) => findWorkspace(context, params["workspace"]);
  const tests = new AlertTestThrottle(context.clock);
  return {
    manageShowAlerts: buffered(async ({ params }) => {
      const workspace = workspaceOf(params);
      return { status: 200, json: rulesView(context, workspace, context.alerts.monitor.rulesOf(workspace.id)) };
    }),
    managePutAlerts: mutation(context, async (exchange, scope) => {
      const { id } = workspaceOf(exchange.params);
      const input = await readBody(exchange, AlertRulesPut);
      // Outside the lock, so that a slow DNS lookup blocks no other change.
      const problem = input.webhook_url == null ? undefined : await scope.alerts.addressProblem(input.webhook_url);
      if (problem !== undefined) throw invalidValue("webhook_url", problem);
      return scope.serialized(async () => ({
        status: 200,
        json: await putRules(scope, findWorkspace(scope, id), input),
      }));
    }),
    manageDeleteAlerts: mutation(context, async ({ params }, scope) =>
      scope.serialized(async () => {
        const workspace = workspaceOf(params);
        await removeRules(scope, workspace);
        return { status: 200, json: { workspace: workspace.slug, removed: true } };
      }),
    ),
    manageRotateAlertSecret: mutation(context, async ({ params }, scope) =>
      scope.serialized(async () => ({ status: 200, json: await rotateSecret(scope, workspaceOf(params)) })),
    ),
    manageTestAlerts: mutation(context, async ({ params }, scope) => ({
      status: 200,
      json: await testRules(scope, workspaceOf(params), tests),
    })),
    manageListAlertDeliveries: buffered(async (exchange) => {
      const workspace = workspaceOf(exchange.params);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = await context.alerts.deliveries(workspace.id, limit, cursor ?? null);
      return { status: 200, json: { data: rows.map(deliveryView), next } };
    }),
  };
}

/** Enough to set up a receiver; too few to flood a third party's mailbox or server. */
export const ALERT_TESTS_PER_HOUR = 10;

const WORKSPACES_MAX = 10_000;

/** Limits test alerts per workspace and hour, because their receivers are unconfirmed. */
export class AlertTestThrottle {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #times = new LruMap<string, readonly number[]>(WORKSPACES_MAX);

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Throws when the limit is exceeded; the fault carries Retry-After. */
  take(workspaceId: string): void {
    const nowMs = this.#clock.monotonicMs();
    const recent = (this.#times.get(workspaceId) ?? []).filter((atMs) => nowMs - atMs < HOUR_MS);
    const [first = nowMs] = recent;
    if (recent.length < ALERT_TESTS_PER_HOUR) {
      this.#times.set(workspaceId, [...recent, nowMs]);
      return;
    }
    const seconds = Math.max(1, Math.ceil((first + HOUR_MS - nowMs) / 1000));
    throw fault("rate_limit_exceeded", {
      message: `A workspace can send ${ALERT_TESTS_PER_HOUR} test alerts per hour. Try again in ${formatWait(seconds)}.`,
      headers: { "retry-after": String(seconds) },
    });
  }
}

function formatWait(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
