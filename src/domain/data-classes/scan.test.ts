import { describe, expect, test } from "vitest";
import { SAMPLES, type Sample } from "../../../tests/support/data-class-cases.ts";
import { DETECTORS } from "./detectors.ts";
import { IDENTIFIER_FACTS } from "./identifier-facts.ts";
import { Scan, scanText } from "./scan.ts";
import { BUILT_IN_CLASSES } from "./scheme.ts";
import { TermList } from "./term-list.ts";

const ALL: ReadonlySet<string> = new Set(BUILT_IN_CLASSES);
/** `detector=text` of everything found. */
const found = (text: string, classes = ALL) =>
  scanText(text, { classes }).map(({ kind, start, end }) => `${kind.id}=${text.slice(start, end)}`);

/** Countries that share a scheme: one of them is reported. */
const SHARED: Readonly<Record<string, string>> = { "sk.rc": "cz.rc", "sk.ico": "cz.ico", "li.ahv": "ch.ahv" };
const EXTRA_WORDS: Readonly<Record<string, string>> = {
  "x.at02": "creditor identifier",
  "x.eori": "EORI",
  "x.ehic": "EHIC",
};

function inContext({ id }: Sample, value: string): string {
  const word = EXTRA_WORDS[id] ?? IDENTIFIER_FACTS[id]?.words[0];
  return word === undefined ? value : `${word}: ${value}`;
}

describe("identifiers", () => {
  test.each(SAMPLES.map((sample) => [sample.id, sample] as const))(
    "CLASS-01 %s: examples are found, wrong ones are not",
    (id, sample) => {
      for (const value of sample.valid)
        expect(found(inContext(sample, value)), value).toContain(`${SHARED[id] ?? id}=${value}`);
      for (const value of sample.invalid)
        expect(found(inContext(sample, value)), value).not.toContain(`${id}=${value}`);
    },
  );

  test("CLASS-01 every detector has an id of its own, a class, a version and a name", () => {
    expect(new Set(DETECTORS.map(({ id }) => id)).size).toBe(DETECTORS.length);
    for (const { version, name, class: dataClass } of DETECTORS) {
      expect(version).toBeGreaterThanOrEqual(1);
      expect(name).not.toBe("");
      expect(BUILT_IN_CLASSES).toContain(dataClass);
    }
  });

  test("CLASS-01 a bare number that many schemes share needs a word beside it", () => {
    expect(found("order 999990007 shipped")).toEqual([]);
    expect(found("BSN 999990007")).toEqual(["nl.bsn=999990007"]);
    expect(found("999990007 (BSN)")).toEqual(["nl.bsn=999990007"]);
    expect(found(`BSN${" ".repeat(120)}999990007`)).toEqual([]);
    expect(found("customerBsn: 999990007")).toEqual(["nl.bsn=999990007"]);
  });

  test.each([
    "550e8400-e29b-41d4-a716-446655440000 BSN",
    "BSN 0.999990007",
    "BSN 12-999990007",
    "BSN x999990007y",
    "BSN 999990007.25",
    "BSN $999990007",
  ])("CLASS-01 a part of a longer value is none: %s", (text) => {
    expect(found(text)).toEqual([]);
  });

  test("CLASS-01 the scheme whose word is nearest is reported, and one finding for a place", () => {
    expect(found("PESEL 00810100002")).toEqual(["pl.pesel=00810100002"]);
    expect(found("NIF: 999999990, contact BSN 999999990")).toEqual(["pt.nif=999999990", "nl.bsn=999999990"]);
    expect(found("IBAN DE89 3704 0044 0532 0130 00 please")).toEqual(["x.iban=DE89 3704 0044 0532 0130 00"]);
    expect(found("postgres://app:Zx81kq0p@db.example.eu/x", new Set(["personal", "secret"]))).toEqual([
      "secret.connection-string=postgres://app:Zx81kq0p@db.example.eu/x",
    ]);
  });
});

describe("contact data", () => {
  test.each([
    ["write to Jane.Doe+x@mail.example.co.uk.", ["x.email=Jane.Doe+x@mail.example.co.uk"]],
    ["icon@2x.png, git@forge.eu:a/b, @scope/name, a@b, x@y.z", []],
    [
      "+49 (0)30 901820, +33 1 42 68 53 00; +4790123456",
      ["x.phone=+49 (0)30 901820", "x.phone=+33 1 42 68 53 00", "x.phone=+4790123456"],
    ],
    ["Tel.: 030 / 901820, Telefon (089) 1234-567", ["x.phone=030 / 901820", "x.phone=(089) 1234-567"]],
    ["offset +0200, a+4930901820, rows 030 901820", []],
    ["from 8.8.8.8 and 2a02:26f0:1234::5", ["x.ipv4=8.8.8.8", "x.ipv6=2a02:26f0:1234::5"]],
    ["10.0.0.1 192.168.1.4 127.0.0.1 198.51.100.7 Chrome/120.0.0.1 v1.2.3.4 8.8.8.0/24 2001:db8::1 std::vector", []],
    [
      "3c:1a:2b:3c:4d:5e and 00-1A-2B-3C-4D-5E, 00:00:5e:00:53:01",
      ["x.mac=3c:1a:2b:3c:4d:5e", "x.mac=00-1A-2B-3C-4D-5E"],
    ],
    [
      "born 12 March 1985, born on March 12, 1985; geboren am 12.03.1985",
      ["x.birth=12 March 1985", "x.birth=March 12, 1985", "x.birth=12.03.1985"],
    ],
    ["released 12.03.1985, version 1.12.03", []],
    ["Frau Dr. Erika Mustermann, Nachname: Muster", ["x.name=Erika Mustermann", "x.name=Muster"]],
    ["Musterstraße 12, 10115 Berlin", ["x.address=Musterstraße 12, 10115 Berlin"]],
    ["12 rue de la Paix, 75002 Paris", ["x.address=12 rue de la Paix, 75002 Paris"]],
    ["Kennzeichen M-AB 1234, module sha512", ["x.plate=M-AB 1234"]],
  ] as const)("CLASS-01 in %j", (text, expected) => {
    expect(found(text, new Set(["personal"]))).toEqual(expected);
  });
});

describe("secrets", () => {
  const random = "q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo6WtK";
  test.each([
    ["own key", `sk_svc_live_${random}`, "secret.gateway"],
    ["management token", `mt_svc_${random}`, "secret.gateway"],
    ["forge token", `ghp_${random.slice(0, 36)}`, "secret.github"],
    ["cloud key", "AKIAQ3EGRZ7LM5TWXN2P", "secret.aws-access-key"],
    ["web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.q8Zr2Lw0Vn7Tk5YxB3mD9c", "secret.jwt"],
    [
      "private key",
      `-----BEGIN EC PRIVATE KEY-----\n${random.repeat(3)}\n-----END EC PRIVATE KEY-----`,
      "secret.private-key",
    ],
    ["database", "mongodb+srv://app:Zx81kq0p@cluster.example.eu/db", "secret.connection-string"],
    ["Entra secret", `a~b8Q~${random.slice(0, 33)}`, "secret.azure-client-secret"],
    ["basic credentials", "Authorization: Basic YXBwOlp4ODFrcTBw", "secret.http-basic"],
  ])("CLASS-01 %s is found", (_, text, kind) => {
    expect(found(`x = ${text}`, new Set(["secret"])).map((one) => one.split("=")[0])).toEqual([kind]);
  });

  test.each([
    "AKIAIOSFODNN7EXAMPLE",
    "postgres://user:password@localhost/db",
    'api_key = "your-api-key-123"',
    "token: getToken1()",
    'sort_key = "q8Zr2Lw0Vn7Tk5YxB3mD"',
    "sha512-q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo6WtK==",
    "eyJub3QiOiJhIGhlYWRlciJ9.eyJzdWIiOiJhIn0.q8Zr2Lw0Vn7Tk5YxB3mD9c",
    "-----BEGIN CERTIFICATE-----\nq8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo6WtK\n-----END CERTIFICATE-----",
  ])("CLASS-01 a placeholder or something public is none: %s", (text) => {
    expect(found(text, new Set(["secret"]))).toEqual([]);
  });
});

describe("special categories", () => {
  test("CLASS-01 a word counts only near one about a person, and only where the class is on", () => {
    const text = "Meine Patientin ist schwanger. Sa mère, catholique, est syndiquée.";
    expect(found(text, new Set(["special"]))).toEqual([
      "x.health=schwanger",
      "x.religion=catholique",
      "x.union=syndiquée",
    ]);
    expect(found(text, new Set(["personal", "secret"]))).toEqual([]);
    expect(found("Cancer research is funded.", new Set(["special"]))).toEqual([]);
    expect(new Set(DETECTORS.filter((one) => one.class === "special").map(({ confidence }) => confidence))).toEqual(
      new Set(["low"]),
    );
  });
});

describe("lists of terms", () => {
  const projects = TermList.of("projects", ["Blaue Düne", "Atlas", "atlas nord", "X-7"]);
  const inLists = (text: string, list = projects) =>
    scanText(text, { classes: new Set(), lists: [list] }).map(({ start, end }) => text.slice(start, end));

  test("CLASS-01 whole words are found whatever their case and accents, the longest first", () => {
    expect(inLists("BLAUE DUNE, atlas nord; atlases, x-7!")).toEqual(["BLAUE DUNE", "atlas nord", "x-7"]);
  });

  test("CLASS-01 a term across the border of two slices is found", () => {
    const text = `${"y ".repeat(8190)}Blaue Düne`;
    expect(inLists(text)).toEqual(["Blaue Düne"]);
  });

  test("CLASS-01 a list may have 100,000 terms, each of which is found", () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `customer ${at.toString(36)} ltd`);
    const list = TermList.of("customers", many);
    const some = [0, 1, 4711, 99_999].map((at) => many[at] ?? "");
    expect(inLists(some.join(" and "), list)).toEqual(some);
  });
});

describe("time", () => {
  /** Characters looked at, one by one or in slices. */
  function workOn(text: string): number {
    let work = 0;
    const { charCodeAt, slice } = String.prototype;
    String.prototype.charCodeAt = function (at) {
      work++;
      return charCodeAt.call(this, at);
    };
    String.prototype.slice = function (from, to) {
      const out = slice.call(this, from, to);
      work += out.length;
      return out;
    };
    try {
      scanText(text, { classes: ALL });
    } finally {
      Object.assign(String.prototype, { charCodeAt, slice });
    }
    return work;
  }

  const STEPS_PER_CHARACTER_MAX = 400;
  const PLAIN_STEPS_MAX = 8;

  test.each([
    ["at signs", "a@"],
    ["addresses", "a.b-c_d@e-f."],
    ["digits", "1"],
    ["groups", "12 "],
    ["numbers with their word", "BSN 999990007 "],
    ["plus signs", "+49 "],
    ["fillers", "A<<"],
    ["beginnings of keys", "-----BEGIN PRIVATE KEY-----"],
    ["beginnings of tokens", "eyJhbGciOi."],
    ["colons", "a://b:"],
    ["assignments", "key=token:"],
    ["hexadecimal groups", "2a:"],
    ["titles", "Herr Dr "],
    ["one long word", "aB3"],
    ["streets", "Rue de la "],
    ["births", "born 1.1. "],
  ])("CLASS-01 twice the text costs twice the work: %s", (_, piece) => {
    const [short, long] = [workOn(piece.repeat(500)), workOn(piece.repeat(1000))];
    expect(long).toBeLessThan(short * 2.2);
    expect(long).toBeLessThan(piece.length * 1000 * STEPS_PER_CHARACTER_MAX);
  });

  test.each([
    ["prose", "The committee met on Tuesday and agreed, after a long talk, to send the minutes to all members. "],
    ["source code", "const total = rows.reduce((sum, row) => sum + row.count, 0); // counted twice\n"],
    ["a log", "2026-11-19 07:52:28.114 INFO [main] c.e.Server - request 4711 took 12 ms, status=200\n"],
  ])("CLASS-06 ordinary text without findings costs few reads of each character: %s", (_, piece) => {
    expect(workOn(piece.repeat(200)) / (piece.length * 200)).toBeLessThan(PLAIN_STEPS_MAX);
  });

  test("CLASS-01 a long text is read in slices, and what crosses their border is found", () => {
    const before = "x ".repeat(8190);
    const text = `${before}jane.doe@mail.example.eu ${"y ".repeat(20_000)}`;
    const scan = new Scan(text, { classes: ALL });
    let slices = 1;
    while (scan.next()) slices++;
    expect(slices).toBe(4);
    expect(scan.findings().map(({ start, end }) => text.slice(start, end))).toEqual(["jane.doe@mail.example.eu"]);
  });
});
