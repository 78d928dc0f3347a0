import type { Answer, Args } from "../../api/client.ts";
import { decimalOf } from "../../format/decimal.ts";

export type Rules = Answer<"manageShowAlerts">;
type Put = NonNullable<Args<"managePutAlerts">["body"]>;

/** Who gets mail: owners and admins as they are at the time, named addresses, or nobody. */
export type MailTo = "admins" | "named" | "nobody";

/** The rules as they stand in the form. */
export type Draft = {
  readonly lowBalance: string;
  readonly percents: string;
  readonly credentialRefused: boolean;
  readonly mailTo: MailTo;
  readonly addresses: string;
  readonly webhook: string;
};

/** Where there are no rules yet, what a workspace usually wants. */
export function draftOf(rules: Rules): Draft {
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
    mailTo: rules.mail_to === null ? "admins" : rules.mail_to.length === 0 ? "nobody" : "named",
    addresses: (rules.mail_to ?? []).join("\n"),
    webhook: rules.webhook?.url ?? "",
  };
}

const partsOf = (text: string) => text.split(/[\s,;]+/).filter((part) => part !== "");

/** What is wrong is said by the gateway, at its field: a share that is no number is sent as it is read. */
export function putOf(draft: Draft): Put {
  return {
    low_balance: draft.lowBalance === "" ? null : (decimalOf(draft.lowBalance) ?? draft.lowBalance),
    limit_percents: partsOf(draft.percents.replaceAll("%", " ")).map(Number),
    credential_refused: draft.credentialRefused,
    mail_to: draft.mailTo === "admins" ? null : draft.mailTo === "nobody" ? [] : partsOf(draft.addresses),
    webhook_url: draft.webhook.trim() === "" ? null : draft.webhook.trim(),
  };
}
