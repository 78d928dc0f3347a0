import { CopyButton } from "../../ui/copy-button.tsx";
import { Callout } from "../../ui/layout.tsx";

/** One-time codes for signing in without the authenticator app; shown once. */
export function BackupCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <>
      <Callout tone="warn">
        These codes are shown once. Use one to sign in if you lose access to your authenticator app. Each code works
        once. Store them in a password manager.
      </Callout>
      <ul
        aria-label="Backup codes"
        className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border bg-sunken px-5 py-4 font-mono"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <span className="flex gap-2">
        <CopyButton text={codes.join("\n")} label="Copy backup codes">
          Copy all
        </CopyButton>
      </span>
    </>
  );
}
