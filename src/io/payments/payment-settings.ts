import { z } from "zod";
import { PAYMENT_ADAPTERS, PAYMENT_SECRET_CHARS_MIN, type PaymentAdapterName } from "./payment-adapters.ts";

const SECRETS_FORM = `write secrets of at least ${PAYMENT_SECRET_CHARS_MIN} characters, separated by commas`;

const listOf = (text: string) => text.split(",").map((item) => item.trim());

/** An empty one among them is a mistake, not nothing: anyone could sign with it. */
export const paymentSecrets = z
  .string()
  .transform(listOf)
  .refine((list) => list.every((item) => item.length >= PAYMENT_SECRET_CHARS_MIN), SECRETS_FORM);

export const paymentAdapters: z.ZodType<readonly PaymentAdapterName[]> = z
  .string()
  .transform(listOf)
  .pipe(z.array(z.enum(PAYMENT_ADAPTERS, { error: `write one or more of ${PAYMENT_ADAPTERS.join(", ")}` })));

const PAGE_FORM = "write an https address with {order} in it";

/** People are sent there, so it is an address of the web, and it says which order is paid. */
export const paymentPage: z.ZodType<string | null> = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text) && text.includes("{order}"), PAGE_FORM)
  .nullable();

/** An adapter without a secret would believe anyone; a secret without its adapter is one somebody thinks is in use. */
export function checkPayments(values: Readonly<Record<string, unknown>>, problems: string[]): void {
  const adapters: unknown = values["GATEWAY_PAYMENTS"];
  for (const name of PAYMENT_ADAPTERS) {
    const isOn = Array.isArray(adapters) && adapters.includes(name);
    const variable = `GATEWAY_PAYMENT_${name.toUpperCase()}_SECRETS`;
    const secrets: unknown = values[variable];
    // Not readable: that was told.
    if (!Array.isArray(secrets)) continue;
    if (isOn && secrets.length === 0)
      problems.push(`${variable}: ${SECRETS_FORM}, because GATEWAY_PAYMENTS has ${name}`);
    if (!isOn && secrets.length > 0) problems.push(`GATEWAY_PAYMENTS: add ${name}, because ${variable} is set`);
  }
}
