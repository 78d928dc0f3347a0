import { readFileSync } from "node:fs";
import path from "node:path";
import { ibanRest } from "../../src/domain/data-classes/checksums.ts";
import { DETECTORS } from "../../src/domain/data-classes/detectors.ts";
import { IDENTIFIER_FACTS } from "../../src/domain/data-classes/identifier-facts.ts";
import { SCHEMES } from "../../src/domain/data-classes/kinds.ts";
import { scanText } from "../../src/domain/data-classes/scan.ts";
import type { Scheme } from "../../src/domain/data-classes/scheme.ts";
import { Chance } from "../simulation/chance.ts";

export type Sample = { readonly id: string; readonly valid: readonly string[]; readonly invalid: readonly string[] };

/** Published and computed examples of every identifier, two valid and two invalid of each at least. */
export const SAMPLES: readonly Sample[] = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, "../samples/identifiers.json"), "utf8"),
);

/** A text with one value that must be found as `kind`, or with one that looks like it and must not. */
export type Case = { readonly kind: string; readonly text: string; readonly value: string; readonly isValid: boolean };

export const ALL_CLASSES: ReadonlySet<string> = new Set(["personal", "special", "secret", "business", "test"]);

const FREE_WORDS = ["Please check", "Order from", "see", "-", "Wert:", "valeur"];
const ENDINGS = [".", "", ", thank you.", "\nRegards", " and reply soon", ")", ";"];

function below(chance: Chance, end: number): number {
  return chance.between(0, end - 1);
}

function digits(chance: Chance, count: number): string {
  return Array.from({ length: count }, () => below(chance, 10)).join("");
}

function chars(chance: Chance, alphabet: string, count: number): string {
  return Array.from({ length: count }, () => alphabet.charAt(below(chance, alphabet.length))).join("");
}

function around(chance: Chance, words: readonly string[], value: string): string {
  const word = chance.pick(words);
  const end = chance.pick(ENDINGS);
  switch (below(chance, 5)) {
    case 0:
      return `${word}: ${value}${end}`;
    case 1:
      return `The ${word} is ${value}${end}`;
    case 2:
      return `{"${word}": "${value}"}`;
    case 3:
      return `${word} ${value}${end}`;
    default:
      return `Name;City\n${word} = ${value}\n${end}`;
  }
}

/** Fills a template with a compact value; characters that the value has left over are an error of the template. */
function written(template: string, compact: string): string {
  let at = 0;
  return [...template].map((sign) => ("-./+ ".includes(sign) ? sign : compact.charAt(at++))).join("");
}

const isSeparator = (sign: string) => "-./+ ".includes(sign);
const shapeOf = (template: string) => [...template].filter((sign) => !isSeparator(sign)).join("");

function fitsTemplate(template: string, compact: string): boolean {
  const shape = shapeOf(template);
  if (shape.length !== compact.length) return false;
  return [...shape].every((sign, at) => {
    const char = compact.charAt(at);
    if (sign === "9") return char >= "0" && char <= "9";
    if (sign === "a") return char >= "A" && char <= "Z";
    return sign === "c" ? /[0-9A-Z]/.test(char) : sign === char;
  });
}

const ALPHABETS: Readonly<Record<string, string>> = {
  "9": "0123456789",
  a: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  c: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
};

/** A valid value near a known one: some digits are drawn, then the last two places tried until the check passes. */
function drawn(chance: Chance, { check }: Scheme, seed: string, template: string): string | undefined {
  const places = [...seed].flatMap((char, at) => (char >= "0" && char <= "9" ? [at] : []));
  const [first, second] = [...shapeOf(template).slice(-2)].map((sign) => ALPHABETS[sign] ?? sign);
  if (first === undefined || second === undefined) return undefined;
  for (let tries = 0; tries < 400; tries++) {
    const value = [...seed];
    for (let turn = 0; turn < 3; turn++) value[chance.pick(places)] = String(below(chance, 10));
    const start = value.join("").slice(0, -2);
    const from = below(chance, first.length * second.length);
    for (let step = 0; step < first.length * second.length; step++) {
      const two = (from + step) % (first.length * second.length);
      const compact = start + first.charAt(Math.floor(two / second.length)) + second.charAt(two % second.length);
      if (fitsTemplate(template, compact) && check(compact, true)) return compact;
    }
  }
  return undefined;
}

/** The same form with another digit, so that the check fails. */
function broken(chance: Chance, { check }: Scheme, valid: string, template: string): string | undefined {
  for (let tries = 0; tries < 60; tries++) {
    const at = below(chance, valid.length);
    if (!/\d/.test(valid.charAt(at))) continue;
    const value = valid.slice(0, at) + String(below(chance, 10)) + valid.slice(at + 1);
    if (fitsTemplate(template, value) && !check(value, true)) return value;
  }
  return undefined;
}

function schemeCases(chance: Chance, scheme: Scheme, count: number): Case[] {
  const sample = SAMPLES.find(({ id }) => id === scheme.id);
  const words = IDENTIFIER_FACTS[scheme.id]?.words ?? [];
  if (sample === undefined) return [];
  const templates = [...scheme.free, ...scheme.bound].filter((template) =>
    sample.valid.some((value) => fitsTemplate(template, value.replace(/[-./+ ]/g, ""))),
  );
  const out: Case[] = [];
  while (out.length < count) {
    const template = chance.pick(templates);
    const seeds = sample.valid.map((value) => value.replace(/[-./+ ]/g, ""));
    const seed = chance.pick(seeds.filter((value) => fitsTemplate(template, value)));
    const compact = drawn(chance, scheme, seed, template);
    if (compact === undefined) throw new Error(`no value of ${scheme.id} for ${template}`);
    const value = written(template, compact);
    const isFree = scheme.free.includes(template) && scheme.id !== "x.card";
    const text = around(
      chance,
      isFree && below(chance, 2) === 0 ? FREE_WORDS : words.length > 0 ? words : FREE_WORDS,
      value,
    );
    out.push({ kind: scheme.id, text, value, isValid: true });
    const wrong = broken(chance, scheme, compact, template);
    if (wrong === undefined)
      out.push({ kind: scheme.id, text: `Order no ${digits(chance, 3)}x${value}`, value, isValid: false });
    else {
      const shown = written(template, wrong);
      out.push({
        kind: scheme.id,
        text: around(chance, words.length > 0 ? words : FREE_WORDS, shown),
        value: shown,
        isValid: false,
      });
    }
  }
  return out;
}

const ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz";
const HEX = "0123456789abcdef";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

type Draw = { readonly words: readonly string[]; valid(chance: Chance): string; invalid(chance: Chance): string };

const iban = (chance: Chance, wrong: boolean): string => {
  const seed = chance.pick(SAMPLES.filter(({ id }) => id === "x.iban").flatMap(({ valid }) => valid));
  const account = [...seed].map((char, at) => (at > 8 && /\d/.test(char) ? String(below(chance, 10)) : char)).join("");
  const check = String(98 - ibanRest(`${account.slice(0, 2)}00${account.slice(4)}`)).padStart(2, "0");
  const shown = wrong ? String((Number(check) + 1 + below(chance, 90)) % 97).padStart(2, "0") : check;
  const value = account.slice(0, 2) + shown + account.slice(4);
  return below(chance, 2) === 0 ? value : value.replace(/(.{4})(?=.)/g, "$1 ");
};

const PHONES = [
  "+43 1 ######",
  "+32 2 ### ## ##",
  "+359 2 ### ####",
  "+385 1 ### ####",
  "+357 22 ######",
  "+420 2## ### ###",
  "+45 ## ## ## ##",
];
const MORE_PHONES = [
  "+372 6## ####",
  "+358 9 #### ####",
  "+33 1 ## ## ## ##",
  "+49 30 ######",
  "+49 (0)89 / 1####-##",
  "+30 21# ### ####",
];
const FURTHER_PHONES = [
  "+36 1 ### ####",
  "+353 1 ### ####",
  "+39 06 #### ####",
  "+371 6### ####",
  "+370 5 ### ####",
  "+352 2# ## ## ##",
];
const OTHER_PHONES = [
  "+356 2### ####",
  "+31 20 ### ####",
  "+48 22 ### ## ##",
  "+351 21# ### ###",
  "+40 21 ### ####",
  "+421 2 #### ####",
];
const LAST_PHONES = [
  "+386 1 ### ## ##",
  "+34 91# ### ###",
  "+46 8 ### ### ##",
  "+354 5## ####",
  "+423 2## ####",
  "+47 2# ## ## ##",
  "+41 44 ### ## ##",
];
const ALL_PHONES = [...PHONES, ...MORE_PHONES, ...FURTHER_PHONES, ...OTHER_PHONES, ...LAST_PHONES];
const numbered = (chance: Chance, template: string) => template.replaceAll("#", () => String(below(chance, 10)));

const token = (prefix: string, alphabet: string, length: number, words = FREE_WORDS): Draw => ({
  words,
  valid: (chance) => prefix + chars(chance, alphabet, length),
  invalid: (chance) => prefix + chars(chance, alphabet, 6),
});

const DRAWS: Readonly<Record<string, Draw>> = {
  "x.iban": {
    words: ["IBAN", "account", ...FREE_WORDS],
    valid: (chance) => iban(chance, false),
    invalid: (chance) => iban(chance, true),
  },
  "x.email": {
    words: ["mail", "E-Mail", ...FREE_WORDS],
    valid: (chance) =>
      `${chars(chance, LETTERS, 3 + below(chance, 8))}${chance.pick([".", "_", "+", ""])}${chars(chance, LETTERS, 4)}@${chars(chance, LETTERS, 5)}.${chance.pick(["de", "eu", "fr", "co.uk", "museum"])}`,
    invalid: (chance) =>
      chance.pick([
        `${chars(chance, LETTERS, 5)}@${chars(chance, LETTERS, 5)}`,
        `@${chars(chance, LETTERS, 4)}/${chars(chance, LETTERS, 5)}`,
        `icon@2x.png`,
        `git@${chars(chance, LETTERS, 5)}.com:a/b`,
        `v@${digits(chance, 1)}.${digits(chance, 2)}`,
      ]),
  },
  "x.phone": {
    words: ["Tel.", "phone", "Telefon", "téléphone", "móvil", ...FREE_WORDS],
    valid: (chance) => {
      const value = numbered(chance, chance.pick(ALL_PHONES));
      return below(chance, 3) === 0 ? value.replace(/[ /-]|\(0\)/g, "") : value;
    },
    invalid: (chance) =>
      chance.pick([
        `+${below(chance, 9)}00`,
        `+0${digits(chance, 9)}`,
        `x+${digits(chance, 11)}`,
        `+49 ${digits(chance, 2)}`,
      ]),
  },
  "x.ipv4": {
    words: ["client", "from", ...FREE_WORDS],
    valid: (chance) =>
      `${chance.pick([31, 46, 77, 85, 91, 130, 185, 193, 212, 217])}.${below(chance, 256)}.${1 + below(chance, 254)}.${1 + below(chance, 254)}`,
    invalid: (chance) =>
      chance.pick([
        `10.${below(chance, 256)}.0.${below(chance, 256)}`,
        `192.168.${below(chance, 256)}.${below(chance, 256)}`,
        `300.1.2.${below(chance, 256)}`,
        `Chrome/120.0.${below(chance, 256)}.${below(chance, 200)}`,
        `198.51.100.${below(chance, 256)}`,
      ]),
  },
  "x.ipv6": {
    words: ["client", "from", ...FREE_WORDS],
    valid: (chance) =>
      `2a0${below(chance, 8)}:${chars(chance, HEX, 4)}:${chars(chance, HEX, 3)}::${chars(chance, HEX, 2)}`,
    invalid: (chance) =>
      chance.pick([
        `2001:db8::${chars(chance, HEX, 3)}`,
        `fe80::${chars(chance, HEX, 4)}`,
        `std::${chars(chance, LETTERS, 6)}`,
        `12:${10 + below(chance, 49)}:33`,
      ]),
  },
  "x.mac": {
    words: ["MAC", ...FREE_WORDS],
    valid: (chance) =>
      Array.from({ length: 6 }, (_, at) => (at === 0 ? "3c" : chars(chance, HEX, 2))).join(chance.pick([":", "-"])),
    invalid: (chance) =>
      chance.pick([
        Array.from({ length: 5 }, () => chars(chance, HEX, 2)).join(":"),
        Array.from({ length: 8 }, () => chars(chance, HEX, 2)).join(":"),
        "00:00:00:00:00:00",
      ]),
  },
  "x.birth": {
    words: ["born on", "geboren am", "date of birth", "né le", "fecha de nacimiento", "geboortedatum"],
    valid: (chance) => {
      const [year, month, day] = [1930 + below(chance, 80), 1 + below(chance, 12), 1 + below(chance, 28)];
      const [m, d] = [String(month).padStart(2, "0"), String(day).padStart(2, "0")];
      return chance.pick([
        `${d}.${m}.${year}`,
        `${year}-${m}-${d}`,
        `${d}/${m}/${year}`,
        `${day} March ${year}`,
        `${d}-${m}-${year}`,
      ]);
    },
    invalid: (chance) =>
      chance.pick([
        `${32 + below(chance, 60)}.13.1980`,
        `1.${digits(chance, 1)}.0`,
        `1980-${13 + below(chance, 80)}-40`,
        `${digits(chance, 3)}`,
      ]),
  },
  "secret.gateway": token("sk_svc_live_", ALNUM, 40),
  "secret.github": token("ghp_", ALNUM, 36),
  "secret.gitlab": token("glpat-", ALNUM, 20),
  "secret.aws-access-key": token("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
  "secret.google-api-key": token("AIza", ALNUM, 35),
  "secret.npm": token("npm_", ALNUM, 36),
  "secret.slack": token("xoxb-", ALNUM, 50),
  "secret.stripe": token("sk_live_", ALNUM, 24),
  "secret.anthropic": token("sk-ant-api03-", ALNUM, 95),
  "secret.openai": {
    words: FREE_WORDS,
    valid: (chance) => `sk-${chars(chance, ALNUM, 20)}T3BlbkFJ${chars(chance, ALNUM, 20)}`,
    invalid: (chance) => `sk-${chars(chance, ALNUM, 20)}`,
  },
  "secret.connection-string": {
    words: ["DATABASE", ...FREE_WORDS],
    valid: (chance) =>
      `${chance.pick(["postgres", "mysql", "mongodb+srv", "redis"])}://${chars(chance, LETTERS, 4)}:${chars(chance, ALNUM, 12)}@db.${chars(chance, LETTERS, 5)}.eu/x`,
    invalid: (chance) =>
      chance.pick([
        "postgres://app:password@db/x",
        "postgres://db.example.eu/x",
        `https://${chars(chance, LETTERS, 6)}.eu:8080/a@b`,
      ]),
  },
  "secret.generic": {
    words: FREE_WORDS,
    valid: (chance) =>
      `${chance.pick(["api_key", "password", "client_secret", "AUTH_TOKEN"])}${chance.pick([" = ", "=", ": "])}"${chars(chance, ALNUM, 12)}7q${chars(chance, ALNUM, 12)}"`,
    invalid: (chance) =>
      chance.pick([
        `token: ${chars(chance, LETTERS, 14)}`,
        `password = getPassword1()`,
        `key: "primary-button-2"`,
        `api_key = "your-api-key-1234"`,
        `sort_key = "${chars(chance, ALNUM, 24)}"`,
      ]),
  },
};

function drawCases(chance: Chance, kind: string, { words, valid, invalid }: Draw, count: number): Case[] {
  return Array.from({ length: count }, (_, at) => {
    const isValid = at % 2 === 0;
    const value = isValid ? valid(chance) : invalid(chance);
    // Addresses and secrets may be quoted, but a brace is no context word.
    return { kind, value, isValid, text: around(chance, words, value) };
  });
}

export type Figure = {
  readonly kind: string;
  readonly cases: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly missed: number;
  readonly wrong: readonly string[];
};

/** Two cases in three kinds of text for every kind, from a seed. */
export function generatedCases(seed: number, perKind: number): Case[] {
  const chance = new Chance(seed);
  return [
    ...SCHEMES.flatMap((scheme) => schemeCases(chance, scheme, perKind)),
    ...Object.entries(DRAWS).flatMap(([kind, draw]) => drawCases(chance, kind, draw, perKind)),
  ];
}

const LABELS = new Map(DETECTORS.map(({ id, label }) => [id, label]));

/** What the detectors make of the cases, by kind. A value counts as found when the finding covers it. */
export function evaluate(cases: readonly Case[]): Figure[] {
  const byKind = new Map<
    string,
    { cases: number; truePositives: number; falsePositives: number; missed: number; wrong: string[] }
  >();
  for (const { kind, text, value, isValid } of cases) {
    const row = byKind.get(kind) ?? { cases: 0, truePositives: 0, falsePositives: 0, missed: 0, wrong: [] };
    byKind.set(kind, row);
    row.cases++;
    const at = text.indexOf(value);
    const found = scanText(text, { classes: ALL_CLASSES }).filter(
      ({ start, end }) => start < at + value.length && end > at,
    );
    // Countries share forms and check digits: what matters is that a value is covered, and by what label.
    const isFound = found.some(({ kind: by }) => by.id === kind || (isValid && by.label === LABELS.get(kind)));
    if (isFound && isValid) row.truePositives++;
    if (isFound && !isValid) row.falsePositives++;
    if (!isFound && isValid) row.missed++;
    if (isFound !== isValid) row.wrong.push(text);
  }
  return [...byKind].map(([kind, row]) => ({ kind, ...row }));
}

export const precision = ({ truePositives, falsePositives }: Figure): number =>
  truePositives / (truePositives + falsePositives || 1);
export const recall = ({ truePositives, missed }: Figure): number => truePositives / (truePositives + missed || 1);

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** The rows of the table in docs/data-classes.md, with the names of the detectors. */
export function figureRows(figures: readonly Figure[]): string[] {
  const names = new Map(DETECTORS.map(({ id, name }) => [id, name]));
  return figures.map(
    (figure) =>
      `| \`${figure.kind}\` | ${names.get(figure.kind)} | ${figure.cases} | ${percent(precision(figure))} | ${percent(recall(figure))} |`,
  );
}

/** What the published figures were made from. */
export const EVALUATION = { seed: 35, perKind: 160 } as const;
