import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./error.ts";

const RETRIES_MAX = 2;

/** Refusals are final: only a gateway that is away or busy is asked again. */
export function makeQueryClient(onSignedOut: () => void): QueryClient {
  const signedOut = (thrown: unknown) => {
    if (thrown instanceof ApiError && thrown.status === 401) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: signedOut }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (count, thrown) => count < RETRIES_MAX && (!(thrown instanceof ApiError) || isPassing(thrown)),
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false, onError: signedOut },
    },
  });
}

function isPassing({ status }: ApiError): boolean {
  return status === 0 || status === 502 || status === 503 || status === 504;
}
