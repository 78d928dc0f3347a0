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
      "Each event is reported once: a low balance again after the balance has recovered, a spend limit again in its next period. A webhook must be a public https URL. Its secret is returned only in the response that creates it.",
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
    summary: "Turn off the workspace's alerts and delete its rules",
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
    summary: "Rotate the webhook secret",
    description: "For one day messages are also signed with the previous secret, so that no receiver misses one.",
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
    summary: "Send a test alert to every recipient",
    description:
      "Sent immediately, with the same checks as when the webhook was saved. The response has the result of each delivery. Limited to ten per hour and workspace; further calls get 429 with `Retry-After`.",
    answer: alerts.AlertsTested,
    faults: ["conflict"],
    example: {
      answer: {
        ok: true,
        channels: [
          { channel: "mail", target: "ada@example.eu", ok: true, detail: "the mail server accepted it" },
          {
            channel: "webhook",
            target: "https://hooks.example.eu",
            ok: true,
            detail: "the receiver responded with 204",
          },
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
    summary: "List alert deliveries",
    description: "Each with its state and last error. Finished deliveries are kept for 30 days.",
    query: PageQuery,
    answer: listOf(alerts.AlertDeliveryView),
    example: { answer: { data: [alerts.alertDelivery], next: null } },
  }),
];
