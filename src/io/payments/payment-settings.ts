import { z } from "zod";
import { PAYMENT_ADAPTERS, PAYMENT_SECRET_CHARS_MIN, type PaymentAdapterName } from "./payment-adapters.ts";

const SECRETS_FORM = `must be secrets of at least ${PAYMENT_SECRET_CHARS_MIN} characters, separated by commas`;

const parseList = (text: string) => text.split(",").map((item) => item.trim());

/** An empty item is an error: anyone could sign with it. */
export const paymentSecrets = z
  .string()
  .transform(parseList)
  .refine((list) => list.every((item) => item.length >= PAYMENT_SECRET_CHARS_MIN), SECRETS_FORM);

export const paymentAdapters: z.ZodType<readonly PaymentAdapterName[]> = z
  .string()
  .transform(parseList)
  .pipe(z.array(z.enum(PAYMENT_ADAPTERS, { error: `must be one or more of ${PAYMENT_ADAPTERS.join(", ")}` })));

const PAGE_FORM = "must be an https URL with {order} in it";

/** People are redirected there, so it must be an HTTP URL, and it must name the order. */
export const paymentPage: z.ZodType<string | null> = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text) && text.includes("{order}"), PAGE_FORM)
  .nullable();

/** An adapter needs a secret to verify messages; a secret without its adapter is a mistake of the operator. */
export function checkPayments(values: Readonly<Record<string, unknown>>, problems: string[]): void {
  const adapters: unknown = values["GATEWAY_PAYMENTS"];
  for (const name of PAYMENT_ADAPTERS) {
    const isEnabled = Array.isArray(adapters) && adapters.includes(name);
    const variable = `GATEWAY_PAYMENT_${name.toUpperCase()}_SECRETS`;
    const secrets: unknown = values[variable];
    // Invalid: reported already.
    if (!Array.isArray(secrets)) continue;
    if (isEnabled && secrets.length === 0)
      problems.push(`${variable}: ${SECRETS_FORM}, because GATEWAY_PAYMENTS has ${name}`);
    if (!isEnabled && secrets.length > 0) problems.push(`GATEWAY_PAYMENTS: add ${name}, because ${variable} is set`);
  }
}
