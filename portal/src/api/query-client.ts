import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./error.ts";

const RETRIES_MAX = 2;

/** Only network failures and unavailable gateways are retried; other errors are final. */
export function makeQueryClient(onSignedOut: () => void): QueryClient {
  const handleUnauthorized = (thrown: unknown) => {
    if (thrown instanceof ApiError && thrown.status === 401) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: handleUnauthorized }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (count, thrown) => count < RETRIES_MAX && (!(thrown instanceof ApiError) || isRetryable(thrown)),
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false, onError: handleUnauthorized },
    },
  });
}

function isRetryable({ status }: ApiError): boolean {
  return status === 0 || status === 502 || status === 503 || status === 504;
}
