import type { RateSheet } from "./exchange-rates.ts";

/** What names the reference rates of the European Central Bank as the source of a rate. */
export const ECB_SOURCE = "ECB euro foreign exchange reference rates";

const COMMENT = /<!--[\s\S]*?-->/g;
const CUBE = /<(?:[\w.-]+:)?Cube\b([^<>]*)>/g;
const ATTRIBUTE = /([\w.-]+)\s*=\s*(?:'([^'<]*)'|"([^"<]*)")/g;
const DAY = /^\d{4}-\d\d-\d\d$/;
const CODE = /^[A-Z]{3}$/;
const RATE = /^\d{1,12}(\.\d{1,12})?$/;

/**
 * Reads the bank's daily file (eurofxref-daily.xml): one cube with a time, and in it one for each currency with units
 * for one euro. Of a file with several days the newest is taken. What does not look like it is refused whole.
 */
export function parseEcbRates(text: string): RateSheet | { readonly problem: string } {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return { problem: "it has a document type, which this format never has" };
  const days: { readonly day: string; readonly rates: Record<string, string> }[] = [];
  for (const [, inside = ""] of text.replace(COMMENT, "").matchAll(CUBE)) {
    const attributes = Object.fromEntries(
      [...inside.matchAll(ATTRIBUTE)].map(([, name = "", one, two]) => [name, one ?? two ?? ""]),
    );
    const { time, currency, rate } = attributes;
    if (time !== undefined) {
      if (!DAY.test(time) || Number.isNaN(Date.parse(time))) return { problem: `"${time.slice(0, 20)}" is no date` };
      days.push({ day: time, rates: {} });
      continue;
    }
    if (currency === undefined) continue;
    const current = days.at(-1);
    if (current === undefined) return { problem: "a rate stands before any date" };
    if (!CODE.test(currency)) return { problem: `"${currency.slice(0, 20)}" is no currency` };
    if (rate === undefined || !RATE.test(rate)) return { problem: `the rate of ${currency} is no decimal` };
    if (current.rates[currency] !== undefined) return { problem: `${currency} stands twice under ${current.day}` };
    current.rates[currency] = rate;
  }
  const [newest] = days.toSorted((a, b) => (a.day < b.day ? 1 : -1));
  if (newest === undefined || Object.keys(newest.rates).length === 0)
    return { problem: "it has no rates in the form of the ECB's eurofxref-daily.xml" };
  return { day: newest.day, source: ECB_SOURCE, rates: newest.rates };
}
