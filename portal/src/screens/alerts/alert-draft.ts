import type { ApiResponse, Args } from "../../api/client.ts";
import { decimalOf } from "../../format/decimal.ts";

export type AlertRules = ApiResponse<"manageShowAlerts">;
type AlertRulesBody = NonNullable<Args<"managePutAlerts">["body"]>;

/** Email recipients: the current owners and admins, listed addresses, or none. */
export type MailTo = "admins" | "named" | "none";

/** The form state of the alert rules. */
export type AlertDraft = {
  readonly lowBalance: string;
  readonly percents: string;
  readonly credentialRefused: boolean;
  readonly mailTo: MailTo;
  readonly addresses: string;
  readonly webhook: string;
};

/** Without rules, the form starts with common defaults. */
export function draftOf(rules: AlertRules): AlertDraft {
  if (!rules.enabled)
    return {
      lowBalance: "",
      percents: "80, 100",
      credentialRefused: true,
      mailTo: "admins",
      addresses: "",
      webhook: "",
    };
  return {
    lowBalance: rules.low_balance ?? "",
    percents: rules.limit_percents.join(", "),
    credentialRefused: rules.credential_refused,
    mailTo: rules.mail_to === null ? "admins" : rules.mail_to.length === 0 ? "none" : "named",
    addresses: (rules.mail_to ?? []).join("\n"),
    webhook: rules.webhook?.url ?? "",
  };
}

const splitList = (text: string) => text.split(/[\s,;]+/).filter((part) => part !== "");

/** Invalid input is sent unchanged: the API reports the error with its field. */
export function alertRulesBody(draft: AlertDraft): AlertRulesBody {
  return {
    low_balance: draft.lowBalance === "" ? null : (decimalOf(draft.lowBalance) ?? draft.lowBalance),
    limit_percents: splitList(draft.percents.replaceAll("%", " ")).map(Number),
    credential_refused: draft.credentialRefused,
    mail_to: draft.mailTo === "admins" ? null : draft.mailTo === "none" ? [] : splitList(draft.addresses),
    webhook_url: draft.webhook.trim() === "" ? null : draft.webhook.trim(),
  };
}
