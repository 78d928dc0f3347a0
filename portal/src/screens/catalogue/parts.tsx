import { useState } from "react";
import type { PriceView } from "../../../../src/contract/schemas/catalogue-values.ts";
import { curlTo } from "../../api/curl.ts";
import { percentText } from "../../format/number.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Country, Money, Unknown } from "../../ui/values.tsx";
import type { PublicEndpoint, PublicEndpointDetail } from "./catalogue.ts";
import { SourceLine } from "./evidence-list.tsx";
import { mainUnits, statedUnits } from "./prices.ts";

/** The public API calls behind a page; they need no key. */
export function PublicApiButton({
  paths,
}: {
  readonly paths: readonly { readonly path: string; readonly description: string }[];
}) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button variant="quiet" icon="terminal" onClick={() => setIsOpen(true)}>
        API
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="API calls" size="wide">
        <p className="text-soft">The catalogue is public: these calls need no key.</p>
        {paths.map(({ path, description }) => (
          <div key={path} className="grid min-w-0 gap-1">
            <p className="text-xs text-soft">{description}</p>
            <CodeBlock code={curlTo("GET", path)} label={description} />
          </div>
        ))}
      </Dialog>
    </>
  );
}

export function Levels({ levels }: { readonly levels: readonly string[] }) {
  // Unclassified sorts last.
  const rankOf = (level: string) => (level === "UNCLASSIFIED" ? "" : level);
  const shown = [...new Set(levels)].toSorted((a, b) => rankOf(b).localeCompare(rankOf(a)));
  if (shown.length === 0) return <Unknown />;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {shown.map((level) => (
        <LevelBadge key={level} level={level} />
      ))}
    </span>
  );
}

const COUNTRIES_SHOWN = 4;

export function Countries({ codes, all = false }: { readonly codes: readonly string[]; readonly all?: boolean }) {
  if (codes.length === 0) return <Unknown />;
  const shown = all ? codes : codes.slice(0, COUNTRIES_SHOWN);
  const rest = codes.slice(shown.length);
  return (
    <span className="inline-flex flex-wrap gap-1">
      {shown.map((code) => (
        <Country key={code} code={code} short={!all} />
      ))}
      {rest.length > 0 && (
        <span className="text-xs text-soft" title={rest.join(", ")}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}

/** Input and output price, or the only unit of the price. */
export function MainPrice({ price }: { readonly price: PriceView | null }) {
  if (price === null) return <Unknown />;
  const units = mainUnits(price);
  if (units.length === 0) return <Unknown />;
  const isTokens = units[0]?.per === "1M tokens";
  return (
    <span className="inline-grid justify-items-end gap-0">
      <span className="whitespace-nowrap">
        {units.map(({ name, amount }, index) => (
          <span key={name}>
            {index > 0 && <span className="text-faint"> / </span>}
            <Money amount={amount} currency={price.currency} as="price" />
          </span>
        ))}
      </span>
      {!isTokens && <span className="text-xs text-soft">per {units[0]?.per}</span>}
    </span>
  );
}

/** All units and tiers of a price, its source and its conversion. */
export function PriceDetails({ price }: { readonly price: NonNullable<PublicEndpointDetail["price"]> }) {
  const { evidence, converted, tiers } = price;
  return (
    <div className="grid gap-2">
      <dl className="grid grid-cols-[minmax(0,1fr)_max-content] gap-x-4 gap-y-1">
        {statedUnits(price).map(({ name, label, per, amount }) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid border-b pb-1 last:border-0">
            <dt className="text-soft">
              {label} <span className="text-faint">per {per}</span>
            </dt>
            <dd className="text-right">
              <Money amount={amount} currency={price.currency} as="price" />
            </dd>
          </div>
        ))}
      </dl>
      {tiers.map((tier) => (
        <p key={tier.above_input_tokens} className="text-xs text-soft">
          Above {tier.above_input_tokens.toLocaleString()} input tokens:{" "}
          {tier.input_per_1m_tokens !== null && (
            <Money amount={tier.input_per_1m_tokens} currency={price.currency} as="price" />
          )}{" "}
          in,{" "}
          {tier.output_per_1m_tokens !== null && (
            <Money amount={tier.output_per_1m_tokens} currency={price.currency} as="price" />
          )}{" "}
          out
        </p>
      ))}
      <p className="text-xs text-soft">
        {converted !== null && (
          <>
            Converted from {converted.from} at {converted.rate} ({converted.rate_date}).{" "}
          </>
        )}
        {price.margin !== undefined && <>Includes a margin of {percentText(Number(price.margin))}. </>}
      </p>
      {evidence !== null && <SourceLine source={evidence} />}
    </div>
  );
}

const DATA_PRACTICES: Readonly<
  Record<string, { readonly tone: "good" | "warn" | "neutral"; readonly description: string }>
> = {
  "zdr yes": { tone: "good", description: "Zero data retention" },
  "zdr on_request": { tone: "neutral", description: "Zero retention on request" },
  "zdr no": { tone: "warn", description: "Retains data" },
  "zdr unknown": { tone: "neutral", description: "Retention unknown" },
  "trains no": { tone: "good", description: "No training" },
  "trains yes": { tone: "warn", description: "Trains on data" },
  "trains unknown": { tone: "neutral", description: "Training unknown" },
};

export function DataHandling({
  of: { zero_data_retention, trains_on_data },
}: {
  readonly of: Pick<PublicEndpoint, "zero_data_retention" | "trains_on_data">;
}) {
  const practices = [DATA_PRACTICES[`zdr ${zero_data_retention}`], DATA_PRACTICES[`trains ${trains_on_data}`]];
  return (
    <span className="inline-flex flex-wrap gap-1">
      {practices.map(
        (one) =>
          one !== undefined && (
            <Badge key={one.description} tone={one.tone}>
              {one.description}
            </Badge>
          ),
      )}
    </span>
  );
}
