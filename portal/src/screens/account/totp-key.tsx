import { useMemo } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { qrPath } from "./qr-path.ts";

/** The TOTP secret as QR code and text. The QR code is drawn in the browser, so the secret never leaves the page. */
export function TotpKey({ uri }: { readonly uri: string }) {
  const qr = useMemo(() => qrPath(uri), [uri]);
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  return (
    <div className="grid justify-items-center gap-3">
      {qr !== undefined && (
        // Black on white in both themes, for reliable scanning.
        <svg
          role="img"
          aria-label="QR code for your authenticator app"
          viewBox={`-3 -3 ${qr.size + 6} ${qr.size + 6}`}
          className="size-52 rounded-md bg-white"
          shapeRendering="crispEdges"
        >
          <path d={qr.path} fill="#000" />
        </svg>
      )}
      <p className="text-center text-soft">
        On this device?{" "}
        <a href={uri} className="text-accent underline">
          Open your authenticator app
        </a>
        , or enter this key:
      </p>
      <p className="flex items-center gap-2 rounded-md border bg-sunken px-3 py-1.5">
        <code className="font-mono break-words" data-secret="totp">
          {secret.replace(/(.{4})(?=.)/g, "$1 ")}
        </code>
        <CopyButton text={secret} label="Copy key" />
      </p>
    </div>
  );
}
