import type { Row } from "../../api/client.ts";
import { durationText } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Money, Time } from "../../ui/values.tsx";

type Props = {
  readonly request: Row<"manageListRequests"> | undefined;
  readonly at: (path?: string) => string;
  readonly onDone: () => void;
};

/** Waits for the first request; the result is announced to screen readers. */
export function FirstRequest({ request, at, onDone }: Props) {
  const isFailed = request !== undefined && request.status >= 400;
  return (
    <div
      className={cx(
        "rounded-md border px-4 py-3",
        request === undefined && "border-dashed border-line-strong/60",
        request !== undefined && (isFailed ? "border-warn/40 bg-warn-soft" : "border-good/40 bg-good-soft"),
      )}
    >
      <div role="status" className="flex items-start gap-3">
        {request === undefined ? (
          <WaitingNotice />
        ) : isFailed ? (
          <FailedNotice request={request} />
        ) : (
          <ServedNotice request={request} />
        )}
      </div>
      {request !== undefined && (
        <div className="mt-3 flex flex-wrap gap-2 pl-7">
          <LinkButton to={at(`requests/${request.id}`)} size="small">
            View request
          </LinkButton>
          <Button size="small" onClick={onDone}>
            Go to overview
          </Button>
        </div>
      )}
    </div>
  );
}

function WaitingNotice() {
  return (
    <>
      <span aria-hidden="true" className="relative mt-1.5 flex size-2.5">
        <span className="absolute inset-0 animate-ping rounded-full bg-accent/60" />
        <span className="relative size-2.5 rounded-full bg-accent" />
      </span>
      <div>
        <p className="font-medium">Waiting for the first request</p>
        <p className="text-soft">Run the snippet. Your request appears here as soon as it arrives.</p>
      </div>
    </>
  );
}

function ServedNotice({ request }: { readonly request: Row<"manageListRequests"> }) {
  return (
    <>
      <Icon name="check" className="mt-0.5 text-good" />
      <div className="min-w-0">
        <p className="font-medium text-good">First request received</p>
        <p className="break-words">
          {request.model ?? request.model_requested} responded <Time at={request.created_at} /> in{" "}
          {durationText(request.total_ms)}
          {request.cost !== null && (
            <>
              , for <Money amount={request.cost} currency={request.currency} as="price" />
            </>
          )}
          .
        </p>
      </div>
    </>
  );
}

function FailedNotice({ request }: { readonly request: Row<"manageListRequests"> }) {
  return (
    <>
      <Icon name="warning" className="mt-0.5 text-warn" />
      <div className="min-w-0">
        <p className="font-medium text-warn">Request received but not served</p>
        <p className="break-words">
          The gateway responded with {request.status} <code className="font-mono text-xs">{request.error_code}</code>.
          View the request for details.
        </p>
      </div>
    </>
  );
}
