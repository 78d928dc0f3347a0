import { Alerts } from "../app/alerts/alerts.ts";
import type { AlertDeps } from "../app/alerts/deps.ts";
import type { Check } from "../app/manage/deps.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import { egressProblem, guardedPost } from "../io/upstream/guarded-post.ts";
import { smtpMailer } from "../io/upstream/mail.ts";
import { systemClock } from "../kit/clock.ts";
import { HOUR_MS } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

/** A webhook or a mail server that takes longer is not there. */
const ALERT_TIMEOUT_MS = 10_000;

type AlertParts = Pick<AlertDeps, "watch" | "directory" | "state" | "ownKeys" | "vault" | "ids"> & {
  readonly metrics: Metrics;
  readonly log: Logger;
};

/** Alerts, with the rules that are kept; they are looked for from now on. */
export async function openAlerts(config: Config, store: Store, parts: AlertParts): Promise<Alerts> {
  const { metrics, log, ...given } = parts;
  const { GATEWAY_SMTP_URL: server, GATEWAY_MAIL_FROM: from } = config;
  const egress = config.GATEWAY_WEBHOOK_PRIVATE === "on" ? "anywhere" : "public_https";
  const alerts = new Alerts({
    ...given,
    store: store.alerts,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    post: guardedPost(egress, ALERT_TIMEOUT_MS),
    mail: server === null || from === null ? undefined : smtpMailer(server, from, ALERT_TIMEOUT_MS),
    addressProblem: (url) => egressProblem(url, egress),
    patience: {
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

/** Advice only: webhooks are sent all the same. */
export function alertCheck(alerts: Alerts): Check {
  return {
    name: "alerts",
    run: async () => {
      const rules = alerts.monitor.allRules();
      const mailed = rules.filter((one) => alerts.recipientsOf(one).length > 0);
      const deaf = rules.filter((one) => one.webhook === null && !mailed.includes(one));
      const detail = [`workspaces with rules: ${rules.length}`];
      if (deaf.length > 0)
        detail.push(`those that reach nobody, without a webhook and without anybody who gets mail: ${deaf.length}`);
      if (mailed.length > 0 && !alerts.sendsMail)
        detail.push(
          `those that want mail, though no mail server is set: ${mailed.length}; set GATEWAY_SMTP_URL and GATEWAY_MAIL_FROM`,
        );
      return { ok: true, detail: detail.join("; ") };
    },
  };
}
