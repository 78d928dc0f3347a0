import { useState } from "react";
import type { PriceView } from "../../../../src/contract/schemas/catalogue-values.ts";
import { curlTo } from "../../api/curl.ts";
import { Badge, LevelBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { OutLink } from "../../ui/link.tsx";
import { Country, Money, Time, Unknown } from "../../ui/values.tsx";
import type { PublicEndpoint } from "./catalogue.ts";
import { mainUnits, statedUnits } from "./prices.ts";

/** The open calls a page makes: no key and no token are needed for them. */
export function OpenCalls({ paths }: { readonly paths: readonly { readonly path: string; readonly says: string }[] }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon="terminal" onClick={() => setIsOpen(true)}>
        API
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="What this screen calls" size="wide">
        <p className="text-soft">The catalogue is open: these calls need no key.</p>
        {paths.map(({ path, says }) => (
          <div key={path} className="grid min-w-0 gap-1">
            <p className="text-xs text-soft">{says}</p>
            <CodeBlock code={curlTo("GET", path)} label={says} />
          </div>
        ))}
      </Dialog>
    </>
  );
}

/** Levels side by side, each once, the highest first. */
export function Levels({ levels }: { readonly levels: readonly string[] }) {
  // What has no level stands last, not highest.
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

/** Country codes; many are counted, with all of them in reach. */
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

/** The main figures of a price: input and output, or the one unit it is in. */
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
            <Money amount={amount} currency={price.currency} />
          </span>
        ))}
      </span>
      {!isTokens && <span className="text-xs text-soft">a {units[0]?.per}</span>}
    </span>
  );
}

/** A price in all its units, its tiers, where it comes from and what it was converted from. */
export function WholePrice({ price }: { readonly price: NonNullable<PublicEndpoint["price"]> }) {
  const { source, converted, tiers } = price;
  return (
    <div className="grid gap-2">
      <dl className="grid grid-cols-[minmax(0,1fr)_max-content] gap-x-4 gap-y-1">
        {statedUnits(price).map(({ name, label, per, amount }) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid border-b pb-1 last:border-0">
            <dt className="text-soft">
              {label} <span className="text-faint">per {per}</span>
            </dt>
            <dd className="text-right">
              <Money amount={amount} currency={price.currency} />
            </dd>
          </div>
        ))}
      </dl>
      {tiers.map((tier) => (
        <p key={tier.above_input_tokens} className="text-xs text-soft">
          Above {tier.above_input_tokens.toLocaleString()} input tokens:{" "}
          {tier.input_per_1m_tokens !== null && <Money amount={tier.input_per_1m_tokens} currency={price.currency} />}{" "}
          in,{" "}
          {tier.output_per_1m_tokens !== null && <Money amount={tier.output_per_1m_tokens} currency={price.currency} />}{" "}
          out
        </p>
      ))}
      <p className="text-xs text-soft">
        {converted !== null && (
          <>
            Converted from {converted.from} at {converted.rate} ({converted.rate_date}).{" "}
          </>
        )}
        {price.margin !== undefined && <>With a margin of {Number(price.margin) * 100} %. </>}
        {source !== null && (
          <>
            Source: {source.text}
            {source.date !== null && `, ${source.date}`}.
          </>
        )}
      </p>
      {source !== null && source.basis === "unverified" && <Badge tone="warn">not verified</Badge>}
      {source?.conflict != null && <p className="text-xs text-warn">Another source says: {source.conflict}</p>}
    </div>
  );
}

type Evidence = PublicEndpoint["evidence"][number];

/** What a claim rests on: where it was read and when. What was read long ago says so. */
export function EvidenceList({ evidence }: { readonly evidence: readonly Evidence[] }) {
  if (evidence.length === 0) return <p className="text-soft">There is no evidence on file yet.</p>;
  return (
    <ul className="grid gap-2.5">
      {evidence.map((one) => (
        <li key={`${one.url} ${one.claim}`} className="grid gap-0.5 border-l-2 pl-3">
          {one.claim !== null && <p className="text-pretty">{one.claim}</p>}
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
            <OutLink href={one.url} target="_blank" className="break-all">
              {hostOf(one.url)}
            </OutLink>
            <span>
              read <Time at={one.read} as="day" />
            </span>
            <span>{one.kind === "primary" ? "the provider’s own page" : "somebody else’s page"}</span>
            {one.stale && (
              <Badge tone="warn" title="Read more than 180 days ago">
                stale
              </Badge>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}

function hostOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return url;
  }
}

const ANSWERS: Readonly<Record<string, { readonly tone: "good" | "warn" | "neutral"; readonly says: string }>> = {
  "zdr yes": { tone: "good", says: "zero data retention" },
  "zdr on_request": { tone: "neutral", says: "zero retention on request" },
  "zdr no": { tone: "warn", says: "keeps data" },
  "zdr unknown": { tone: "neutral", says: "retention unknown" },
  "trains no": { tone: "good", says: "no training" },
  "trains yes": { tone: "warn", says: "trains on data" },
  "trains unknown": { tone: "neutral", says: "training unknown" },
};

/** What becomes of the data, in two words. */
export function DataHandling({
  of: { zero_data_retention, trains_on_data },
}: {
  readonly of: Pick<PublicEndpoint, "zero_data_retention" | "trains_on_data">;
}) {
  const said = [ANSWERS[`zdr ${zero_data_retention}`], ANSWERS[`trains ${trains_on_data}`]];
  return (
    <span className="inline-flex flex-wrap gap-1">
      {said.map(
        (one) =>
          one !== undefined && (
            <Badge key={one.says} tone={one.tone}>
              {one.says}
            </Badge>
          ),
      )}
    </span>
  );
}
