import type { ReactNode } from "react";
import { useDocsUrl } from "../ui/docs-link.tsx";
import { Link } from "../ui/link.tsx";
import { Logo } from "./logo.tsx";
import { SkipLink } from "./skip-link.tsx";
import { ThemeMenu } from "./theme-menu.tsx";

/** A page without the sidebar: sign-in, set-up, landing page. */
export function BareFrame({ children }: { readonly children: ReactNode }) {
  const docsUrl = useDocsUrl() ?? "/docs/guides";
  return (
    <div className="grid min-h-dvh grid-rows-[auto_1fr_auto]">
      <SkipLink />
      <header className="flex items-center justify-between px-5 py-4 sm:px-8">
        <Link plain to="/" className="flex rounded-sm">
          <Logo />
        </Link>
        <ThemeMenu />
      </header>
      <main id="main" tabIndex={-1} className="grid place-items-center px-5 py-8 outline-none">
        {children}
      </main>
      <footer className="flex flex-wrap justify-center gap-x-6 gap-y-1 px-5 py-5 text-xs text-soft">
        <Link plain to="/app/models" className="inline-flex min-h-6 items-center hover:text-ink hover:underline">
          Models
        </Link>
        <Link plain to="/app/providers" className="inline-flex min-h-6 items-center hover:text-ink hover:underline">
          Providers
        </Link>
        <a href={docsUrl} className="inline-flex min-h-6 items-center hover:text-ink hover:underline">
          Docs
        </a>
        <a href="/docs" className="inline-flex min-h-6 items-center hover:text-ink hover:underline">
          API reference
        </a>
      </footer>
    </div>
  );
}
