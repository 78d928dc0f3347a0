import { CopyButton } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { useWorkspace } from "../../url-state.ts";
import type { Client } from "./client-kind.ts";
import { CLIENTS, KINDS } from "./clients.ts";

const titlesOf = (base: Client["base"]) =>
  CLIENTS.filter((client) => client.base === base)
    .map(({ title }) => title)
    .join(", ");

export function Screen() {
  const { at } = useWorkspace();
  const addresses = [
    { description: "Most clients", text: `${location.origin}/v1` },
    { description: titlesOf("without /v1"), text: location.origin },
  ];
  return (
    <>
      <PageHeader
        title="Connect"
        about="Point a client at the gateway by changing its base URL and API key. Choose your client for step-by-step instructions and a live connection check."
      />
      <Stack>
        <Card title="Base URL">
          <div className="grid gap-3 sm:grid-cols-2">
            {addresses.map(({ description, text }) => (
              <div key={text} className="grid gap-0.5">
                <p className="text-xs text-soft">{description}</p>
                <p className="flex items-center gap-1.5">
                  <code className="min-w-0 font-mono break-all">{text}</code>
                  <CopyButton text={text} label={`Copy base URL for ${description}`} />
                </p>
              </div>
            ))}
          </div>
        </Card>
        {KINDS.map((kind) => (
          <section key={kind} className="grid gap-2">
            <h2 className="text-base">{kind}</h2>
            <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-3">
              {CLIENTS.filter((client) => client.kind === kind).map(({ id, title, about, apis }) => (
                <li
                  key={id}
                  className="relative grid content-start gap-1 rounded-lg border bg-card px-4 py-3 hover:border-line-strong"
                >
                  <Link
                    plain
                    to={at(`connect/${id}`)}
                    className="flex items-center justify-between gap-2 font-semibold after:absolute after:inset-0 after:rounded-lg"
                  >
                    {title}
                    <Icon name="right" className="text-soft" />
                  </Link>
                  <p className="text-soft">{about}</p>
                  <p className="text-xs text-faint">{apis}</p>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </Stack>
    </>
  );
}
