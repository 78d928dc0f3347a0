import { z } from "zod";
import { ClassName } from "./data-class-rules.ts";
import { AmountInput, Money, Time } from "./manage-values.ts";

const Percent = z
  .number()
  .int()
  .min(1, "must be whole numbers from 1 to 100")
  .max(100, "must be whole numbers from 1 to 100");

export const AlertRulesPut = z
  .strictObject({
    low_balance: AmountInput.nullable().optional().meta({
      description: "Notify when the balance falls below this amount, in the workspace's currency; null: off.",
    }),
    limit_percents: z.array(Percent).max(10).nullable().optional().meta({
      description:
        "Notify when these percentages of a spend limit are reached; an empty list or null: off. Default: 80 and 100.",
    }),
    credential_refused: z
      .boolean()
      .optional()
      .meta({ description: "Notify when a provider rejects the workspace's own key. Default: true." }),
    data_classes: z.array(ClassName).max(100).nullable().optional().meta({
      description:
        "Notify of the first request of a day that contains data of these classes; an empty list or null: off.",
    }),
    mail_to: z.array(z.email("must be email addresses").max(254)).max(20).nullable().optional().meta({
      description: "Email recipients; an empty list: none; null: the workspace's owners and admins. Default: null.",
    }),
    webhook_url: z
      .string()
      .min(1)
      .max(2048)
      .nullable()
      .optional()
      .meta({ description: "Webhook that receives alerts: a public https URL; null: none." }),
  })
  .meta({ id: "AlertRulesPut", description: "Omitted fields stay unchanged." });

const rulesShape = {
  workspace: z.string().meta({ description: "Slug of the workspace." }),
  enabled: z.boolean().meta({ description: "False if the workspace has no alert rules and receives no alerts." }),
  low_balance: Money.nullable(),
  currency: z.string(),
  limit_percents: z.array(z.number()),
  credential_refused: z.boolean(),
  data_classes: z.array(z.string()),
  mail_to: z.array(z.string()).nullable().meta({ description: "Null: the workspace's owners and admins." }),
  recipients: z.array(z.string()).meta({ description: "Current email recipients." }),
  mail_ready: z
    .boolean()
    .meta({ description: "The operator has configured a mail server; without one no email is sent." }),
  webhook: z
    .object({ url: z.string(), secret_changed_at: Time })
    .nullable()
    .meta({ description: "The secret is never shown again." }),
  changed_at: Time.nullable(),
};

export const AlertRulesView = z.object(rulesShape).meta({ id: "AlertRules" });

const Secret = z.string().meta({ description: "The signing secret of the webhook. Shown only once." });

export const AlertRulesSaved = z
  .object({
    ...rulesShape,
    webhook_secret: Secret.nullable().meta({
      description: "Signing secret of a new webhook, shown only once; null if the webhook existed before.",
    }),
  })
  .meta({ id: "AlertRulesSaved" });

export const AlertRulesRemoved = z
  .object({ workspace: z.string(), removed: z.boolean() })
  .meta({ id: "AlertRulesRemoved" });

export const AlertSecretRotated = z
  .object({
    workspace: z.string(),
    webhook_secret: Secret,
    previous_until: Time.meta({ description: "Until then messages are also signed with the previous secret." }),
  })
  .meta({ id: "AlertSecretRotated" });

const ChannelName = z.enum(["mail", "webhook"]);

export const AlertsTested = z
  .object({
    ok: z.boolean().meta({ description: "There are recipients, and all of them received it." }),
    channels: z.array(
      z.object({
        channel: ChannelName,
        target: z.string().meta({ description: "An email address, or the origin of the webhook." }),
        ok: z.boolean(),
        detail: z.string(),
      }),
    ),
  })
  .meta({ id: "AlertsTested" });

export const AlertDeliveryView = z
  .object({
    id: z.string(),
    alert: z.string().meta({ description: "The same for every recipient and every attempt." }),
    type: z.enum(["balance.low", "limit.reached", "credential.refused", "data_class.found"]),
    title: z.string(),
    channel: ChannelName,
    target: z.string().meta({ description: "An email address, or the origin of the webhook." }),
    state: z.enum(["waiting", "delivered", "failed"]),
    attempts: z.number(),
    last_error: z.string().nullable(),
    created_at: Time,
    next_attempt_at: Time.nullable().meta({ description: "Set while the delivery is pending." }),
    finished_at: Time.nullable().meta({ description: "When it was delivered or abandoned." }),
  })
  .meta({ id: "AlertDelivery" });

const AT = "2026-11-15T09:30:00.000Z";

export const alertRules = {
  workspace: "research",
  enabled: true,
  low_balance: "10.00",
  currency: "EUR",
  limit_percents: [80, 100],
  credential_refused: true,
  data_classes: ["secret"],
  mail_to: null,
  recipients: ["ada@example.eu"],
  mail_ready: true,
  webhook: { url: "https://hooks.example.eu/gateway", secret_changed_at: AT },
  changed_at: AT,
};

export const alertDelivery = {
  id: "dlv_019a864f0b2c7f3a8e21d04c5b6a79a1",
  alert: "alert_019a864f0b2c7f3a8e21d04c5b6a79a0",
  type: "balance.low",
  title: "Balance of workspace research is 9.87 EUR",
  channel: "webhook",
  target: "https://hooks.example.eu",
  state: "waiting",
  attempts: 2,
  last_error: "the receiver responded with 503",
  created_at: AT,
  next_attempt_at: "2026-11-15T09:30:21.000Z",
  finished_at: null,
};
