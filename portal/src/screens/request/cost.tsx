import { percentText } from "../../format/number.ts";
import { Card, KeyValue } from "../../ui/layout.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import type { RequestDetail } from "./detail.ts";

type Usage = RequestDetail["usage"];
type Rate = NonNullable<NonNullable<RequestDetail["charge"]>["rate"]>;

/** Usage counts and their price units. */
const LINES: readonly {
  readonly used: keyof Usage;
  readonly label: string;
  readonly price: string;
  readonly per: string;
}[] = [
  { used: "input_tokens", label: "Input tokens", price: "input_per_1m_tokens", per: "1M tokens" },
  { used: "cached_tokens", label: "Cached input tokens", price: "cached_read_per_1m_tokens", per: "1M tokens" },
  { used: "cache_write_tokens", label: "Cache write tokens", price: "cache_write_per_1m_tokens", per: "1M tokens" },
  { used: "output_tokens", label: "Output tokens", price: "output_per_1m_tokens", per: "1M tokens" },
  { used: "reasoning_tokens", label: "Reasoning tokens", price: "reasoning_per_1m_tokens", per: "1M tokens" },
  { used: "characters", label: "Characters", price: "per_1m_characters", per: "1M characters" },
  { used: "images", label: "Images", price: "per_image", per: "image" },
  { used: "search_units", label: "Search units", price: "per_1k_search_units", per: "1K search units" },
  { used: "seconds", label: "Audio seconds", price: "per_minute_audio", per: "minute" },
];

export function Cost({ request }: { readonly request: RequestDetail }) {
  const { charge, usage } = request;
  const currency = textOf(charge?.price["currency"]) ?? "";
  const lines = LINES.filter(
    ({ used, price }) => Number(usage[used] ?? 0) > 0 || (used.includes("put_tokens") && price),
  );
  return (
    <Card title="Usage and cost">
      <table className="w-full">
        <thead>
          <tr className="text-left text-xs text-soft">
            <th scope="col" className="pb-1.5 font-semibold">
              Unit
            </th>
            <th scope="col" className="pb-1.5 text-right font-semibold">
              Quantity
            </th>
            <th scope="col" className="pb-1.5 text-right font-semibold">
              Price
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ used, label, price, per }) => {
            const figure = textOf(charge?.price[price]);
            const count = usage[used];
            return (
              <tr key={used} className="border-t">
                <th scope="row" className="py-1.5 text-left font-normal">
                  {label}
                </th>
                <td className="py-1.5 text-right">
                  <Num value={typeof count === "number" ? count : null} />
                </td>
                <td className="py-1.5 text-right">
                  {figure === undefined ? (
                    <Unknown />
                  ) : (
                    <>
                      <Money amount={figure} currency={currency} as="price" />{" "}
                      <span className="text-xs text-soft">per {per}</span>
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
        <tfoot>
          <tr className="border-t-2">
            <th scope="row" className="py-2 text-left font-semibold">
              Charge
            </th>
            <td colSpan={2} className="figures py-2 text-right font-semibold">
              {request.own_key ? (
                "None (your own key)"
              ) : (
                <Money amount={request.cost ?? "0"} currency={request.currency} as="exact" />
              )}
            </td>
          </tr>
        </tfoot>
      </table>
      <Extras request={request} />
    </Card>
  );
}

function Extras({ request }: { readonly request: RequestDetail }) {
  const { charge, usage } = request;
  const rows = [
    ...(usage.estimated ? [{ name: "Usage", value: "Counted by the gateway; the provider reported none" }] : []),
    ...(charge?.margin
      ? [{ name: "Margin", value: `${percentText(Number(charge.margin))} on the provider price` }]
      : []),
    ...(charge?.rate
      ? [
          {
            name: "Exchange rate",
            value: rateText(charge.rate),
          },
        ]
      : []),
    ...(request.status >= 400 && Number(request.cost ?? 0) === 0
      ? [{ name: "Failed request", value: "Not charged" }]
      : []),
  ];
  if (rows.length === 0) return null;
  return (
    <div className="mt-3 border-t pt-3">
      <KeyValue rows={rows} />
    </div>
  );
}

/** Rates per EUR, without EUR itself. */
function rateText({ from, per_eur_from, to, per_eur_to }: Rate): string {
  const sides = [
    { code: from, units: per_eur_from },
    { code: to, units: per_eur_to },
  ].filter(({ code }) => code !== "EUR");
  return ["1 EUR", ...sides.map(({ code, units }) => `${units} ${code}`)].join(" = ");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
