import { atOnce } from "../../kit/in-turns.ts";
import { foldedAt } from "./characters.ts";
import { IDENTIFIER_FACTS } from "./identifier-facts.ts";
import { TermIndex } from "./term-index.ts";

/** Words that announce a value which has no form of its own; the topics of schemes are their ids. */
const TOPICS: Readonly<Record<string, string>> = {
  phone:
    "tel, tel., phone, telephone, mobile, cell, fax, handy, mobil, telefon, telefonnummer, mobilnummer, rufnummer, téléphone, portable, " +
    "numéro de téléphone, teléfono, móvil, cellulare, telefono, telefoon, telefoonnummer, mobiel, telefonszám, puhelin, puhelinnumero, " +
    "telemóvel, telefone, telefón, telefonní číslo, telefonas, tālrunis, komórka, numer telefonu, matkapuhelin, whatsapp, τηλ, τηλέφωνο, κινητό, тел, телефон",
  birth:
    "born, date of birth, dob, birth date, birthdate, birthday, geboren, geburtsdatum, geb., geburtstag, né le, née le, date de naissance, " +
    "nacido, nacida, fecha de nacimiento, nato il, nata il, data di nascita, geboortedatum, geb. datum, urodzony, urodzona, data urodzenia, ur., " +
    "född, födelsedatum, født, fødselsdato, fødselsdag, syntynyt, syntymäaika, data de nascimento, nascido, nascida, narozen, datum narození, " +
    "dátum narodenia, született, születési dátum, datum nașterii, născut, datum rođenja, rojen, дата на раждане, роден, ημερομηνία γέννησης, sünniaeg, dzimšanas datums, gimimo data",
  "x.plate":
    "kennzeichen, kfz-kennzeichen, nummernschild, licence plate, license plate, number plate, registration number, immatriculation, plaque, " +
    "matrícula, targa, kenteken, numer rejestracyjny, tablica rejestracyjna, registreringsnummer, registreringsskylt, rekisterinumero, spz, rendszám, kontrollschild",
};

type Vocabulary = {
  readonly index: TermIndex;
  readonly topics: readonly ReadonlySet<string>[];
  readonly charsMax: number;
};

let vocabulary: Vocabulary | undefined;

/** Built on first use: a gateway without rules needs none of it. */
function loadVocabulary(): Vocabulary {
  return vocabulary ?? atOnce(vocabularySteps());
}

/** The same in steps, before the first request is read: it takes 50 ms. Yields the work done in characters. */
export function* vocabularySteps(): Generator<number, Vocabulary> {
  if (vocabulary !== undefined) return vocabulary;
  const byTerm = new Map<string, { term: string; topics: Set<string> }>();
  const add = (term: string, topic: string) => {
    let key = "";
    for (let at = 0; at < term.length; at++) key += String.fromCharCode(foldedAt(term, at));
    const known = byTerm.get(key) ?? { term, topics: new Set<string>() };
    known.topics.add(topic);
    byTerm.set(key, known);
  };
  for (const [id, { words }] of Object.entries(IDENTIFIER_FACTS)) for (const word of words) add(word, id);
  for (const [topic, words] of Object.entries(TOPICS)) for (const word of words.split(", ")) add(word, topic);
  const all = [...byTerm.values()];
  const terms = all.map(({ term }) => term);
  yield terms.length * TERM_CHARS;
  vocabulary = {
    index: yield* TermIndex.build(terms, "short"),
    topics: all.map(({ topics }) => topics),
    charsMax: Math.max(...terms.map((term) => term.length)),
  };
  return vocabulary;
}

/** What a word costs before it is in the index. */
const TERM_CHARS = 32;

/** How far from a value a word counts: on the same line, or a little further back across lines. */
const LINE_CHARS_MAX = 80;
const BEFORE_CHARS_MAX = 40;
const AFTER_CHARS_MAX = 25;
export const NOT_NEAR = Number.POSITIVE_INFINITY;

/**
 * The context words of a text. It reads on demand, and each place once: a text without candidates costs nothing, one full of
 * numbers a single pass. Values are looked up in the order of their places.
 */
export class Context {
  readonly #text: string;
  readonly #vocabulary = loadVocabulary();
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #terms: number[] = [];
  #first = 0;
  #at = 0;
  #state = 0;

  readonly #onTerm = (term: number, start: number, end: number) => {
    this.#starts.push(start);
    this.#ends.push(end);
    this.#terms.push(term);
  };

  constructor(text: string) {
    this.#text = text;
  }

  /** The distance to the nearest word of a topic, or NOT_NEAR. */
  distance(topic: string, start: number, end: number): number {
    this.#read(start, end);
    let nearest = NOT_NEAR;
    for (let at = this.#first; at < this.#terms.length; at++) {
      if ((this.#starts[at] ?? 0) > end + AFTER_CHARS_MAX) break;
      if (this.#vocabulary.topics[this.#terms[at] ?? 0]?.has(topic) !== true) continue;
      nearest = Math.min(nearest, this.#gap(this.#starts[at] ?? 0, this.#ends[at] ?? 0, start, end));
    }
    return nearest;
  }

  /** Whether any word of any topic is near. */
  isNear(start: number, end: number): boolean {
    this.#read(start, end);
    return this.#first < this.#terms.length;
  }

  #gap(wordStart: number, wordEnd: number, start: number, end: number): number {
    if (wordEnd <= start) {
      const gap = start - wordEnd;
      return gap <= BEFORE_CHARS_MAX || !this.#hasLineBreak(wordEnd, start) ? gap : NOT_NEAR;
    }
    // A word after the value counts less than one before it.
    const gap = wordStart - end;
    return gap >= 0 && gap <= AFTER_CHARS_MAX && !this.#hasLineBreak(end, wordStart)
      ? gap + BEFORE_CHARS_MAX
      : NOT_NEAR;
  }

  #hasLineBreak(from: number, to: number): boolean {
    for (let at = from; at < to; at++) {
      if (this.#text.charCodeAt(at) === 10) return true;
    }
    return false;
  }

  #read(start: number, end: number): void {
    const { index, charsMax } = this.#vocabulary;
    const from = Math.max(0, start - LINE_CHARS_MAX - charsMax);
    if (from > this.#at) {
      this.#at = from;
      this.#state = 0;
    }
    const to = Math.min(this.#text.length, end + AFTER_CHARS_MAX + charsMax);
    if (this.#at < to) {
      this.#state = index.read(this.#text, this.#at, to, this.#state, this.#onTerm);
      this.#at = to;
    }
    while (this.#first < this.#ends.length && (this.#ends[this.#first] ?? 0) < start - LINE_CHARS_MAX) this.#first++;
  }
}
