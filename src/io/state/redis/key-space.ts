import { dayName, dayOf } from "../../../kit/calendar.ts";
import { memoize } from "../../../kit/memoize.ts";

/** Names in Redis. Whatever one script touches has one tag in braces, so that it is in one place of a cluster too. */
export class Names {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Of a workspace: its wallet, its holds, what was paid and is not known to be in SQL, what its spenders spent. */
  wallet(workspaceId: string): WalletNames {
    const all = `${this.#prefix}{${workspaceId}}`;
    return { wallet: `${all}:wallet`, holds: `${all}:holds`, paid: `${all}:paid`, spent: `${all}:spent:` };
  }

  window(workspaceId: string, keyId: string): string {
    return `${this.#prefix}{${workspaceId}}:window:${keyId}`;
  }

  version(workspaceId: string): string {
    return `${this.#prefix}{${workspaceId}}:version`;
  }

  /** Marks a change of money as made, so that it is not made twice. */
  change(workspaceId: string, id: string): string {
    return `${this.#prefix}{${workspaceId}}:change:${id}`;
  }

  use(key: string): string {
    return `${this.#prefix}use:{${key}}`;
  }

  /** Of all instances together. */
  fleet(name: string): string {
    return `${this.#prefix}{fleet}:${name}`;
  }

  board(name: string): string {
    return `${this.#prefix}{board}:${name}`;
  }

  topic(name: string): string {
    return `${this.#prefix}topic:${name}`;
  }
}

export type WalletNames = {
  readonly wallet: string;
  readonly holds: string;
  readonly paid: string;
  /** Followed by the month. */
  readonly spent: string;
};

/** "2026-11" and "15". */
export function monthAndDay(atMs: number): readonly [month: string, day: string] {
  return namesOf(dayOf(atMs));
}

/** Days of requests that run: one more each day. */
const namesOf = memoize((day: number): readonly [month: string, day: string] => {
  const name = dayName(day);
  return [name.slice(0, 7), name.slice(8)];
});
