import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ME_KEY } from "./api/me.ts";
import { makeQueryClient } from "./api/query-client.ts";
import "./app.css";
import { makeRouter } from "./router.tsx";

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
