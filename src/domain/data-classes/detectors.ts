import {
  ADDRESS,
  BIRTH,
  CREDITOR,
  EMAIL,
  EORI,
  IBAN,
  IPV4,
  IPV6,
  type Kind,
  MAC,
  MRZ_KINDS,
  PERSON,
  PHONE,
  SCHEME_KINDS,
  SPECIAL_KINDS,
} from "./kinds.ts";
import { SECRET_KINDS } from "./secrets.ts";

/** Every built-in detector. */
export const DETECTORS: readonly Kind[] = [
  ...[EMAIL, PHONE, IBAN, MRZ_KINDS.td1, MRZ_KINDS.td2, MRZ_KINDS.td3, IPV4, IPV6, MAC, BIRTH, ADDRESS, PERSON],
  ...SCHEME_KINDS,
  ...[CREDITOR, EORI],
  ...Object.values(SPECIAL_KINDS),
  ...SECRET_KINDS,
];
