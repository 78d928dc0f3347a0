import type { Ddl } from "../engine.ts";

/** The platform's provider credentials, encrypted, with displayable metadata. */
export function platformKeys({ integer, text, bytes, plainTable }: Ddl): string[] {
  return [
    `create table platform_credentials (
      provider ${text} not null primary key,
      kind ${text} not null,
      hint ${text},
      fingerprint ${text} not null,
      created_at_ms ${integer} not null,
      changed_at_ms ${integer} not null,
      changed_by ${text} not null,
      secret ${bytes} not null
    ) ${plainTable}`,
  ];
}
