import { InvalidArgumentError } from "commander";
import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { orLift, textFile } from "./values.ts";

const RATES = "/manage/rates";
const MARGIN = "/manage/workspaces/{workspace}/margin";

/** `USD=1.0812,CHF=0.9412`: units for one euro. */
function rateList(text: string): Record<string, string> {
  const rates: Record<string, string> = {};
  for (const item of text.split(",")) {
    const [, code, rate] = /^\s*([A-Za-z]{3})\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(item) ?? [];
    if (code === undefined || rate === undefined)
      throw new InvalidArgumentError("Must be rates such as USD=1.0812,CHF=0.9412: units for one euro.");
    rates[code.toUpperCase()] = rate;
  }
  return rates;
}

function share(text: string): string {
  if (!/^-?\d+(\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError("Must be a share of the price such as 0.05, or none for the default.");
  return text;
}

const TAKEN = {
  is: "record_with_tables",
  tables: [
    { at: "taken", columns: columns("currency", "per_eur") },
    { at: "refused", columns: [...columns("currency", "per_eur"), { title: "why", at: "why", cut: "never" }] },
  ],
} as const;

const offered = [
  { flags: "--source <text>", field: "source", says: "source of the rates" },
  {
    flags: "--accept-jumps",
    field: "accept_jumps",
    says: "accept rates that changed by more than a factor of 1.25",
  },
] as const;

export const rateCommands: ApiCommand[] = [
  {
    ...READ,
    words: "rates list",
    says: "list current exchange rates",
    args: [],
    call: { method: "GET", path: RATES, sends: "nothing" },
    view: { is: "table", columns: columns("currency", "per_eur", "date", "stale", "source") },
  },
  {
    ...READ,
    words: "rates history",
    says: "list the history of exchange rates",
    args: [],
    flags: [{ flags: "--currency <code>", field: "currency", says: "only this currency" }, ...page],
    call: { method: "GET", path: `${RATES}/history`, sends: "query" },
    view: { is: "table", columns: columns("recorded_at", "currency", "per_eur", "date", "source") },
  },
  {
    words: "rates set",
    says: "set exchange rates: USD=1.0812,CHF=0.9412",
    args: [{ name: "rates", read: rateList }],
    flags: [{ flags: "--date <day>", field: "date", says: "date of the rates (default: today)" }, ...offered],
    call: { method: "POST", path: RATES, sends: "body" },
    bare: "send",
    pages: "one",
    view: TAKEN,
  },
  {
    words: "rates import",
    says: "import exchange rates from a file: the ECB's eurofxref-daily.xml, or JSON with date and rates; - is stdin",
    args: [{ name: "document", read: textFile }],
    flags: offered,
    call: { method: "POST", path: RATES, sends: "body" },
    bare: "send",
    pages: "one",
    view: TAKEN,
  },
  {
    words: "rates fetch",
    says: "fetch exchange rates from GATEWAY_RATES_URL now",
    args: [],
    flags: [],
    call: { method: "POST", path: `${RATES}/fetch`, sends: "nothing" },
    bare: "send",
    pages: "one",
    view: TAKEN,
  },
  {
    ...READ,
    words: "margin show",
    says: "show the margin of a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: MARGIN, sends: "nothing" },
  },
  {
    words: "margin set",
    says: "set the margin on provider prices: 0.05 is five percent; none: the default",
    args: [WORKSPACE, { name: "margin", read: orLift(share) }],
    flags: [],
    call: { method: "PUT", path: MARGIN, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
];
