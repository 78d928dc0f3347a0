import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/error.ts";
import { ME_KEY } from "./api/me.ts";
import { makeRouter } from "./router.tsx";
import "./app.css";

// On 401 the session is checked again; the frame then redirects to sign-in.
const client = makeQueryClient(() => void client.invalidateQueries({ queryKey: ME_KEY }));
const router = makeRouter();
const root = document.getElementById("root");
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );

const RETRIES_MAX = 2;

/** Only network failures and unavailable gateways are retried; other errors are final. */
function makeQueryClient(onSignedOut: () => void): QueryClient {
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
