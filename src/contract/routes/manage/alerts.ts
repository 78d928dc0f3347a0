import * as alerts from "../../schemas/manage-alerts.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const ALERTS = "/manage/workspaces/{workspace}/alerts";
const SECRET = "whsec_…";

/** What a workspace wants to be told of, and what became of it. */
export const ALERT_ROUTES = [
  managed({
    id: "manageShowAlerts",
    method: "GET",
    path: ALERTS,
    allows: "admin",
    tag: "Alerts",
    summary: "Show alert rules and destinations",
    answer: alerts.AlertRulesView,
    example: { answer: alerts.alertRules },
  }),
  managed({
    id: "managePutAlerts",
    method: "PUT",
    path: ALERTS,
    allows: "admin",
    tag: "Alerts",
    summary: "Set alert rules and destinations",
    description:
      "Each crossing is notified once: of a low balance again after the balance was back at the amount, of a limit again in its next period. A webhook must be a public https address; its secret is in the answer that first names it, and never again.",
    body: alerts.AlertRulesPut,
    answer: alerts.AlertRulesSaved,
    example: {
      body: { low_balance: "10.00", webhook_url: alerts.alertRules.webhook.url },
      answer: { ...alerts.alertRules, webhook_secret: SECRET },
    },
  }),
  managed({
    id: "manageDeleteAlerts",
    method: "DELETE",
    path: ALERTS,
    allows: "admin",
    tag: "Alerts",
    summary: "Switch the workspace's alerts off and forget its rules",
    answer: alerts.AlertRulesRemoved,
    faults: ["conflict"],
    example: { answer: { workspace: "research", removed: true } },
  }),
  managed({
    id: "manageRotateAlertSecret",
    method: "POST",
    path: `${ALERTS}/rotate-secret`,
    allows: "admin",
    tag: "Alerts",
    summary: "Give the webhook a new secret",
    description: "For a day messages carry a signature by the secret before as well, so that no receiver misses one.",
    answer: alerts.AlertSecretRotated,
    faults: ["conflict"],
    example: {
      answer: { workspace: "research", webhook_secret: SECRET, previous_until: "2026-11-16T09:30:00.000Z" },
    },
  }),
  managed({
    id: "manageTestAlerts",
    method: "POST",
    path: `${ALERTS}/test`,
    allows: "admin",
    tag: "Alerts",
    summary: "Send a test alert to every receiver",
    description:
      "Sent at once, with the same checks as when the webhook was saved; the answer says what became of each. Ten an hour for a workspace: more are refused with 429 and `Retry-After`.",
    answer: alerts.AlertsTested,
    faults: ["conflict"],
    example: {
      answer: {
        ok: true,
        channels: [
          { channel: "mail", target: "ada@example.eu", ok: true, detail: "the mail server took it" },
          { channel: "webhook", target: "https://hooks.example.eu", ok: true, detail: "it answered 204" },
        ],
      },
    },
  }),
  managed({
    id: "manageListAlertDeliveries",
    method: "GET",
    path: `${ALERTS}/deliveries`,
    allows: "admin",
    tag: "Alerts",
    summary: "List deliveries of alerts, with their state and last error",
    description: "What is over is kept for 30 days.",
    query: PageQuery,
    answer: listOf(alerts.AlertDeliveryView),
    example: { answer: { data: [alerts.alertDelivery], next: null } },
  }),
];
