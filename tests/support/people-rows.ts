import { passkey } from "@better-auth/passkey";
import { deviceAuthorization } from "better-auth/plugins/device-authorization";
import { twoFactor } from "better-auth/plugins/two-factor";
import type { PeopleWriter } from "../../src/domain/tenancy/person.ts";
import type { RequiredCredential } from "../../src/io/store/sql/auth-adapter.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { sha256Hex } from "../../src/kit/secret.ts";

/** Of the sign-in library. */
export const OPTIONS = { plugins: [twoFactor(), passkey(), deviceAuthorization()] };
export const DAY_MS = 86_400_000;
export const NOW_MS = Date.UTC(2027, 0, 15);

export const person = (id: string, more: { email?: string; operator?: boolean; createdAtMs?: number } = {}) => ({
  id,
  email: `${id}@example.eu`,
  name: id,
  operator: false,
  emailVerified: true,
  passwordHash: "$argon2id$…",
  createdAtMs: NOW_MS,
  ...more,
});

export const session = (id: string, userId: string, expiresAtMs: number) => ({
  id,
  userId,
  tokenDigest: sha256Hex(id),
  createdAtMs: NOW_MS,
  lastSeenAtMs: NOW_MS,
  expiresAtMs,
  address: "203.0.113.7",
  userAgent: null,
});

export const change = <T>(store: Store, work: (people: PeopleWriter) => Promise<T>) =>
  store.change(async ({ people }) => ({ result: await work(people), audit: null }));

const late = (): never => {
  throw new Error("too late");
};

/** The tables as the library sees them in a call that came when `epoch` was the newest. */
export const libraryOn = async (store: Store, epoch = Number.MAX_SAFE_INTEGER, needed?: RequiredCredential) =>
  (await store.createAuthAdapter({ epoch: () => epoch, requiredCredential: () => needed, rejectStale: late }))(OPTIONS);

type Field = { readonly type: unknown; readonly references?: unknown };

/** A value for each field of a model. */
export function valuesOf(fields: Readonly<Record<string, Field>>, userId: string): Record<string, unknown> {
  const value = (name: string, { type }: Field) => {
    if (name === "userId") return userId;
    if (type === "boolean") return true;
    if (type === "number") return 7;
    return type === "date" ? new Date(NOW_MS) : `a ${name}`;
  };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== "id")
      .map(([name, field]) => [name, value(name, field)]),
  );
}
