/** A value that is there at once, or later. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with the value: at once where it is there, because a promise that nobody needs costs every request. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
