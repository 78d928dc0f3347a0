import { z } from "zod";
import { mailContentOf, parseAlertEvent } from "../../domain/alerts/alert-event.ts";
import { type AlertRules, type WebhookSecrets, webhookEncryptionContext } from "../../domain/alerts/alert-rules.ts";
import type { Channel, Delivery } from "../../domain/alerts/alert-store.ts";
import { webhookSignature } from "../../domain/alerts/webhook-signature.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { AlertDeps } from "./deps.ts";

/** A mail address, or the webhook's origin; the rest of its URL may contain a secret. */
export type Receiver = { readonly channel: Channel; readonly target: string };

/** The addresses in the rules, or the workspace's active owners and admins. */
export function recipientsOf(rules: AlertRules, directory: Directory): string[] {
  if (rules.mailTo !== null) return [...rules.mailTo];
  return directory
    .members(rules.workspaceId)
    .filter(({ role, pending }) => role !== "member" && !pending)
    .map(({ email }) => email);
}

export function receiversOf(rules: AlertRules, directory: Directory): Receiver[] {
  const mails = recipientsOf(rules, directory).map((target): Receiver => ({ channel: "mail", target }));
  if (rules.webhook === null) return mails;
  return [...mails, { channel: "webhook", target: new URL(rules.webhook.url).origin }];
}

export type SendResult =
  | { readonly is: "delivered"; readonly detail: string }
  | { readonly is: "failed"; readonly detail: string; readonly isRetryable: boolean };

type OutgoingAlert = Pick<Delivery, "id" | "alertId" | "workspaceId" | "channel" | "target" | "payload">;

export function send(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  return message.channel === "mail" ? sendMail(deps, message, signal) : sendWebhook(deps, message, signal);
}

const failed = (detail: string, { isRetryable }: { readonly isRetryable: boolean }): SendResult => ({
  is: "failed",
  detail,
  isRetryable,
});

/** Sends only if the address is still a recipient: it may have been removed or have left the workspace. */
async function sendMail(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  const { mail, monitor, directory } = deps;
  const { id, target, payload, workspaceId } = message;
  const rules = monitor.rulesOf(workspaceId);
  if (rules === undefined || !recipientsOf(rules, directory).includes(target))
    return failed("this address no longer receives alerts of the workspace", { isRetryable: false });
  if (mail === undefined) return failed("no mail server is configured: set GATEWAY_SMTP_URL", { isRetryable: false });
  const mailed = await mail({ id, to: target, ...mailContentOf(parseAlertEvent(payload)), signal });
  if (mailed.is === "sent") return { is: "delivered", detail: "the mail server accepted it" };
  return failed(mailed.why, { isRetryable: mailed.is !== "refused" });
}

const webhookSecretsSchema: z.ZodType<WebhookSecrets> = z.object({
  current: z.string(),
  previous: z.object({ secret: z.string(), untilMs: z.number() }).nullable(),
});

export function sealSecrets({ vault }: Pick<AlertDeps, "vault">, workspaceId: string, secrets: WebhookSecrets) {
  return vault.seal(webhookEncryptionContext(workspaceId), JSON.stringify(secrets));
}

export async function openSecrets({ vault }: Pick<AlertDeps, "vault">, workspaceId: string, sealed: Uint8Array) {
  return webhookSecretsSchema.parse(JSON.parse(await vault.open(webhookEncryptionContext(workspaceId), sealed)));
}

/** Sends to the URL in the current rules; a webhook that was removed meanwhile gets nothing. */
async function sendWebhook(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  const { alertId, workspaceId, payload } = message;
  const webhook = deps.monitor.rulesOf(workspaceId)?.webhook ?? null;
  if (webhook === null) return failed("the workspace no longer has a webhook", { isRetryable: false });
  const { current, previous } = await openSecrets(deps, workspaceId, webhook.sealed);
  const nowMs = deps.clock.nowMs();
  const timestamp = Math.floor(nowMs / 1000);
  const secrets = previous !== null && nowMs < previous.untilMs ? [current, previous.secret] : [current];
  const posted = await deps.post({
    url: webhook.url,
    headers: {
      "content-type": "application/json",
      "user-agent": "inference-gateway",
      "x-svc-alert-id": alertId,
      "x-svc-timestamp": String(timestamp),
      "x-svc-signature": secrets.map((secret) => `v1=${webhookSignature(secret, timestamp, payload)}`).join(","),
    },
    body: payload,
    signal,
  });
  if (posted.is !== "answered") return failed(posted.why, { isRetryable: posted.is !== "refused" });
  return webhookResult(posted.status);
}

function webhookResult(status: number): SendResult {
  if (status >= 200 && status < 300) return { is: "delivered", detail: `the receiver responded with ${status}` };
  if (status === 410)
    return failed("the receiver responded with 410: it accepts no further messages", { isRetryable: false });
  const isRedirect = status >= 300 && status < 400;
  return failed(`the receiver responded with ${status}${isRedirect ? ", and redirects are not followed" : ""}`, {
    isRetryable: true,
  });
}
