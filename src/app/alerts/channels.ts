import { z } from "zod";
import { mailContentOf, parseAlertEvent } from "../../domain/alerts/alert-event.ts";
import { type AlertRules, type WebhookSecrets, webhookEncryptionContext } from "../../domain/alerts/alert-rules.ts";
import type { Channel, Delivery } from "../../domain/alerts/alert-store.ts";
import { webhookSignature } from "../../domain/alerts/webhook-signature.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { AlertDeps } from "./deps.ts";

/** One receiver: an address of mail, or the webhook by its origin. What follows the origin may be secret. */
export type Receiver = { readonly channel: Channel; readonly target: string };

/** Who gets mail now: whom the rules name, or the workspace's owners and admins who have accepted. */
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

/** `never`: it would end the same way every time. */
export type SendResult =
  | { readonly is: "delivered"; readonly detail: string }
  | { readonly is: "failed"; readonly detail: string; readonly again: "later" | "never" };

type OutgoingAlert = Pick<Delivery, "id" | "alertId" | "workspaceId" | "channel" | "target" | "payload">;

export function send(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  return message.channel === "mail" ? sendMail(deps, message, signal) : sendWebhook(deps, message, signal);
}

const failed = (detail: string, again: "later" | "never"): SendResult => ({ is: "failed", detail, again });

/** To who is to get mail now: who was taken off the list, or left the workspace, learns nothing more of it. */
async function sendMail(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  const { mail, monitor, directory } = deps;
  const { id, target, payload, workspaceId } = message;
  const rules = monitor.rulesOf(workspaceId);
  if (rules === undefined || !recipientsOf(rules, directory).includes(target))
    return failed("this address gets no alerts of the workspace any more", "never");
  if (mail === undefined) return failed("no mail server is set: set GATEWAY_SMTP_URL", "never");
  const mailed = await mail({ id, to: target, ...mailContentOf(parseAlertEvent(payload)), signal });
  if (mailed.is === "sent") return { is: "delivered", detail: "the mail server took it" };
  return failed(mailed.why, mailed.is === "refused" ? "never" : "later");
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

/** To the address in the rules as they are now: what was removed meanwhile gets nothing. */
async function sendWebhook(deps: AlertDeps, message: OutgoingAlert, signal: AbortSignal): Promise<SendResult> {
  const { alertId, workspaceId, payload } = message;
  const webhook = deps.monitor.rulesOf(workspaceId)?.webhook ?? null;
  if (webhook === null) return failed("the workspace has no webhook any more", "never");
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
  if (posted.is !== "answered") return failed(posted.why, posted.is === "refused" ? "never" : "later");
  return webhookResult(posted.status);
}

function webhookResult(status: number): SendResult {
  if (status >= 200 && status < 300) return { is: "delivered", detail: `it answered ${status}` };
  if (status === 410) return failed("it answered 410: it wants no more of them", "never");
  const isRedirect = status >= 300 && status < 400;
  return failed(`it answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`, "later");
}
