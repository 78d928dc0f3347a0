import { Alerts } from "../app/alerts/alerts.ts";
import type { AlertDeps } from "../app/alerts/deps.ts";
import type { Check } from "../app/manage/deps.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import { createGuardedPost, egressUrlProblem } from "../io/upstream/guarded-post.ts";
import { createSmtpMailer } from "../io/upstream/smtp-mailer.ts";
import { systemClock } from "../kit/clock.ts";
import { pluralize } from "../kit/pluralize.ts";
import { HOUR_MS } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

const ALERT_TIMEOUT_MS = 10_000;

type AlertsBootstrapDeps = Pick<AlertDeps, "monitor" | "directory" | "state" | "ownKeys" | "vault" | "ids"> & {
  readonly random: () => number;
  readonly metrics: Metrics;
  readonly log: Logger;
};

/** Loads the alert rules and starts evaluating them. */
export async function startAlerts(config: Config, store: Store, deps: AlertsBootstrapDeps): Promise<Alerts> {
  const { monitor, directory, state, ownKeys, vault, ids, random, metrics, log } = deps;
  const { GATEWAY_SMTP_URL: server, GATEWAY_MAIL_FROM: from } = config;
  const egress = config.GATEWAY_WEBHOOK_PRIVATE === "on" ? "anywhere" : "public_https";
  const alerts = new Alerts({
    monitor,
    directory,
    state,
    ownKeys,
    vault,
    ids,
    random,
    store: store.alerts,
    clock: systemClock,
    timers: systemTimers,
    post: createGuardedPost(egress, ALERT_TIMEOUT_MS),
    mail: server === null || from === null ? undefined : createSmtpMailer(server, from, ALERT_TIMEOUT_MS),
    addressProblem: (url) => egressUrlProblem(url, egress),
    retryPolicy: {
      baseDelayMs: config.GATEWAY_ALERTS_RETRY_MS,
      maxDelayMs: HOUR_MS,
      attemptsMax: 30,
      ageMsMax: 24 * HOUR_MS,
    },
    everyMs: config.GATEWAY_ALERTS_EVERY_MS,
    onAttempt: (channel, result) => metrics.recordAlertDelivery(channel, result),
    warn: (detail, message) => log.warn(detail, message),
  });
  await alerts.start();
  return alerts;
}

/** Advice only: alerts with a webhook are delivered in any case. */
export function alertCheck(alerts: Alerts): Check {
  return {
    name: "alerts",
    run: async () => {
      const rules = alerts.monitor.allRules();
      const mailed = rules.filter((rule) => alerts.recipientsOf(rule).length > 0);
      const undeliverable = rules.filter((rule) => rule.webhook === null && !mailed.includes(rule));
      const detail = [`${pluralize(rules.length, "workspace")} with alert rules`];
      if (undeliverable.length > 0) detail.push(`without webhook and email recipients: ${undeliverable.length}`);
      if (mailed.length > 0 && !alerts.sendsMail)
        detail.push(
          `with email recipients, but without a mail server: ${mailed.length}; set GATEWAY_SMTP_URL and GATEWAY_MAIL_FROM`,
        );
      return { ok: true, warning: detail.length > 1, detail: detail.join("; ") };
    },
  };
}
