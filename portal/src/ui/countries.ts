import { countryName } from "../format/country.ts";

const EU = "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE".split(" ");
const EEA_ONLY = ["IS", "LI", "NO"];

export const EU_COUNTRIES: readonly string[] = EU;
export const EEA_COUNTRIES: readonly string[] = [...EU, ...EEA_ONLY];

export type Region = { readonly id: string; readonly name: string; readonly countries: readonly string[] };

const REGIONS: readonly Region[] = [
  { id: "eu", name: "European Union", countries: EU },
  { id: "eea", name: "EEA outside the EU", countries: EEA_ONLY },
  { id: "europe", name: "Rest of Europe", countries: "AL BA CH GB MD ME MK RS TR UA".split(" ") },
  { id: "america", name: "Americas", countries: "AR BR CA CL CO MX US UY".split(" ") },
  {
    id: "asia",
    name: "Asia and Pacific",
    countries: "AU CN HK ID IN JP KR KZ MY NZ PH SG TH TW VN".split(" "),
  },
  { id: "africa", name: "Middle East and Africa", countries: "AE BH EG IL KE MA NG QA SA ZA".split(" ") },
];

/** Countries sorted by name per region; unknown codes come last. */
export function regionsWith(more: readonly string[]): readonly Region[] {
  const known = new Set(REGIONS.flatMap(({ countries }) => countries));
  const others = [...new Set(more)].filter((code) => !known.has(code));
  const all = others.length === 0 ? REGIONS : [...REGIONS, { id: "more", name: "Other", countries: others }];
  return all.map((region) => ({
    ...region,
    countries: region.countries.toSorted((a, b) => countryName(a).localeCompare(countryName(b))),
  }));
}
