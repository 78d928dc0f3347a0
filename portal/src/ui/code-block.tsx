import { useState } from "react";
import { CopyButton } from "./copy-button.tsx";
import { TabSet } from "./tabs.tsx";

export type Snippet = { readonly id: string; readonly label: string; readonly code: string };

export function CodeBlock({ code, label = "Code" }: { readonly code: string; readonly label?: string | undefined }) {
  return (
    <div className="flex min-w-0 items-start rounded-md border bg-sunken">
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className="max-h-112 min-w-0 flex-1 overflow-auto py-3 pr-2 pl-4"
      >
        <pre className="font-mono text-[0.8125rem] leading-5">
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton text={code} label={`Copy: ${label}`} className="m-2 ml-0 size-7 shrink-0 border bg-card" />
    </div>
  );
}

/** Language tabs; the selected language is remembered for the next snippet. */
export function CodeTabs({ snippets, label }: { readonly snippets: readonly Snippet[]; readonly label: string }) {
  const [chosen, setChosen] = useState(() => localStorage.getItem("language") ?? "");
  const current = snippets.find((one) => one.id === chosen) ?? snippets[0];
  if (current === undefined) return null;
  const choose = (to: string) => {
    localStorage.setItem("language", to);
    setChosen(to);
  };
  return (
    <TabSet tabs={snippets} label={label} chosen={current.id} choose={choose} className="grid min-w-0 gap-2">
      <CodeBlock code={current.code} label={`${label}: ${current.label}`} />
    </TabSet>
  );
}
