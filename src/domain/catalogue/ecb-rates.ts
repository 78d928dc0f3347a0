import type { RateSheet } from "./exchange-rates.ts";

/** Source name recorded with rates of the European Central Bank. */
export const ECB_SOURCE = "ECB euro foreign exchange reference rates";

const COMMENT = /<!--[\s\S]*?-->/g;
const CUBE = /<(?:[\w.-]+:)?Cube\b([^<>]*)>/g;
const ATTRIBUTE = /([\w.-]+)\s*=\s*(?:'([^'<]*)'|"([^"<]*)")/g;
const DAY = /^\d{4}-\d\d-\d\d$/;
const CODE = /^[A-Z]{3}$/;
const RATE = /^\d{1,12}(\.\d{1,12})?$/;

/**
 * Parses eurofxref-daily.xml: a cube with a date that contains a cube per currency, in units per euro. Of several days
 * the newest is used. A file with any deviation is rejected as a whole.
 */
export function parseEcbRates(text: string): RateSheet | { readonly problem: string } {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return { problem: "it has a document type declaration, which this format does not allow" };
  const days: { readonly day: string; readonly rates: Record<string, string> }[] = [];
  for (const [, attributeText = ""] of text.replace(COMMENT, "").matchAll(CUBE)) {
    const attributes = Object.fromEntries(
      [...attributeText.matchAll(ATTRIBUTE)].map(([, name = "", singleQuoted, doubleQuoted]) => [
        name,
        singleQuoted ?? doubleQuoted ?? "",
      ]),
    );
    const { time, currency, rate } = attributes;
    if (time !== undefined) {
      if (!DAY.test(time) || Number.isNaN(Date.parse(time))) return { problem: `"${time.slice(0, 20)}" is not a date` };
      days.push({ day: time, rates: {} });
      continue;
    }
    if (currency === undefined) continue;
    const current = days.at(-1);
    if (current === undefined) return { problem: "a rate comes before the first date" };
    if (!CODE.test(currency)) return { problem: `"${currency.slice(0, 20)}" is not a currency` };
    if (rate === undefined || !RATE.test(rate)) return { problem: `the rate of ${currency} is not a decimal` };
    if (current.rates[currency] !== undefined) return { problem: `${currency} occurs twice under ${current.day}` };
    current.rates[currency] = rate;
  }
  const [newest] = days.toSorted((a, b) => (a.day < b.day ? 1 : -1));
  if (newest === undefined || Object.keys(newest.rates).length === 0)
    return { problem: "it has no rates in the format of the ECB's eurofxref-daily.xml" };
  return { day: newest.day, source: ECB_SOURCE, rates: newest.rates };
}
