import { ApiError } from "../api/error.ts";

type PendingRequest = { readonly promise: Promise<void>; readonly confirm: () => void; readonly cancel: () => void };

/** One dialog for all mutations that wait for reauthentication. */
export class PendingReauthentication {
  #pending: PendingRequest | null = null;

  request(): Promise<void> {
    this.#pending ??= request();
    return this.#pending.promise;
  }

  finish(outcome: "confirm" | "cancel"): void {
    const pending = this.#pending;
    this.#pending = null;
    pending?.[outcome]();
  }
}

function request(): PendingRequest {
  let [confirm, cancel] = [() => {}, () => {}];
  const promise = new Promise<void>((resolve, reject) => {
    confirm = resolve;
    cancel = () => reject(new ApiError({ status: 0, code: "cancelled", message: "Nothing was changed." }));
  });
  return { promise, confirm, cancel };
}
