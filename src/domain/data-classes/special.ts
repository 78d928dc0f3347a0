import { folded, foldedAt, isLetterAt } from "./characters.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { type Kind, SPECIAL_KINDS } from "./kinds.ts";

/**
 * Special categories of personal data (GDPR, article 9) by words. A word alone is a topic, not a statement about a person: it
 * counts only near a word that speaks of one. Off by default, and never certain.
 */
const TERMS: readonly (readonly [Kind, string])[] = [
  [
    SPECIAL_KINDS.health,
    "diagnosis, diagnosed, diabetes, cancer, hiv, depression, schizophrenia, pregnant, pregnancy, chemotherapy, disability, epilepsy, medication, " +
      "diagnose, diagnostiziert, krebs, depressionen, schwanger, schwangerschaft, chemotherapie, behinderung, epilepsie, krankschreibung, krankheit, " +
      "diagnostic, diabète, dépression, enceinte, grossesse, chimiothérapie, handicap, maladie, " +
      "diagnóstico, cáncer, depresión, embarazada, embarazo, quimioterapia, discapacidad, enfermedad, " +
      "diagnosi, cancro, depressione, incinta, gravidanza, chemioterapia, disabilità, malattia, " +
      "diabetes mellitus, kanker, depressie, zwanger, zwangerschap, handicap, ziekte, " +
      "diagnoza, cukrzyca, nowotwór, depresja, ciąża, chemioterapia, niepełnosprawność, choroba, " +
      "diagnos, cancersjuk, gravid, graviditet, sjukdom",
  ],
  [
    SPECIAL_KINDS.religion,
    "catholic, protestant, muslim, jewish, atheist, hindu, buddhist, christian, mormon, baptised, " +
      "katholisch, evangelisch, muslimisch, jüdisch, konfession, konfessionslos, kirchenmitglied, kirchensteuer, " +
      "catholique, protestante, musulman, musulmane, juif, juive, athée, católico, católica, musulmán, judío, judía, ateo, " +
      "cattolico, cattolica, musulmano, ebreo, ebrea, katholiek, protestants, moslim, joods, katolik, katolicka, ewangelik, muzułmanin, muslimsk, katolsk",
  ],
  [
    SPECIAL_KINDS.union,
    "trade union, union member, union membership, shop steward, gewerkschaft, gewerkschaftsmitglied, verdi-mitglied, ig metall, betriebsrat, " +
      "syndicat, syndiqué, syndiquée, délégué syndical, sindicato, afiliado sindical, sindacato, iscritto al sindacato, vakbond, vakbondslid, " +
      "związek zawodowy, fackförening, fackmedlem, fagforening, fagforbund, ammattiliitto",
  ],
];

const PEOPLE =
  "he, she, his, her, my, patient, employee, client, applicant, wife, husband, son, daughter, mother, father, colleague, mr, mrs, ms, " +
  "er, sie, ihr, ihre, sein, seine, mein, meine, patientin, mitarbeiter, mitarbeiterin, kunde, kundin, bewerber, bewerberin, herr, frau, " +
  "il, elle, son, sa, mon, ma, salarié, salariée, monsieur, madame, él, ella, su, mi, paciente, empleado, empleada, señor, señora, " +
  "lui, lei, suo, sua, mio, mia, paziente, dipendente, signor, signora, hij, zij, zijn, haar, mijn, patiënt, werknemer, meneer, mevrouw, " +
  "on, ona, jego, jej, mój, moja, pacjent, pacjentka, pracownik, pan, pani, han, hon, hans, hennes, min, mitt, patienten, anställd";

type Term = { readonly kind: Kind; readonly text: string };

/** Terms by their first word. */
const terms = new Map<string, Term[]>();
for (const [kind, words] of TERMS) {
  for (const word of words.split(", ")) {
    const text = folded(word);
    const first = /^[^ -]+/.exec(text)?.[0] ?? text;
    terms.set(first, [...(terms.get(first) ?? []), { kind, text }]);
  }
}
const people = new Set(PEOPLE.split(", ").map(folded));

/** First and last letter, and length: these alone rule out almost every word. */
const starts = new Uint8Array(2 ** 13);
const slotOf = (first: number, last: number, length: number) =>
  (first & 31) | ((last & 31) << 5) | ((length & 7) << 10);
for (const word of terms.keys()) starts[slotOf(word.charCodeAt(0), word.charCodeAt(word.length - 1), word.length)] = 1;

/** Of letters of ASCII, the bits that count are those of the small letter already. */
function letterAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? code : foldedAt(text, at);
}

/** How far a word about a person may be from the term. */
const NEAR_CHARS_MAX = 60;
const TERM_CHARS_MAX = 24;

/** A word of letters alone. */
export function matchSpecial(scan: ScannedText, start: number, end: number): void {
  const { text } = scan;
  if (end - start > TERM_CHARS_MAX || end - start < 2) return;
  if (starts[slotOf(letterAt(text, start), letterAt(text, end - 1), end - start)] !== 1) return;
  const candidates = terms.get(folded(text.slice(start, end)));
  if (candidates === undefined) return;
  const rest = folded(text.slice(start, start + TERM_CHARS_MAX));
  for (const { kind, text: term } of candidates) {
    if (
      !rest.startsWith(term) ||
      isLetterAt(text, start + term.length) ||
      !isAboutPerson(text, start, start + term.length)
    )
      continue;
    scan.add(kind, start, start + term.length, RANK.worded);
  }
}

function isAboutPerson(text: string, start: number, end: number): boolean {
  const around = `${text.slice(Math.max(0, start - NEAR_CHARS_MAX), start)} ${text.slice(end, end + NEAR_CHARS_MAX)}`;
  return folded(around)
    .split(/[^\p{L}]+/u)
    .some((word) => people.has(word));
}
