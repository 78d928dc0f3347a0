/** An immutable map: `Object.freeze` does not protect a map's entries. */
export class FrozenMap<K, V> extends Map<K, V> {
  constructor(entries: Iterable<readonly [K, V]>) {
    super();
    for (const [key, value] of entries) super.set(key, value);
    Object.freeze(this);
  }

  override set(): this {
    throw new TypeError("the catalogue snapshot is immutable");
  }

  override delete(): boolean {
    throw new TypeError("the catalogue snapshot is immutable");
  }

  override clear(): void {
    throw new TypeError("the catalogue snapshot is immutable");
  }
}

/** Freezes plain objects and arrays recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
