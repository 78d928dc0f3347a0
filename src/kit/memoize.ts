/** Caches results without a limit: only for arguments from a closed set. */
export function memoize<Argument, Result>(compute: (argument: Argument) => Result): (argument: Argument) => Result {
  const cache = new Map<Argument, Result>();
  return (argument) => {
    const cached = cache.get(argument);
    if (cached !== undefined) return cached;
    const result = compute(argument);
    cache.set(argument, result);
    return result;
  };
}
