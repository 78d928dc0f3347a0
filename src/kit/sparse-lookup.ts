/** A lookup in a map that is nearly always empty: the empty map answers without hashing the key. */
export function sparseLookup<K, V>(map: ReadonlyMap<K, V>): (key: K) => V | undefined {
  return (key) => (map.size === 0 ? undefined : map.get(key));
}
