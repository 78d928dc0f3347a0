import { LevelBadge } from "../../ui/badge.tsx";
import { Country, Money } from "../../ui/values.tsx";
import { EXAMPLE_REQUEST } from "./example-request.ts";

/** An example of the routing headers of a response. */
export function Receipt() {
  const { modelRequested, model, provider, country, level, inputTokens, outputTokens, cost, currency } =
    EXAMPLE_REQUEST;
  const rows = [
    { name: "Requested model", value: <span className="font-mono">{modelRequested}</span> },
    { name: "Model", value: <ModelId id={model} /> },
    { name: "Provider", value: provider },
    { name: "Country", value: <Country code={country} /> },
    { name: "Sovereignty", value: <LevelBadge level={level} /> },
    { name: "Retention", value: "None" },
    { name: "Tokens", value: <span className="figures">{`${inputTokens} in, ${outputTokens} out`}</span> },
    { name: "Cost", value: <Money amount={cost} currency={currency} as="price" /> },
  ];
  return (
    <figure className="justify-self-center max-lg:w-full max-lg:max-w-md">
      <div className="relative rounded-t-lg border border-b-0 bg-card px-6 pt-5 pb-6">
        <p className="label-mark flex justify-between gap-4 border-b border-dashed border-line-strong/50 pb-3">
          <span>Routing receipt</span>
          <span className="font-mono tracking-normal normal-case">200 · 840 ms</span>
        </p>
        <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2.5 pt-4">
          {rows.map(({ name, value }) => (
            <div key={name} className="contents">
              <dt className="text-soft">{name}</dt>
              <dd className="text-right">{value}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Edge />
      <figcaption className="pt-3 text-center text-xs text-soft">
        Example. Every response includes these values as headers.
      </figcaption>
    </figure>
  );
}

/** A long id breaks after its creator, not within the name. */
function ModelId({ id }: { readonly id: string }) {
  const [creator = "", ...name] = id.split("/");
  return (
    <span className="font-mono text-xs wrap-anywhere">
      {creator}/<wbr />
      {name.join("/")}
    </span>
  );
}

function Edge() {
  const teeth = Array.from({ length: 22 }, (_, tooth) => `L${tooth * 16 + 8} 8L${tooth * 16 + 16} 0`).join("");
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 352 9"
      preserveAspectRatio="none"
      className="block h-2.5 w-full overflow-visible"
    >
      <path d={`M0 0${teeth}`} className="fill-card stroke-line" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
