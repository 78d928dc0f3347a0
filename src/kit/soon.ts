/** A value that is there at once, or later. */
export type Soon<T> = T | Promise<T>;

/** Goes on with the value: at once where it is there, because a promise that nobody needs costs every request. */
export function after<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
