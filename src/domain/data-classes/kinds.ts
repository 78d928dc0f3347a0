import { IDENTIFIER_FACTS } from "./identifier-facts.ts";
import type { BuiltInClass, Scheme } from "./scheme.ts";
import { CENTRAL_SCHEMES } from "./schemes/central.ts";
import { INTERNATIONAL_SCHEMES } from "./schemes/international.ts";
import { NORTHERN_SCHEMES } from "./schemes/northern.ts";
import { PLATES } from "./schemes/plates.ts";
import { WESTERN_SCHEMES } from "./schemes/western.ts";

/** What a detector finds. */
export type Kind = {
  readonly id: string;
  readonly class: string;
  /** Raised whenever the same text may give other findings. */
  readonly version: number;
  /** What stands for a finding where its text must not be shown. */
  readonly label: string;
  readonly name: string;
  /** `low`: words and habits of writing decide, no format and no check digit. */
  readonly confidence: "high" | "low";
};

export const SCHEMES: readonly Scheme[] = [
  ...CENTRAL_SCHEMES,
  ...WESTERN_SCHEMES,
  ...NORTHERN_SCHEMES,
  ...INTERNATIONAL_SCHEMES,
  PLATES,
];

const ofScheme = ({ id, label, class: dataClass }: Scheme): Kind => ({
  id,
  class: dataClass,
  version: 1,
  label,
  name: IDENTIFIER_FACTS[id]?.name ?? id,
  confidence: id === PLATES.id ? "low" : "high",
});

export const SCHEME_KINDS: readonly Kind[] = SCHEMES.map(ofScheme);

function kind(
  id: string,
  dataClass: BuiltInClass,
  label: string,
  name: string,
  confidence: "high" | "low" = "high",
): Kind {
  return { id, class: dataClass, version: 1, label, name, confidence };
}

export const EMAIL = kind("x.email", "personal", "EMAIL", "Email address");
export const PHONE = kind("x.phone", "personal", "PHONE", "Phone number");
export const IBAN = kind("x.iban", "personal", "IBAN", "Bank account number (IBAN, ISO 13616)");
export const CREDITOR = kind("x.at02", "business", "CREDITOR_ID", "SEPA creditor identifier");
export const EORI = kind("x.eori", "business", "EORI", "Customs number (EORI)");
export const MRZ_KINDS = {
  td1: kind("x.mrz.td1", "personal", "ID_DOCUMENT", "Machine-readable zone of an identity card (TD1)"),
  td2: kind("x.mrz.td2", "personal", "ID_DOCUMENT", "Machine-readable zone of a travel document (TD2)"),
  td3: kind("x.mrz.td3", "personal", "ID_DOCUMENT", "Machine-readable zone of a passport (TD3)"),
} as const;
export const IPV4 = kind("x.ipv4", "personal", "IP_ADDRESS", "Public IPv4 address");
export const IPV6 = kind("x.ipv6", "personal", "IP_ADDRESS", "Public IPv6 address");
export const MAC = kind("x.mac", "personal", "MAC_ADDRESS", "MAC address");
export const BIRTH = kind("x.birth", "personal", "DATE_OF_BIRTH", "Date of birth");
export const ADDRESS = kind("x.address", "personal", "ADDRESS", "Postal address", "low");
export const PERSON = kind("x.name", "personal", "NAME", "Name of a person", "low");
export const SPECIAL_KINDS = {
  health: kind("x.health", "special", "HEALTH", "Health, by words", "low"),
  religion: kind("x.religion", "special", "RELIGION", "Religion or belief, by words", "low"),
  union: kind("x.union", "special", "UNION", "Trade union membership, by words", "low"),
} as const;

/** A kind of secret. */
export function secretKind(id: string, name: string): Kind {
  return kind(id, "secret", "SECRET", name);
}

/**
 * What a workspace defines itself. Its stand-ins are names in brackets, as those of every low confidence: an imitation of a
 * short term could be a word that a reply contains anyway.
 */
export function customKind(id: string, dataClass: string, name: string): Kind {
  const label = dataClass.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return { id, class: dataClass, version: 1, label, name, confidence: "low" };
}
