export type MaybePromise<T> = T | Promise<T>;

/** Like `await`, but synchronous for a plain value: the request path avoids the cost of needless promises. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
