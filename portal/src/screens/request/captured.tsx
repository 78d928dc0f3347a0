import { useState } from "react";
import { useWorkspace } from "../../address.ts";
import { call } from "../../api/client.ts";
import { bytesText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Card } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Time } from "../../ui/values.tsx";
import type { RequestDetail } from "./detail.ts";

type Captured = NonNullable<RequestDetail["captured"]>;
type State =
  | { readonly is: "hidden" }
  | { readonly is: "reading" }
  | { readonly is: "shown"; readonly captured: Captured | undefined }
  | { readonly is: "failed"; readonly error: unknown };

/** Content that a capture window kept. It is read only when somebody asks, because every reading is written down. */
export function CapturedContent({ request }: { readonly request: RequestDetail }) {
  const [state, setState] = useState<State>({ is: "hidden" });
  const { at } = useWorkspace();
  const read = () => {
    setState({ is: "reading" });
    call("manageShowRequest", { params: { id: request.id }, query: { content: "show" } }).then(
      ({ captured }) => setState({ is: "shown", captured }),
      (error: unknown) => setState({ is: "failed", error }),
    );
  };
  if (request.captured_in === null)
    return (
      <Card title="Content">
        <p className="text-soft">
          Nothing was kept of what was asked and answered. Content is kept in a{" "}
          <Link to={at("capture")}>capture window</Link> only.
        </p>
      </Card>
    );
  return (
    <Card title="Content" about="Kept by a capture window">
      <div className="grid gap-4">
        {state.is === "shown" ? (
          <Content captured={state.captured} />
        ) : (
          <Callout
            tone="info"
            title="Request and answer were kept"
            action={
              <Button icon="eye" onClick={read} busy={state.is === "reading"}>
                Show the content
              </Button>
            }
          >
            Reading it is written to the audit log, with your name and the time.
          </Callout>
        )}
        {state.is === "failed" && <ErrorNote error={state.error} />}
      </div>
    </Card>
  );
}

function Content({ captured }: { readonly captured: Captured | undefined }) {
  if (captured === undefined) return <p className="text-soft">It was removed meanwhile: nothing is kept any more.</p>;
  const cutOf = (part: "request" | "answer") => captured.cut.find((one) => one.part === part);
  return (
    <>
      <Callout tone="info" title="That you read this is in the audit log now">
        Kept until <Time at={captured.expires_at} as="short" />, then it is removed by itself.
      </Callout>
      {(["request", "answer"] as const).map((part) => {
        const cut = cutOf(part);
        return (
          <div key={part}>
            <h3 className="mb-1.5">{part === "request" ? "Asked" : "Answered"}</h3>
            {captured[part] === null ? (
              <p className="text-soft">Nothing was kept of this part. Audio never is.</p>
            ) : (
              <Kept text={textOf(captured[part])} label={part === "request" ? "What was asked" : "What was answered"} />
            )}
            {cut !== undefined && <p className="mt-1 text-xs text-soft">Cut: it was {bytesText(cut.of_bytes)} long.</p>}
          </div>
        );
      })}
    </>
  );
}

/** Marks that turn the direction of reading are shown as what they are: nothing reads otherwise than it was sent. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function Kept({ text, label }: { readonly text: string; readonly label: string }) {
  const plain = text.replace(TURNING, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return (
    <div className="relative min-w-0 rounded-md border bg-sunken">
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        tabIndex={0}
        aria-label={label}
        className="max-h-112 overflow-auto py-3 pr-12 pl-4"
      >
        <pre className="font-mono text-[0.8125rem] leading-5 [overflow-wrap:anywhere] whitespace-pre-wrap">{plain}</pre>
      </section>
      <CopyButton text={text} label={`Copy: ${label}`} className="absolute top-2 right-2 size-7 border bg-card" />
    </div>
  );
}

function textOf(content: Captured["request"]): string {
  return typeof content === "string" ? content : JSON.stringify(content, null, 2);
}
