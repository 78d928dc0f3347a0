import { useState } from "react";
import { call } from "../../api/client.ts";
import { bytesText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Card } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Time } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import type { RequestDetail } from "./detail.ts";

type Captured = NonNullable<RequestDetail["captured"]>;
type State =
  | { readonly kind: "hidden" }
  | { readonly kind: "reading" }
  | { readonly kind: "shown"; readonly captured: Captured | undefined }
  | { readonly kind: "failed"; readonly error: unknown };

/** Captured content. Loaded on demand, as every access is recorded in the audit log. */
export function CapturedContent({ request }: { readonly request: RequestDetail }) {
  const [state, setState] = useState<State>({ kind: "hidden" });
  const { at } = useWorkspace();
  const read = () => {
    setState({ kind: "reading" });
    call("manageShowRequest", { params: { id: request.id }, query: { content: "show" } }).then(
      ({ captured }) => setState({ kind: "shown", captured }),
      (error: unknown) => setState({ kind: "failed", error }),
    );
  };
  if (request.captured_in === null)
    return (
      <Card title="Content">
        <p className="text-soft">
          No content was stored. Content is only stored during a <Link to={at("capture")}>capture window</Link>.
        </p>
      </Card>
    );
  return (
    <Card title="Content" about="Stored by a capture window">
      <div className="grid gap-4">
        {state.kind === "shown" ? (
          <Content captured={state.captured} />
        ) : (
          <Callout
            tone="info"
            title="Request and response were captured"
            action={
              <Button icon="eye" onClick={read} busy={state.kind === "reading"}>
                Show content
              </Button>
            }
          >
            Viewing the content is recorded in the audit log.
          </Callout>
        )}
        {state.kind === "failed" && <ErrorNote error={state.error} />}
      </div>
    </Card>
  );
}

function Content({ captured }: { readonly captured: Captured | undefined }) {
  if (captured === undefined) return <p className="text-soft">The content has been deleted.</p>;
  const cutOf = (part: "request" | "answer") => captured.cut.find((one) => one.part === part);
  return (
    <>
      <Callout tone="info" title="Your access was recorded in the audit log">
        Stored until <Time at={captured.expires_at} as="short" />, then deleted automatically.
      </Callout>
      {(["request", "answer"] as const).map((part) => {
        const cut = cutOf(part);
        return (
          <div key={part}>
            <h3 className="mb-1.5">{part === "request" ? "Request" : "Response"}</h3>
            {captured[part] === null ? (
              <p className="text-soft">Not stored. Audio is never stored.</p>
            ) : (
              <CapturedText
                text={textOf(captured[part])}
                label={part === "request" ? "Captured request" : "Captured response"}
              />
            )}
            {cut !== undefined && <p className="mt-1 text-xs text-soft">Truncated from {bytesText(cut.of_bytes)}.</p>}
          </div>
        );
      })}
    </>
  );
}

/** Bidirectional control characters are escaped, so that text can't be displayed misleadingly. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function CapturedText({ text, label }: { readonly text: string; readonly label: string }) {
  const escaped = text.replace(BIDI_CONTROLS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return (
    <div className="relative min-w-0 rounded-md border bg-sunken">
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className="max-h-112 overflow-auto py-3 pr-12 pl-4"
      >
        <pre className="font-mono text-[0.8125rem] leading-5 [overflow-wrap:anywhere] whitespace-pre-wrap">
          {escaped}
        </pre>
      </section>
      <CopyButton text={text} label={`Copy: ${label}`} className="absolute top-2 right-2 size-7 border bg-card" />
    </div>
  );
}

function textOf(content: Captured["request"]): string {
  return typeof content === "string" ? content : JSON.stringify(content, null, 2);
}
