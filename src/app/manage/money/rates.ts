import type { z } from "zod";
import { fault, invalidValue } from "../../../contract/faults.ts";
import { RateHistoryQuery, RatesDocument, RatesPost } from "../../../contract/schemas/manage-rates.ts";
import { parseEcbRates } from "../../../domain/catalogue/ecb-rates.ts";
import type { EvaluatedRateSheet, RateRow, RateSheet } from "../../../domain/catalogue/exchange-rates.ts";
import { staleRates } from "../../../domain/catalogue/exchange-rates.ts";
import { parseJsonText } from "../../../kit/json.ts";
import { formatDecimal } from "../../../kit/money.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import type { Check, ManageContext, TenancyDeps } from "../deps.ts";
import { isoTime } from "../views.ts";

export function rateHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListRates: buffered(async () => {
      const rows = new Map((await context.rates.store.latest()).map((row) => [row.code, row]));
      const stale = new Set(staleRates(context.snapshot(), context.clock.nowMs(), context.rates.staleDays));
      const data = [...context.snapshot().currencies.values()].map((currency) => ({
        currency: currency.code,
        per_eur: formatDecimal(currency.perEur),
        date: currency.rateDate,
        source: currency.rateSource,
        recorded_at: recordedAt(rows.get(currency.code), currency.rateDate),
        stale: stale.has(currency),
      }));
      return { status: 200, json: { data, next: null } };
    }),
    manageRateHistory: buffered(async (exchange) => {
      const { currency, limit, cursor } = readQuery(exchange, RateHistoryQuery);
      const { rows, next } = await context.rates.store.history(currency ?? null, limit, cursor ?? null);
      return { status: 200, json: { data: rows.map(historyView), next } };
    }),
    managePostRates: mutation(context, async (exchange, scope) => {
      const { accept_jumps, ...input } = await readBody(exchange, RatesPost);
      const jumps = accept_jumps === true ? "accepted" : "refused";
      const sheet = await scope.rates.submit(parseOffer(scope, input), jumps, scope);
      return { status: 200, json: sheetView(sheet) };
    }),
    manageFetchRates: mutation(context, async (_exchange, scope) => {
      if (scope.rates.source === undefined)
        throw fault("invalid_value", {
          message:
            "No source of exchange rates is configured. Set GATEWAY_RATES_URL to the ECB's eurofxref-daily.xml or a copy of it, or set the rates yourself (gateway rates set).",
        });
      const fetched = await scope.rates.fetchRates(scope);
      if ("problem" in fetched)
        throw fault("upstream_error", {
          message: `The exchange rates could not be fetched: ${fetched.problem}. The current rates stay in force.`,
        });
      return { status: 200, json: sheetView(fetched) };
    }),
  };
}

type RatesInput = Omit<z.infer<typeof RatesPost>, "accept_jumps">;

function parseOffer({ clock }: Pick<TenancyDeps, "clock">, { rates, document, date, source }: RatesInput): RateSheet {
  if ((rates === undefined) === (document === undefined))
    throw invalidValue("rates", "send either rates or document, the content of a rates file");
  if (document !== undefined) {
    const read = document.trimStart().startsWith("{") ? readJsonRates(document) : parseEcbRates(document);
    if ("problem" in read) throw invalidValue("document", read.problem);
    return { ...read, ...(source === undefined ? {} : { source }) };
  }
  const day = date ?? new Date(clock.nowMs()).toISOString().slice(0, 10);
  return { day, source: source ?? "the operator", rates: rates ?? {} };
}

function readJsonRates(text: string): RateSheet | { readonly problem: string } {
  const parsed = parseJsonText(text);
  if ("problem" in parsed) return { problem: parsed.problem };
  const { data } = RatesDocument.safeParse(parsed.value);
  if (data === undefined) return { problem: 'write {"date": "2026-11-15", "rates": {"USD": "1.0812"}}' };
  return { day: data.date, source: data.source ?? "a file from the operator", rates: data.rates };
}

/** Fails only if every rate is rejected; otherwise rejections are listed beside the accepted rates. */
function sheetView({ day, source, evaluations }: EvaluatedRateSheet) {
  const of = (is: EvaluatedRateSheet["evaluations"][number]["is"]) => evaluations.filter((one) => one.is === is);
  const refused = evaluations.flatMap((one) => (one.is === "refused" ? [one] : []));
  const [first] = refused;
  if (first !== undefined && refused.length === evaluations.length)
    throw invalidValue(`rates.${first.code}`, refused.map(({ code, why }) => `${code}: ${why}`).join("; "));
  const rateViews = (list: EvaluatedRateSheet["evaluations"]) =>
    list.map(({ code, perEur }) => ({ currency: code, per_eur: perEur }));
  return {
    date: day,
    source,
    taken: rateViews(of("taken")),
    known: rateViews(of("known")),
    refused: refused.map(({ code, perEur, why }) => ({ currency: code, per_eur: perEur, why })),
  };
}

function recordedAt(row: RateRow | undefined, day: string): string | null {
  return row === undefined || row.day !== day ? null : isoTime(row.recordedAtMs);
}

function historyView({ id, code, perEur, day, source, recordedAtMs }: RateRow) {
  return { id, currency: code, per_eur: perEur, date: day, source, recorded_at: isoTime(recordedAtMs) };
}

/** Advice only: charges continue at the last known rate. */
export function rateCheck({ snapshot, clock }: Pick<TenancyDeps, "snapshot" | "clock">, daysMax: number): Check {
  return {
    name: "exchange rates",
    run: async () => {
      const stale = staleRates(snapshot(), clock.nowMs(), daysMax);
      if (stale.length === 0) return { ok: true, detail: `no rate is older than ${pluralize(daysMax, "day")}` };
      const days = stale.map(({ rateDate }) => rateDate).toSorted();
      const names = stale.map(({ code }) => code).join(", ");
      const detail = `${pluralize(stale.length, "rate")} older than ${pluralize(daysMax, "day")}, from ${days[0]}: ${names}. Charges still use these rates; set newer ones with \`gateway rates set\` or \`gateway rates import\`, or set GATEWAY_RATES_URL.`;
      return { ok: true, warning: true, detail };
    },
  };
}
